"""Which topics of a bag a report reads, and whether by byte offsets or by fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.replay.bag import Bag
from planner.replay.report import calls, faults, memory, messages, pictures, verdicts
from planner.replay.report.clock import ClockAnchors, WorldClock
from planner.replay.report.frames import FrameTree
from planner.replay.report.messages import Judgement, SkillEnd
from planner.replay.report.scan import Plan, Scanned, TakeBytes
from planner.replay.report.things import TrueWorld
from planner.replay.states import STATES, StateReader
from planner.replay.world_info import WORLD_INFO
from planner.world.errors import FileError

INSTRUCTIONS = "/instruct/status"
_AGENT_TOPIC = re.compile(
    r"/([A-Za-z0-9_]+)/(?:odometry|joint_states|battery_state|gripper_state|safety/.*"
    r"|camera/.*|depth_registered/.*)"
)
_CAMERA = re.compile(r"/([A-Za-z0-9_]+)/camera/hand/image(?:/compressed)?")
# Maximum number of states of the world and of messages of /tf that are read.
_MAX_STATES, _MAX_FRAMES = 4000, 12_000
# 150 pictures show an hour every 24 s.
_MAX_PICTURES, _PICTURE_BYTES = 150, 14_000
# Topics stamped with the world's clock, best first, and the stamp's offset.
_CLOCKS = (("/clock", 4), (STATES, 4), ("/tf", 8))
_FIELDS: Mapping[str, Callable[[Any], object]] = {
    calls.RESULTS: messages.skill_end,
    calls.DECISIONS: messages.answer,
    verdicts.PROGRESS: messages.judgement,
    verdicts.RESULT: messages.judgement,
    memory.SNAPSHOTS: messages.memory_state,
    memory.UPDATES: messages.memory_edits,
    faults.DIAGNOSTICS: messages.statuses,
    faults.LOG: messages.log_line,
    INSTRUCTIONS: messages.instruction_state,
    WORLD_INFO: messages.world_facts,
}


@dataclass(slots=True)
class Sources:
    """The readers of a bag's bytes.

    Attributes:
        clocks: the stamps of topics, by name.
        frames: the frame tree.
        world: the true world; None if the bag has no readable states.
        states: the reader of the states, or None.
        cameras: one for each agent with pictures.
    """

    clocks: Mapping[str, ClockAnchors]
    frames: FrameTree
    world: TrueWorld | None
    states: StateReader | None
    cameras: Sequence[pictures.Camera]

    @staticmethod
    def of(bag: Bag, picture_bytes: int) -> Sources:
        """Makes readers for the topics of a bag.

        Args:
            bag: to be read.
            picture_bytes: limit for all pictures.
        """
        # A long bag yields no more than a short one.
        length_s = (bag.end_ns - bag.start_ns) * 1e-9
        period_s = max(0.5, length_s / _MAX_STATES)
        states = _state_reader(bag)
        return Sources(
            {topic: ClockAnchors(at) for topic, at in _CLOCKS if topic in bag.topics},
            FrameTree(agents_of(bag.topics), period_s=max(0.1, length_s / _MAX_FRAMES)),
            None if states is None else TrueWorld(period_s=period_s),
            states,
            _cameras(bag, picture_bytes),
        )

    def plan(self, bag: Bag) -> Plan:
        """How to read the bag's topics."""
        fields = {topic: read for topic, read in _FIELDS.items() if topic in bag.topics}
        receipts = (topic for topic in bag.topics if topic.endswith(faults.RECEIPTS))
        return Plan(fields | dict.fromkeys(receipts, messages.status), self._takers())

    def _takers(self) -> dict[str, TakeBytes]:
        takers: dict[str, list[TakeBytes]] = {}
        for topic, anchors in self.clocks.items():
            takers.setdefault(topic, []).append(anchors.take)
        takers.setdefault("/tf", []).append(self.frames.take)
        takers.setdefault("/tf_static", []).append(self.frames.take_static)
        if self.world is not None and self.states is not None:
            takers.setdefault(STATES, []).append(_state_taker(self.states, self.world))
        for camera in self.cameras:
            takers.setdefault(camera.topic, []).append(camera.take)
        return {topic: _all(several) for topic, several in takers.items()}

    def clock(self, start_ns: int, scanned: Scanned) -> tuple[WorldClock, str]:
        """The world's clock, and the topic of its stamps, or "receipt"."""
        later = [
            (event.received_ns, event.stamp_s)
            for events in (
                scanned.of(calls.RESULTS, SkillEnd),
                scanned.of(verdicts.PROGRESS, Judgement),
            )
            for event in events
            if event.stamp_s is not None
        ]
        for topic, _ in _CLOCKS:
            anchors = self.clocks.get(topic)
            if anchors is not None and len(anchors.stamps_s) > 1:
                return WorldClock.extended(start_ns, anchors, later), topic
        return WorldClock(start_ns), "receipt"


def agents_of(topics: Iterable[str]) -> tuple[str, ...]:
    """The namespaces of the robots in the bag."""
    matches = (_AGENT_TOPIC.fullmatch(topic) for topic in topics)
    return tuple(sorted({match[1] for match in matches if match}))


def _state_reader(bag: Bag) -> StateReader | None:
    try:
        return StateReader(bag) if STATES in bag.topics else None
    except FileError:
        return None


def _state_taker(reader: StateReader, world: TrueWorld) -> TakeBytes:
    def take(received_ns: int, data: memoryview) -> None:
        try:
            state = reader.read(data)
        except FileError as error:
            raise ValueError(str(error)) from None
        if state is not None:
            world.take(received_ns, state, reader.changed)

    return take


def _cameras(bag: Bag, picture_bytes: int) -> list[pictures.Camera]:
    found = []
    for topic, info in sorted(bag.topics.items()):
        match = _CAMERA.fullmatch(topic)
        if match and info.type_name in (pictures.RAW, pictures.COMPRESSED):
            found.append((match[1], info.type_name == pictures.COMPRESSED, topic))
    # If a camera's pictures were recorded in both forms, use the smaller, compressed ones.
    chosen = {agent: (packed, topic) for agent, packed, topic in sorted(found)}
    most = picture_bytes // max(1, len(chosen)) // _PICTURE_BYTES
    count = max(1, min(_MAX_PICTURES, most))
    slot_ns = max(1, (bag.end_ns - bag.start_ns) // count)
    return [
        pictures.Camera(agent, packed, topic, bag.start_ns, slot_ns)
        for agent, (packed, topic) in sorted(chosen.items())
    ]


def _all(takers: Sequence[TakeBytes]) -> TakeBytes:
    if len(takers) == 1:
        return takers[0]

    def take(received_ns: int, data: memoryview) -> None:
        for taker in takers:
            taker(received_ns, data)

    return take
