"""What an export reads from a bag: its topics, agents and cameras, and its world's time."""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.replay.bag import Bag
from planner.replay.task import load_task
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House

CLOCK = "/clock"
IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
# When another world is loaded, its clock goes back by more than messages can be out of order.
_NEW_WORLD_NS = 500_000_000
# A stamp a year ahead of a simulated clock is of another clock.
_OTHER_CLOCK_NS = 31_536_000_000_000_000
_STAMP = struct.Struct("<iI").unpack_from
_CDR_BYTES = 4
_CAMERA = re.compile(r"/([^/]+)/(camera|depth_registered)/([^/]+)/image(?:/compressed\w*)?")


@dataclass(frozen=True, slots=True)
class Camera:
    """The topics of one camera; "" for those that the bag lacks.

    Attributes:
        agent: namespace of the agent that carries it.
        name: such as `hand`.
        rgb: topic of the colour pictures.
        depth: topic of the depth pictures.
        info: topic of the camera_info, preferably that of the colour pictures.
    """

    agent: str
    name: str
    rgb: str = ""
    depth: str = ""
    info: str = ""


@dataclass(frozen=True, slots=True)
class Received:
    """One message with both its times.

    Attributes:
        topic: with its leading slash.
        type_name: such as `sensor_msgs/msg/Image`.
        received_ns: when the recorder received it, since the epoch.
        world_ns: its stamp on the world's clock; without a stamp, the clock at its receipt.
        content: the deserialised message.
    """

    topic: str
    type_name: str
    received_ns: int
    world_ns: int
    content: Any

    @property
    def world_s(self) -> float:
        """Seconds on the world's clock."""
        return self.world_ns * 1e-9


class Source:
    """A bag opened for an export."""

    def __init__(self, folder: Path) -> None:
        """Opens it.

        Raises:
            FileError: if the folder is not a readable bag, or the bag has no message.
        """
        self.folder = folder
        self.bag = Bag(folder)
        self.types: Mapping[str, str] = {
            name: info.type_name for name, info in sorted(self.bag.topics.items()) if info.count
        }
        if not self.types:
            raise FileError(folder, "", "holds no message: there is nothing to export")

    def of_type(self, *type_names: str) -> list[str]:
        """The topics of some types, sorted."""
        return sorted(topic for topic, name in self.types.items() if name in type_names)

    def messages(self, topics: Sequence[str]) -> Iterator[Received]:
        """The messages of some topics, as far as the bag has them, in the order of receipt.

        Only those of the last world that was loaded.

        Args:
            topics: their names; empty = no messages.

        Raises:
            FileError: if the bag cannot be read, or a message does not match its type.
        """
        present = [topic for topic in topics if topic in self.types]
        if not present:
            return
        for message in self.bag.messages(present, start_ns=self._clock.begin_ns):
            stamp_ns = stamp_of(message.content)
            clock_ns = self._clock.at(message.received_ns)
            if not stamp_ns or (self.simulated and stamp_ns > clock_ns + _OTHER_CLOCK_NS):
                # Such as of /rosout, which nodes stamp with the wall clock.
                stamp_ns = clock_ns
            yield Received(
                message.topic,
                self.types[message.topic],
                message.received_ns,
                stamp_ns,
                message.content,
            )

    def dispatch(self, message: Received, handler: Callable[[Received], None]) -> None:
        """Passes a message to a handler that reads its fields.

        Raises:
            FileError: if fields are missing, as in messages of other software or another version.
        """
        try:
            handler(message)
        except (AttributeError, TypeError, ValueError, IndexError) as error:
            reason = f"is no {message.type_name} as this planner reads it: {error}"
            raise FileError(self.folder, message.topic, reason) from None

    @property
    def simulated(self) -> bool:
        """Whether the world has a clock of its own, which starts at 0."""
        return CLOCK in self.types

    @property
    def begin_ns(self) -> int:
        """Receipt of the last world's first message; 0 = with the bag."""
        return self._clock.begin_ns

    def world_ns(self, received_ns: int) -> int:
        """The world's clock at a time of receipt."""
        return self._clock.at(received_ns)

    def received_ns(self, world_ns: int) -> int:
        """Time of receipt at a time of the world's clock."""
        return self._clock.when(world_ns)

    @cached_property
    def _clock(self) -> _Clock:
        return _Clock(self.bag.data(CLOCK) if CLOCK in self.types else ())

    @cached_property
    def cameras(self) -> tuple[Camera, ...]:
        """All cameras that have pictures, sorted by agent and name."""
        found: dict[tuple[str, str], dict[str, str]] = {}
        for topic in self.of_type(IMAGE, COMPRESSED_IMAGE):
            match = _CAMERA.fullmatch(topic)
            if match is None:
                continue
            agent, kind, name = match.groups()
            camera = found.setdefault((agent, name), {})
            # Compressed topics sort after the raw ones, which are exact.
            camera.setdefault("rgb" if kind == "camera" else "depth", topic)
            info = f"/{agent}/{kind}/{name}/camera_info"
            if info in self.types and (kind == "camera" or "info" not in camera):
                camera["info"] = info
        return tuple(Camera(*key, **topics) for key, topics in sorted(found.items()))

    def camera(self, agent: str, name: str) -> Camera:
        """One camera with colour pictures.

        Raises:
            FileError: if the bag lacks it; names the cameras that it has.
        """
        for camera in self.cameras:
            if (camera.agent, camera.name) == (agent, name) and camera.rgb:
                return camera
        others = ", ".join(f"{c.agent}'s {c.name}" for c in self.cameras if c.rgb)
        raise FileError(
            self.folder,
            f"/{agent}/camera/{name}/image",
            f"there are no such pictures; the bag has {f'those of {others}' if others else 'none'}",
        )

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """Namespaces of the agents, sorted: those with odometry or a camera."""
        found = {camera.agent for camera in self.cameras}
        for topic in self.of_type("nav_msgs/msg/Odometry"):
            match = re.fullmatch(r"/([^/]+)/odometry", topic)
            found |= {match.group(1)} if match else set()
        return tuple(sorted(found))

    @cached_property
    def house(self) -> House | None:
        """The house of the bag; None if neither the bag nor this machine has it.

        Raises:
            FileError: if the bag's copy is damaged.
        """
        return self._task[1]

    @cached_property
    def instruction(self) -> str:
        """The episode's instruction; "" if there is none or it is not known here.

        Raises:
            FileError: if the bag's copy is damaged.
        """
        episode = self._task[0]
        return "" if episode is None else episode.instruction

    @cached_property
    def _task(self) -> tuple[Episode | None, House | None]:
        try:
            return load_task(self.bag)
        except FileError as error:
            # A bag that does not name its house is not damaged.
            if self.bag.world_info is None and not self.bag.attachments():
                return None, None
            raise error from None
        except PlannerError:
            return None, None


class _Clock:
    """/clock by time of receipt, for the last world of the bag."""

    def __init__(self, ticks: Iterator[tuple[int, memoryview]] | tuple[()]) -> None:
        self._received: list[int] = []
        self._world: list[int] = []
        self.begin_ns = 0
        for received_ns, data in ticks:
            sec, nanosec = _STAMP(data, _CDR_BYTES)
            stamp_ns = sec * 1_000_000_000 + nanosec
            if self._world and stamp_ns < self._world[-1] - _NEW_WORLD_NS:
                self._received.clear()
                self._world.clear()
                self.begin_ns = received_ns
            self._received.append(received_ns)
            self._world.append(stamp_ns)

    def at(self, received_ns: int) -> int:
        """The newest tick at a time of receipt, or the first; without ticks, that time itself."""
        if not self._world:
            return received_ns
        return self._world[max(bisect_right(self._received, received_ns) - 1, 0)]

    def when(self, world_ns: int) -> int:
        """When the clock first reached a time; the last tick if it never did."""
        if not self._world:
            return world_ns
        place = bisect_left(self._world, world_ns)
        return self._received[min(place, len(self._received) - 1)]


def stamp_of(content: Any) -> int:
    """A message's stamp in nanoseconds; 0 without one."""
    if header := getattr(content, "header", None):
        stamp = getattr(header, "stamp", None)
    elif transforms := getattr(content, "transforms", None):
        stamp = transforms[0].header.stamp
    elif (stamp := getattr(content, "stamp", None)) is None:
        stamp = getattr(content, "clock", None)
    if stamp is None or not hasattr(stamp, "nanosec"):
        return 0
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
