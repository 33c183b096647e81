"""A bag as the page shows it: the messages of a span of time, the pictures of a moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from planner.console.view import AGENT_TOPICS, SHARED_TOPICS
from planner.replay.bag import Bag, RawMessage
from planner.replay.report.pictures import COMPRESSED, small_picture
from planner.world import topics
from planner.world.errors import FileError

# Seconds of the bag before a moment in which a picture is searched.
PICTURE_S = 3.0
_IMAGE = topics.colour_image("hand")
_IMAGES = (f"{_IMAGE}/compressed", _IMAGE)
_NS = 1_000_000_000


class Recording:
    """An open bag; several pages may read it.

    Attributes:
        name: of its folder.
        duration_s: from its first to its last message.
        note: what is wrong with it, in words; "" = nothing.
    """

    def __init__(self, folder: Path) -> None:
        """Opens it.

        Raises:
            FileError: if it cannot be read, or has nothing that the page shows.
        """
        self._bag = Bag(folder)
        self._lock = threading.Lock()
        self._prefix = self._namespace()
        shown = {self._prefix + name for name in SHARED_TOPICS}
        shown.add("/" + topics.DIAGNOSTICS.lstrip("/"))
        endings = tuple(f"/{name}" for name in AGENT_TOPICS)
        self._names = [name for name in self._bag.topics if name in shown or name.endswith(endings)]
        count = sum(self._bag.topics[name].count for name in self._names)
        if not self._names or not count:
            raise FileError(folder, "", "has no messages that the console shows")
        self._cameras = {
            agent: name for name in self._bag.topics if (agent := self._agent_of(name))
        }
        self.name = folder.resolve().name
        self.duration_s = (self._bag.end_ns - self._bag.start_ns) / _NS
        self.note = "; ".join(f"missing: {line}" for line in self._bag.lacks())

    def messages(self, after_s: float, until_s: float) -> Iterator[tuple[str, RawMessage]]:
        """Topic, relative to the namespace, and message of those after a time until another one.

        Args:
            after_s: seconds since the bag's beginning, exclusive; negative = from the beginning.
            until_s: the same, inclusive.
        """
        span = self._span(after_s, until_s)
        with self._lock:
            found = list(self._bag.raw(self._names, start_ns=span[0], end_ns=span[1]))
        for message in found:
            yield message.topic.removeprefix(self._prefix), message

    def pictures(self, at_s: float) -> dict[str, bytes]:
        """The newest JPEG of each agent's camera at a time."""
        start_ns, end_ns = self._span(at_s - PICTURE_S, at_s)
        newest: dict[str, RawMessage] = {}
        with self._lock:
            names = [*self._cameras.values()]
            for message in self._bag.raw(names, start_ns=start_ns, end_ns=end_ns) if names else ():
                newest[message.topic] = message
        found = {}
        for agent, name in self._cameras.items():
            if name in newest and (jpeg := _jpeg(newest[name])):
                found[agent] = jpeg
        return found

    def _span(self, after_s: float, until_s: float) -> tuple[int, int]:
        start_ns = self._bag.start_ns
        first = start_ns if after_s < 0 else start_ns + round(after_s * _NS) + 1
        return first, start_ns + round(until_s * _NS) + 1

    def _namespace(self) -> str:
        ends = [f"/{name}" for name in (topics.WORLD_INFO, topics.WORLD_STATE, topics.WORLD_GRAPH)]
        for name in self._bag.topics:
            for end in ends:
                if name.endswith(end):
                    return name.removesuffix(end) + "/"
        return "/"

    def _agent_of(self, topic: str) -> str:
        name = topic.removeprefix(self._prefix)
        for image in _IMAGES:
            if name.endswith(f"/{image}"):
                return name.removesuffix(f"/{image}")
        return ""


def _jpeg(message: RawMessage) -> bytes | None:
    try:
        is_compressed = message.type_name == COMPRESSED
        return small_picture(memoryview(message.data), compressed=is_compressed)[2]
    except ValueError:
        # No picture: the others are shown.
        return None
