"""What an export reads from a bag: its topics, agents and cameras, and its story over time."""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from planner.replay.bag import Bag, NumberedMessage
from planner.replay.runs import load_task
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.memory_wire import duration_of

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
    """A bag opened for an export; what reads it raises FileError, as of `Bag`."""

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
        return _Clock(self.bag.numbered(CLOCK) if CLOCK in self.types else ())

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
        """The house of the bag; None if neither the bag nor this machine has it."""
        return self._task[1]

    @cached_property
    def instruction(self) -> str:
        """The episode's instruction; "" if there is none or it is not known here."""
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

    def __init__(self, ticks: Iterable[NumberedMessage]) -> None:
        self._received: list[int] = []
        self._world: list[int] = []
        self.begin_ns = 0
        for received_ns, _, data in ticks:
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


# The story of a bag over the world's time: instruction, plans, calls, results and progress.
#
# The value at a time is the newest reported up to then; nothing is interpolated.

STATUS = "/instruct/status"
TRACE = "/planner/trace"
RESULTS = "/skills/results"
EVALUATION, VERDICT = "/evaluation", "/evaluation/result"
STORY = (STATUS, TRACE, RESULTS, EVALUATION, VERDICT)
_SUCCEEDED, _FAILED = 1, 2

ValueT = TypeVar("ValueT")


class Steps(Generic[ValueT]):
    """Values that are valid from a time until the next one; times in seconds, in any order."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[ValueT] = []

    def add(self, time_s: float, value: ValueT) -> None:
        """Adds a value; among equal times the last one added is valid."""
        at = bisect_right(self._times, time_s)
        self._times.insert(at, time_s)
        self._values.insert(at, value)

    def at(self, time_s: float) -> ValueT | None:
        """The value at a time; None before the first."""
        place = bisect_right(self._times, time_s)
        return self._values[place - 1] if place else None

    @property
    def span_s(self) -> tuple[float, float]:
        """The times of the first and the last value; must not be empty."""
        return self._times[0], self._times[-1]

    def __iter__(self) -> Iterator[tuple[float, ValueT]]:
        return iter(zip(self._times, self._values, strict=True))

    def __len__(self) -> int:
        return len(self._times)


@dataclass(frozen=True, slots=True)
class Call:
    """One skill call of one agent.

    Attributes:
        agent: namespace of the agent.
        call: such as `Pick[cup_1]`.
        began_s: when it began, on the world's clock.
        ended_s: when it ended; None if the bag ends before.
        code: number of the result's code, 0 = success; None if the bag ends before.
        text: the text of the result; "" if the bag ends before.
    """

    agent: str
    call: str
    began_s: float
    ended_s: float | None = None
    code: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """What a bag reports besides pictures and motion.

    Attributes:
        instruction: the robots' task.
        plan: the running plan in words: as /instruct/status says, in older bags the planner's
            replies.
        calls: all of them, by their beginning.
        progress: the evaluator's percent complete, 0 to 1.
        verdict: whether the task succeeded; None if the bag has no verdict.
    """

    instruction: Steps[str]
    plan: Steps[str]
    calls: tuple[Call, ...]
    progress: Steps[float]
    verdict: bool | None

    def running(self, agent: str, time_s: float) -> Call | None:
        """The agent's call that is running at a time."""
        for call in reversed(self.calls):
            if call.agent == agent and call.began_s <= time_s:
                return None if call.ended_s is not None and call.ended_s <= time_s else call
        return None

    def result(self, agent: str, time_s: float) -> Call | None:
        """The agent's call that ended last before a time."""
        ended = [c for c in self.calls if c.agent == agent and (c.ended_s or math.inf) <= time_s]
        return max(ended, key=lambda call: call.ended_s or 0.0, default=None)


def read_story(source: Source) -> Story:
    """Reads the story.

    Raises:
        FileError: if the bag cannot be read.
    """
    draft = _Draft()
    for message in source.messages(STORY):
        source.dispatch(message, draft.add)
    if not len(draft.instruction) and source.instruction:
        draft.instruction.add(-math.inf, source.instruction)
    plan = draft.plans if len(draft.plans) else draft.replies
    return Story(draft.instruction, plan, draft.all_calls(), draft.progress, draft.verdict)


@dataclass(slots=True)
class _Draft:
    instruction: Steps[str] = field(default_factory=Steps)
    plans: Steps[str] = field(default_factory=Steps)
    replies: Steps[str] = field(default_factory=Steps)
    progress: Steps[float] = field(default_factory=Steps)
    verdict: bool | None = None
    # By agent: when the planner decided on each call.
    named: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    ended: list[tuple[float, Any]] = field(default_factory=list)

    def add(self, message: Received) -> None:
        at_s, content = message.world_s, message.content
        if message.topic == STATUS:
            self._add_status(at_s, content)
        elif message.topic == TRACE:
            if content.reply:
                self.replies.add(at_s, str(content.reply))
            if not content.error:
                self._name(at_s, content.agents, content.calls)
        elif message.topic == RESULTS:
            self.ended.append((at_s, content))
        else:
            self.progress.add(at_s, float(content.percent_complete))
            if message.topic == VERDICT and int(content.status) in (_SUCCEEDED, _FAILED):
                self.verdict = int(content.status) == _SUCCEEDED

    def _add_status(self, at_s: float, content: Any) -> None:
        if content.instruction and self.instruction.at(at_s) != content.instruction:
            self.instruction.add(at_s, str(content.instruction))
        if content.plan and self.plans.at(at_s) != content.plan:
            self.plans.add(at_s, str(content.plan))
        self._name(at_s, content.agents, content.calls)

    def _name(self, at_s: float, agents: list[str], calls: list[str]) -> None:
        for agent, call in zip(agents, calls, strict=False):
            if call:
                self.named.setdefault(str(agent), []).append((at_s, str(call)))

    def all_calls(self) -> tuple[Call, ...]:
        """All calls that ended, and each agent's call that was running when the bag ended."""
        free_s: dict[str, float] = {}
        calls = []
        for ended_s, content in sorted(self.ended, key=lambda pair: pair[0]):
            agent, call = str(content.agent), str(content.call)
            began_s = self._began_s(content, ended_s, free_s.get(agent))
            calls.append(Call(agent, call, began_s, ended_s, int(content.code), str(content.text)))
            free_s[agent] = ended_s
        for agent, named in self.named.items():
            later = sorted(n for n in named if n[0] >= free_s.get(agent, -math.inf))
            # A call that the planner repeats while it runs is the same call; the last one is
            # running.
            if later and self.verdict is None and not _is_last(later[-1], calls):
                first_s = min(at_s for at_s, call in later if call == later[-1][1])
                calls.append(Call(agent, later[-1][1], first_s))
        return tuple(sorted(calls, key=lambda call: (call.began_s, call.agent)))

    def _began_s(self, content: Any, ended_s: float, free_s: float | None) -> float:
        """From the result's duration, else the planner's decision, else when the agent was idle."""
        earliest_s = -math.inf if free_s is None else free_s
        took_s = duration_of(content)
        if took_s is not None:
            return max(ended_s - took_s, earliest_s)
        named = sorted(self.named.get(str(content.agent), ()))
        since = named[bisect_left(named, (earliest_s, "")) :]
        for at_s, call in since:
            if call == content.call and at_s <= ended_s:
                return at_s
        return ended_s if free_s is None else free_s


def _is_last(named: tuple[float, str], calls: list[Call]) -> bool:
    """Whether the decision belongs to a call that ended at that very time."""
    return any(c.ended_s == named[0] and c.call == named[1] for c in calls)
