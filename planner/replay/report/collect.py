"""Makes the report of one bag, from its topics, task, house and settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from planner.evaluation.trace import EpisodeTrace
from planner.recorder.topic_counts import Gap
from planner.replay.bag import WORLD_INFO, Bag, impossible_text
from planner.replay.live import Judgement
from planner.replay.report import calls, messages, pictures, verdicts
from planner.replay.report import calls as skill_calls
from planner.replay.report import document as d
from planner.replay.report import scan as faults
from planner.replay.report import verdicts as memory
from planner.replay.report.calls import work_of
from planner.replay.report.document import Instruction, Level, Notice, Subtasks, Verdicts
from planner.replay.report.floor_plan import floor_plan_of
from planner.replay.report.messages import (
    InstructionState,
    MemoryEdits,
    MemoryState,
    SkillEnd,
    WorldFacts,
)
from planner.replay.report.pictures import pictures_of
from planner.replay.report.scan import Plan, Scanned, TakeBytes, missed_messages, scan, topics_of
from planner.replay.report.tracks import (
    ClockAnchors,
    FrameTree,
    PathPoint,
    TrueWorld,
    WorldClock,
    thinned,
)
from planner.replay.runs import task_of
from planner.replay.states import STATES, StateReader
from planner.replay.storage import message_reader
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_json, parse_yaml
from planner.world.house import House
from planner.world.house_checks import load_shipped_house
from planner.world.wire import first_stamp_of, stamp_of

# The house, task and settings of a bag.

_PARAMETERS = "parameters.yaml"
_RECORDS = ("planner.start", "planner.recording")
# Keys of recorder metadata that describe the software rather than one recording.
_VERSIONS = ("version", "ros_distro", "python", "platform", "packages", "images", "image_hz")
_MAX_SETTINGS = 5000
_MAX_SETTING_CHARS = 400


@dataclass(frozen=True, slots=True)
class Task:
    """The house and the episode of a bag; None if neither the bag nor the machine has it.

    `reason`: why something is missing; "" if nothing is.
    """

    house: House | None
    episode: Episode | None
    reason: str = ""


def find_task(bag: Bag, episode_id: str, house: str) -> Task:
    """Finds the house and the episode: in the bag, else among the shipped ones, by name."""
    if not house and not episode_id:
        return Task(None, None, "the bag names no house")
    try:
        episode, found = task_of(bag, episode_id, house)
    except PlannerError as error:
        reason = str(error).replace(str(bag.folder), bag.folder.name)
    else:
        # The shipped episode of that name may have another house.
        if not house or found.name == house:
            return Task(found, episode)
        reason = f"the shipped episode {episode_id} is of another house"
    try:
        return Task(load_shipped_house(house), None, reason)
    except PlannerError:
        return Task(None, None, reason)


def settings_of(bag: Bag) -> dict[str, str]:
    """Versions, and the nodes' parameters as "node.parameter", at the time of recording.

    Raises:
        FileError: if the bag cannot be read.
    """
    found: dict[str, str] = {}
    for name in _RECORDS:
        record = bag.metadata.get(name, {})
        _flatten({key: _parsed(record[key]) for key in _VERSIONS if key in record}, "", found)
    text = bag.attachments().get(_PARAMETERS)
    if text is not None:
        try:
            _flatten(parse_yaml(text.decode("utf-8"), _PARAMETERS), "", found)
        except (FileError, ValueError):
            found[_PARAMETERS] = "cannot be read"
    return dict(sorted(found.items()))


def _parsed(text: str) -> object:
    if not text.startswith("{"):
        return text
    try:
        return parse_json(text, "")
    except FileError:
        return text


def _flatten(value: object, name: str, into: dict[str, str]) -> None:
    if len(into) >= _MAX_SETTINGS:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            word = str(key).strip("/")
            # ROS parameter files have a node's parameters below this key.
            below = name if word == "ros__parameters" else f"{name}.{word}".strip(".")
            _flatten(inner, below, into)
        return
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    into[name[:_MAX_SETTING_CHARS]] = text[:_MAX_SETTING_CHARS]


# Which topics of a bag a report reads, and whether by byte offsets or by fields.

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
# Topics stamped with the world's clock, best first, and what reads a stamp.
_CLOCKS = (("/clock", stamp_of), (STATES, stamp_of), ("/tf", first_stamp_of))
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
            {topic: ClockAnchors(stamp) for topic, stamp in _CLOCKS if topic in bag.topics},
            FrameTree(
                agents_of(bag.topics),
                _reader(bag, "/tf" if "/tf" in bag.topics else "/tf_static"),
                period_s=max(0.1, length_s / _MAX_FRAMES),
            ),
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


def _reader(bag: Bag, topic: str) -> Callable[[memoryview], Any]:
    """What deserialises a topic; its definition is looked at when there is a message."""
    kind = bag.type_of(topic) or ("", "")
    return lambda data: message_reader(*kind)(data)


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
    chosen = {agent: topic for agent, _, topic in sorted(found)}
    most = picture_bytes // max(1, len(chosen)) // _PICTURE_BYTES
    count = max(1, min(_MAX_PICTURES, most))
    slot_ns = max(1, (bag.end_ns - bag.start_ns) // count)
    return [
        pictures.Camera(agent, _reader(bag, topic), topic, bag.start_ns, slot_ns)
        for agent, topic in sorted(chosen.items())
    ]


def _all(takers: Sequence[TakeBytes]) -> TakeBytes:
    if len(takers) == 1:
        return takers[0]

    def take(received_ns: int, data: memoryview) -> None:
        for taker in takers:
            taker(received_ns, data)

    return take


# What a bag is about: the task, house and software, and what the reader must know first.


def _about(
    bag: Bag, scanned: Scanned, sources: Sources, clock: WorldClock, clock_name: str
) -> d.About:
    """What the bag's topics say about it; the last message of each topic counts."""
    world, settings = sources.world, settings_of(bag)
    infos = [e.content for e in scanned.of(WORLD_INFO, WorldFacts)]
    states = [e.content for e in scanned.of(INSTRUCTIONS, InstructionState)]
    answers = [e.content for e in scanned.of(calls.DECISIONS, d.ModelCall)]
    judged = [e.content for e in scanned.of(verdicts.PROGRESS, Judgement)]
    judged += [e.content for e in scanned.of(verdicts.RESULT, Judgement)]
    info = infos[-1] if infos else None
    state = states[-1] if states else None
    answer = answers[-1] if answers else None
    return d.About(
        instruction=state.instruction if state else "",
        house=_first(
            info.house if info else "", state.house if state else "", world.house if world else ""
        ),
        episode_id=_first(
            info.episode_id if info else "",
            state.episode_id if state else "",
            world.episode_id if world else "",
            judged[-1].episode_id if judged else "",
        ),
        planner=_first(state.planner if state else "", answer.planner if answer else ""),
        model=_first(state.model if state else "", answer.model if answer else ""),
        backend=info.backend if info else "",
        body=", ".join(info.bodies) if info else "",
        version=_first(info.version if info else "", settings.get("version", "")),
        seed=info.seed if info else None,
        agents=info.agents if info else (),
        duration_s=clock.at_receipt(bag.end_ns),
        recorded_s=round((bag.end_ns - bag.start_ns) * 1e-9, 3),
        messages=sum(map(len, scanned.received_ns.values())),
        clock=clock_name,
        cut_short=bag.cut_short,
        settings=settings,
    )


def _first(*texts: str) -> str:
    return next((text for text in texts if text), "")


def instructions_of(scanned: Scanned, clock: WorldClock) -> tuple[Instruction, ...]:
    """The states of instructions, one entry for each change."""
    found: list[Instruction] = []
    last: tuple[str, ...] = ()
    for event in scanned.of(INSTRUCTIONS, InstructionState):
        said = event.content
        now = (said.state, said.instruction, said.text, said.question)
        if now != last:
            last = now
            found.append(Instruction(clock.at(event.stamp_s, event.received_ns), *now))
    return tuple(found)


def subtasks_of(scanned: Scanned, clock: WorldClock) -> tuple[Subtasks, ...]:
    """What a planner with subtasks believed, one entry for each change."""
    found: list[Subtasks] = []
    last: tuple[object, ...] = ()
    for event in scanned.of(INSTRUCTIONS, InstructionState):
        said = event.content
        if said.open_subtasks is None:
            continue
        now = (said.open_subtasks, said.completed_subtasks, said.team_memory)
        if now != last:
            last = now
            found.append(Subtasks(clock.at(event.stamp_s, event.received_ns), *now))
    return tuple(found)


def notices_of(
    bag: Bag, judged: Verdicts, scanned: Scanned, missed: Mapping[str, Sequence[Gap]], task: Task
) -> tuple[Notice, ...]:
    """What the reader must know first, the most serious first."""
    notices = []
    if bag.is_open:
        text = "The recording is still in progress: the report covers what was written so far."
        notices.append(Notice(Level.WARNING, text))
    elif bag.cut_short:
        text = "The recording was cut short: the report covers what was written until then."
        notices.append(Notice(Level.ERROR, text))
    if bag.impossible:
        notices.append(Notice(Level.ERROR, f"{impossible_text(bag.impossible)}."))
    if not bag.message_count:
        notices.append(Notice(Level.ERROR, "There is no message in the bag."))
    if judged.agree is False:
        text = "The verdict by the bag is not the one that was given live."
        notices.append(Notice(Level.ERROR, text))
    if missed:
        count = sum(gap.missing for several in missed.values() for gap in several)
        text = f"{count} messages of {len(missed)} topics are missing; see the topics."
        notices.append(Notice(Level.WARNING, text))
    if scanned.unreadable:
        text = f"Messages of {len(scanned.unreadable)} topics could not be read; see the faults."
        notices.append(Notice(Level.WARNING, text))
    if judged.bag is None:
        what = "The verdict is the live one alone" if judged.live else "There is no verdict"
        notices.append(Notice(Level.INFO, f"{what}: {judged.reason}."))
    if task.house is None:
        notices.append(Notice(Level.INFO, f"The map has no background: {task.reason}."))
    return tuple(notices)


# Bags with more messages than this are evaluated in a process of its own, in parallel.
_LONG = 100_000
# Points of one agent's path.
_MAX_POINTS = 6000


@dataclass(frozen=True, slots=True)
class Collected:
    """A bag's report, its pictures in the report's order, and its trace for the metrics."""

    report: d.BagReport
    jpegs: tuple[bytes, ...]
    trace: EpisodeTrace | None


def collect(
    folder: FilePath,
    name: str,
    picture_bytes: int,
    progress: Callable[[float], None] = lambda _: None,
) -> Collected:
    """Reads a bag and reports what happened.

    Args:
        folder: of the bag.
        name: the bag's name in the report.
        picture_bytes: limit for all pictures.
        progress: called with the completed share from time to time.

    Raises:
        FileError: if the folder is not a readable bag.
    """
    bag = Bag(folder)
    sources = Sources.of(bag, picture_bytes)
    plan = sources.plan(bag)
    length_ns = max(bag.end_ns - bag.start_ns, 1)

    def scanned(share: float) -> Scanned:
        return scan(bag, plan, lambda at_ns: progress(share * (at_ns - bag.start_ns) / length_ns))

    if bag.message_count < _LONG:
        found = scanned(0.6)
        rejudged = verdicts.rejudged(folder)
    else:
        # Evaluation takes about as long as all the rest.
        with ProcessPoolExecutor(1) as beside:
            judging = beside.submit(verdicts.rejudged, folder)
            found = scanned(0.9)
            try:
                rejudged = judging.result()
            except BrokenProcessPool:
                reason = "the process that judged it was killed, perhaps for lack of memory"
                raise FileError(folder, "", reason) from None
    progress(1.0)
    return _assembled(name, bag, sources, found, rejudged, picture_bytes)


def _assembled(
    name: str,
    bag: Bag,
    sources: Sources,
    found: Scanned,
    rejudged: verdicts.Rejudged,
    picture_bytes: int,
) -> Collected:
    clock, clock_name = sources.clock(bag.start_ns, found)
    world, missed = sources.world, missed_messages(bag, found)
    results = found.of(verdicts.RESULT, Judgement)
    progress = found.of(verdicts.PROGRESS, Judgement)
    steps = verdicts.step_times(world.steps if world else (), [*progress, *results], clock)
    judged = verdicts.verdicts_of(rejudged, results, steps, clock)
    decided = found.of(skill_calls.DECISIONS, d.ModelCall)
    calls = skill_calls.calls_of(found.of(skill_calls.RESULTS, SkillEnd), decided, clock)
    about = _about(bag, found, sources, clock, clock_name)
    task = find_task(bag, about.episode_id, about.house)
    paths = _paths(sources, clock)
    agents = tuple(sorted({*agents_of(bag.topics), *about.agents, *(c.agent for c in calls)}))
    best = judged.bag or judged.live
    shots = pictures_of(sources.cameras, clock, picture_bytes)
    said = about.instruction or (task.episode.instruction if task.episode else "")
    about = replace(about, instruction=said, agents=agents)
    report = d.BagReport(
        name=name,
        notices=notices_of(bag, judged, found, missed, task),
        about=about,
        verdicts=judged,
        progress=verdicts.progress_of(rejudged, progress, steps, clock),
        instructions=instructions_of(found, clock),
        subtasks=subtasks_of(found, clock),
        calls=tuple(calls),
        decisions=tuple(skill_calls.decisions_of(decided, calls, clock)),
        work=work_of(agents, calls, best.propositions if best else (), paths),
        plan=floor_plan_of(task.house) if task.house else None,
        paths=paths,
        things=world.things(clock) if world else (),
        memory=memory.memory_of(
            found.of(memory.SNAPSHOTS, MemoryState),
            found.of(memory.UPDATES, MemoryEdits),
            found.of(faults.DIAGNOSTICS, tuple),
            world,
            clock,
        ),
        model_calls=tuple(skill_calls.model_calls_of(decided, clock)),
        topics=topics_of(bag, found, missed),
        faults=faults.faults_of(found, clock),
        pictures=tuple(picture for picture, _ in shots),
    )
    return Collected(report, tuple(jpeg for _, jpeg in shots), rejudged.trace)


def _paths(sources: Sources, clock: WorldClock) -> tuple[d.Path, ...]:
    """From /tf if it is connected to the map, else from the true world."""
    true = sources.world.paths if sources.world else {}
    found = []
    for agent in sorted({*sources.frames.paths, *true}):
        by_frames = sources.frames.paths.get(agent)
        points = by_frames or true[agent]
        rows = tuple(_row(point, clock) for point in thinned(points, _MAX_POINTS))
        found.append(d.Path(agent, "tf" if by_frames else "world_state", rows))
    return tuple(found)


def _row(point: PathPoint, clock: WorldClock) -> tuple[float, float, float, float]:
    t_s = clock.at(point.stamp_s, point.received_ns)
    return (round(t_s, 2), round(point.x_m, 3), round(point.y_m, 3), round(point.yaw_rad, 2))
