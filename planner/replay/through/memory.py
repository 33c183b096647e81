"""Runs another memory over the recorded pictures, for comparison with the recorded beliefs."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from planner.memory.memory import Memory
from planner.memory.part import UPDATERS, MakeUpdater, UpdaterRequest, load_updater
from planner.memory.scores import TrueThings, true_things
from planner.memory.sightings import VISIBILITIES, StillWorld
from planner.memory.updater import Counting, MemoryUpdater
from planner.parts.option import read_options
from planner.replay.states import STATES
from planner.replay.through.belief_history import Exposure, Exposures, History, LiveList, Observer
from planner.replay.through.recorded import (
    CHANGES,
    COLOUR,
    DEPTH,
    FIXED_LINKS,
    INSTANCES,
    LINKS,
    LISTS,
    RESULTS,
    SIGHTINGS,
    CameraTopics,
    EntityChangeReceived,
    EntityListReceived,
    Event,
    GripperReceived,
    PictureReceived,
    Recorded,
    RecordedTask,
    SkillEnded,
    StateReceived,
    StaticTransformsReceived,
    TransformsReceived,
)
from planner.replay.through.request import NO_UPDATER, MemoryRequest
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.memory_wire import TOLERANCE_S, FrameLinks
from planner.world.observation import Intrinsics
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind, EntityKind
from planner.world.wire import intrinsics_of

# As in the memory node: a time this far back means that the world was reset; and the number of
# states kept to find that of a picture.
_BACKWARDS_S = 0.5
_EQUAL_S = 1e-6
_KEPT_STATES = 128
_SIGHTINGS = (SIGHTINGS,)


@dataclass
class WorldBelief:
    """Both memories in one world, and the truth.

    Attributes:
        layout: its house.
        episode: its episode's id; "" = only the house.
        live: of the recorded memory.
        replayed: of the other one.
        truth: the truth over time; empty if the bag has no states.
        looks: pictures that the replayed memory processed, by agent.
        recorded_looks: exposures of which the bag has pictures, by agent.
        losses: pictures that it could not use, by reason.
    """

    layout: House
    episode: str
    live: LiveList = field(default_factory=LiveList)
    replayed: History = field(default_factory=History)
    truth: list[tuple[float, TrueThings]] = field(default_factory=list)
    looks: Counter[str] = field(default_factory=Counter)
    recorded_looks: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)
    refused: int = 0


def replay_memory(
    recorded: Recorded, request: MemoryRequest, on_event: Callable[[int], None]
) -> list[WorldBelief]:
    """Feeds a memory with a recording.

    Args:
        recorded: the bag.
        request: which memory.
        on_event: gets the time of each event, nanoseconds of receipt.

    Raises:
        PlannerError: if the memory cannot be made, or the bag lacks its inputs.
    """
    updaters = _Updaters(request)
    kinds = updaters.kinds(recorded)
    cameras = [] if request.updater == NO_UPDATER else _usable_cameras(recorded, kinds)
    if updaters.needs_truth and not recorded.has(STATES):
        reason = f"is not in the bag, which the memory {request.updater} looks at"
        raise FileError(recorded.bag.folder, STATES, reason)
    intrinsics = {
        camera.agent: _intrinsics(recorded, camera) for camera in cameras if kinds != _SIGHTINGS
    }
    topics = (STATES, LINKS, FIXED_LINKS, CHANGES, LISTS, RESULTS)
    run = _Run(recorded, request, updaters, kinds, intrinsics)
    for event in recorded.events(topics, kinds if cameras else (), hands=True):
        on_event(event.received_ns)
        run.take(event)
    run.end()
    return run.worlds


def _usable_cameras(recorded: Recorded, kinds: Iterable[str]) -> list[CameraTopics]:
    cameras = [c for c in recorded.cameras if all(kind in c.pictures for kind in kinds)]
    if not cameras:
        there = sorted(topic for c in recorded.cameras for topic in c.pictures.values())
        reason = (
            f"has no agent with pictures of {' and '.join(kinds)}, which this memory looks at"
            f"; there are {', '.join(there) or 'no pictures'}"
        )
        raise FileError(recorded.bag.folder, "", reason)
    return cameras


def _intrinsics(recorded: Recorded, camera: CameraTopics) -> Intrinsics:
    for topic in camera.infos:
        content = recorded.first(topic)
        if content is not None:
            return intrinsics_of(content)
    raise FileError(recorded.bag.folder, f"/{camera.agent}", "has pictures without a camera_info")


class _Updaters:
    """Makes the updater of each world; models are loaded once."""

    def __init__(self, request: MemoryRequest) -> None:
        self.classes: dict[int, str] = {}
        self._truth: Callable[[], WorldState | None] = _no_state
        self._make: MakeUpdater | None = None
        self.needs_truth, self.foreign_names, self._needs_pictures = False, False, True
        self._adds_truth = False
        if request.updater == NO_UPDATER:
            return
        part = UPDATERS.get(request.updater)
        options = read_options(part.options, request.options)
        self.needs_truth = part.reads_truth(request.model.model, options)
        self._adds_truth = part.adds_truth(options)
        self.foreign_names, self._needs_pictures = not part.true_names, part.needs_pictures
        self._make = load_updater(
            UpdaterRequest(
                name=request.updater,
                model=request.model,
                truth_source=lambda: self._truth(),
                visibility=VISIBILITIES[request.visibility],
                class_of=self.classes.get,
                options=options,
            )
        )

    def kinds(self, recorded: Recorded) -> tuple[str, ...]:
        """The kinds of pictures that the updater reads in this bag."""
        pictures = any(SIGHTINGS not in camera.pictures for camera in recorded.cameras)
        if not self._needs_pictures and recorded.cameras and not pictures:
            return _SIGHTINGS
        if self._adds_truth:
            return (DEPTH, INSTANCES, COLOUR)
        return (DEPTH, INSTANCES) if self.needs_truth else (DEPTH, COLOUR)

    def updater(
        self, layout: House, truth: Callable[[], WorldState | None]
    ) -> MemoryUpdater | None:
        self._truth = truth
        return None if self._make is None else self._make(layout)


def _no_state() -> WorldState | None:
    return None


class _Truth:
    """The newest states, to find that of a picture."""

    def __init__(self) -> None:
        self._states: deque[WorldState] = deque(maxlen=_KEPT_STATES)
        self.looked_s = 0.0

    @property
    def newest(self) -> WorldState | None:
        return self._states[-1] if self._states else None

    def take(self, state: WorldState) -> None:
        self._states.append(state)

    def forget(self) -> None:
        self._states.clear()

    def now(self) -> WorldState | None:
        """The state at the time of the current picture: the newest that is not after it."""
        for state in reversed(self._states):
            if state.stamp_s <= self.looked_s + _EQUAL_S:
                return state
        return self._states[0] if self._states else None


class _Run:
    """The memory of one world after another."""

    def __init__(
        self,
        recorded: Recorded,
        request: MemoryRequest,
        updaters: _Updaters,
        kinds: tuple[str, ...],
        intrinsics: Mapping[str, Intrinsics],
    ) -> None:
        self.worlds: list[WorldBelief] = []
        self._request, self._updaters, self._kinds = request, updaters, kinds
        self._task = RecordedTask(recorded)
        self._folder = recorded.bag.folder
        read = _link_reader(recorded)
        self._frames = FrameLinks(read)
        self._observer = Observer(self._frames, intrinsics)
        self._exposures: dict[str, Exposures] = {}
        self._pending: dict[str, Exposure] = {}
        self._truth, self._still = _Truth(), StillWorld()
        self._memory: Memory | None = None
        self._updater: MemoryUpdater | None = None

    def take(self, event: Event) -> None:
        """Takes the next event."""
        if isinstance(event, StateReceived):
            self._on_state(event.state)
        elif isinstance(event, StaticTransformsReceived):
            self._frames.add_static(event.links)
        elif isinstance(event, GripperReceived):
            self._observer.grips[event.agent] = event.grip
        elif isinstance(event, TransformsReceived):
            self._on_links(event)
        else:
            world, memory = self._world()
            if isinstance(event, PictureReceived):
                self._on_picture(event)
            elif isinstance(event, SkillEnded):
                change = memory.note_result(event.agent, event.call, event.result, event.ended_s)
                if change is not None:
                    world.replayed.note(change.stamp_s, memory.entities)
            elif isinstance(event, EntityListReceived):
                world.live.snapshot(event)
            elif isinstance(event, EntityChangeReceived):
                world.live.change(event)

    def end(self) -> None:
        """Adds the counts of the last world."""
        if self._memory is None:
            return
        world = self.worlds[-1]
        for agent, exposures in self._exposures.items():
            world.recorded_looks[agent] = len(exposures.stamps)
            if exposures.incomplete:
                world.losses["pictures without the others of their stamp"] += exposures.incomplete
        if self._pending:
            world.losses["pictures without frames"] += len(self._pending)
        world.losses.update(self._observer.unreadable)
        world.refused = self._memory.refused
        world.losses.update(_counts(self._updater))
        self._observer.unreadable.clear()
        self._exposures.clear()
        self._pending.clear()
        self._still.forget()
        self._memory = self._updater = None

    # Worlds

    def _world(self) -> tuple[WorldBelief, Memory]:
        memory = self._memory
        if memory is None:
            newest = self._truth.newest
            episode, house = self._task.first() if newest is None else self._task.of(newest)
            memory = self._memory = self._begun(episode, house, newest)
        return self.worlds[-1], memory

    def _begun(self, episode: Episode | None, house: House, state: WorldState | None) -> Memory:
        layout = house.layout
        self._updater = self._updaters.updater(layout, self._truth.now)
        name = episode.episode_id if episode is not None else ""
        memory = Memory(
            layout,
            self._updater,
            agents=_kinds(episode, state),
            episode=name,
            period_s=self._request.period_s,
            foreign_names=self._updaters.foreign_names,
        )
        self.worlds.append(WorldBelief(layout, name))
        self.worlds[-1].replayed.note(memory.stamp_s, memory.entities)
        return memory

    def _on_state(self, state: WorldState) -> None:
        newest = self._truth.newest
        another = newest is not None and (
            state.episode_id != newest.episode_id
            or state.house != newest.house
            or state.stamp_s < newest.stamp_s - _BACKWARDS_S
        )
        if another:
            self.end()
            self._truth.forget()
            self._frames.forget()
        self._truth.take(state)
        if newest is None or another:
            things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
            self._updaters.classes.clear()
            self._updaters.classes.update({e.instance_id: e.class_name for e in things})
        world, _ = self._world()
        things_now = true_things(state)
        if not world.truth or world.truth[-1][1] != things_now:
            world.truth.append((state.stamp_s, things_now))

    def _on_links(self, event: TransformsReceived) -> None:
        self._frames.add(event.stamp_s, event.data)
        if self._frames.went_back and self._truth.newest is None:
            self.end()
            self._frames.forget()
            self._frames.add(event.stamp_s, event.data)
        for exposure in list(self._pending.values()):
            if event.stamp_s >= exposure.stamp_s - TOLERANCE_S:
                self._look(exposure)

    # Pictures

    def _on_picture(self, picture: PictureReceived) -> None:
        agent = picture.agent
        if agent not in self._exposures:
            self._exposures[agent] = Exposures(self._kinds, self._is_due(agent))
        exposure = self._exposures[agent].take(picture)
        if exposure is not None:
            self._look(exposure)

    def _is_due(self, agent: str) -> Callable[[float], bool]:
        def is_due(stamp_s: float) -> bool:
            memory = self._memory
            return (
                memory is not None
                and memory.due(agent, stamp_s)
                and self._still.needs_look(agent, stamp_s, self._truth_newest_s())
            )

        return is_due

    def _truth_newest_s(self) -> float | None:
        newest = self._truth.newest
        return newest.stamp_s if newest is not None and self._updaters.needs_truth else None

    def _look(self, exposure: Exposure) -> None:
        agent = exposure.agent
        self._pending.pop(agent, None)
        world, memory = self._world()
        if not memory.due(agent, exposure.stamp_s):
            return
        try:
            observation = self._observer.observation(exposure)
        except (PlannerError, ValueError) as error:
            self._observer.unreadable[f"{agent}: {error}"] += 1
            return
        if observation is None:
            self._pending[agent] = exposure
            return
        self._truth.looked_s = observation.stamp_s
        self._still.note_look(agent, observation.stamp_s, self._truth_newest_s())
        world.looks[agent] += 1
        change = memory.observe(observation)
        if change is not None:
            world.replayed.note(change.stamp_s, memory.entities)


def _kinds(episode: Episode | None, state: WorldState | None) -> dict[str, AgentKind]:
    if state is not None:
        agents = [e for e in state.entities.values() if e.kind is EntityKind.AGENT]
        known = set(AgentKind)
        return {e.name: AgentKind(e.class_name) for e in agents if e.class_name in known}
    return {} if episode is None else {agent.uid: agent.kind for agent in episode.agents}


def _counts(updater: object) -> Mapping[str, int]:
    """Inputs that an updater could not use, by reason."""
    counts = updater.counts if isinstance(updater, Counting) else {}
    return {name: count for name, count in counts.items() if count}


def _link_reader(recorded: Recorded) -> Callable[[bytes], Iterable[object]]:
    from planner.replay.bag import RawMessage

    kind = recorded.bag.type_of(LINKS)

    def read(data: bytes) -> Iterable[object]:
        if kind is None:
            return ()
        content = RawMessage(LINKS, 0, data, *kind).content()
        return list(content.transforms)

    return read
