"""The memory node: what the robots remember of the house, told to everybody (docs/memory.md)."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from time import monotonic

from planner_msgs.msg import SkillReport
from sensor_msgs.msg import JointState

from planner.memory.effects import report_record
from planner.memory.maps.occupancy import CAMERA, FloorSurvey, hand_observation
from planner.memory.memory import UPDATE_PERIOD, Memory
from planner.memory.operations import PersonTracks
from planner.memory.part import (
    DETECTIONS,
    MODEL_OPTIONS,
    PERSONS,
    UPDATERS,
    MakeUpdater,
    UpdaterModel,
    UpdaterRequest,
    load_updater,
)
from planner.memory.service.node import MemoryPublisher, MemoryServices, PersonDetections
from planner.memory.settings import BACKWARDS_S, conditions, open_memory, store_path
from planner.memory.sightings import VISIBILITIES, VISIBILITY, PictureWatch, StillWorld, Visibility
from planner.memory.store import Store, StoreError, named_file
from planner.memory.updater import BackgroundUpdater, MemoryUpdater
from planner.ros import parameters, qos
from planner.ros.camera_input import (
    COLOUR,
    DEPTH,
    INSTANCES,
    CameraInput,
    Exposure,
    FrameTree,
    camera_frame,
)
from planner.ros.clients import WaitingNotice, wall_clock
from planner.ros.lifecycle import ManagedNode, run_node
from planner.ros.lockstep import LockstepChannel, LockstepPublisher
from planner.ros.markers import BeliefPictures
from planner.ros.memory_messages import ModelTrace
from planner.ros.parameters import builds_map, declare, declare_options
from planner.ros.sightings import Seen, SightingsInput, TruthInput
from planner.ros.subscriptions import listen
from planner.world import topics
from planner.world.belief import MemoryChange
from planner.world.episode import MAX_AGENTS, Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.memory_wire import TOLERANCE_S
from planner.world.observation import Grip, Observation
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind, EntityKind
from planner.world.wire import grip_record

# How often agents are looked for, and walking agents are told anew, wall seconds; and each how
# many times how the node is.
TIMER_PERIOD_S, DIAGNOSE_TICKS = 0.5, 2
# Longer than stamps differ that are equal.
_INSTANT_S = 1e-3
NO_UPDATER = "none"


class MemoryNode(ManagedNode):
    """Feeds one `Memory` and tells what it learns; begins a new one with each world."""

    def __init__(self) -> None:
        """Reads the parameters.

        Raises:
            PlannerError: for a wrong parameter, house, episode or store.
        """
        super().__init__("memory")
        self._memory: Memory | None = None
        self._instance_classes: dict[int, str] = {}
        self._floor: FloorSurvey | None = None
        try:
            self._declare()
            self._check_store()
        except PlannerError:
            super().destroy_node()
            raise

    def configure(self) -> None:
        """Listens; the memory itself begins with its world."""
        self._world: WorldState | None = None
        self._logged_problem = self._blind = ""
        self._unreadable: Counter[str] = Counter()
        self._losses: Counter[str] = Counter()
        self._inputs: dict[str, CameraInput | SightingsInput] = {}
        # Each with the newest stamp of /tf when it came.
        self._pending: dict[str, tuple[Exposure | Seen, float]] = {}
        # Agents whose picture the updater's thread has.
        self._looking: set[str] = set()
        self._grips: dict[str, Grip] = {}
        self._still, self._watched = StillWorld(), PictureWatch()
        self._truth_s = 0.0
        self._make_publishers()
        self._frames = FrameTree(self, self._on_frames)
        self._truth = TruthInput(self, self._on_world) if self._needs_truth else None
        self._persons: PersonDetections | None = None
        if self._persons_topic:
            self._persons = PersonDetections(self, self._persons_topic, self._frames, self._lose)
        self._worker: BackgroundUpdater | None = None
        self._made = self.create_guard_condition(self._take_proposals)
        listen(self, SkillReport, topics.SKILL_RESULTS, self._on_report, qos.EVENTS)
        self._answers = MemoryServices(
            self,
            lambda: self._memory,
            self._publish_all,
            lambda: self.refusal,
            lambda name: named_file(name, self._folder, anywhere=self._files_anywhere),
        )
        self._ticks = 0
        # Of the wall: agents are looked for while simulated time stands still, too.
        self.create_timer(TIMER_PERIOD_S, self._on_timer, clock=wall_clock())
        WaitingNotice(self, self._missing)

    def activate(self) -> None:
        """Tells what is remembered: changes of before went untold."""
        self._publish_all()

    def cleanup(self) -> None:
        """Stores what is left."""
        self._end_memory()

    # Start and end

    def _declare(self) -> None:
        house = parameters.text(self, "house", "", "name or file; empty = the episode's")
        episode = parameters.text(self, "episode", "", "name or file; empty = only the house")
        self._updater = parameters.text(
            self,
            "updater",
            "privileged",
            "what makes edits of pictures",
            choices=[NO_UPDATER, *UPDATERS.names()],
        )
        folder = parameters.text(self, "store", "", "folder of this run's stores; empty = none")
        self._folder = Path(folder) if folder else None
        self._files_anywhere = parameters.flag(
            self,
            "files_anywhere",
            False,
            "whether /memory/save and /memory/load may name files outside the store's folder",
        )
        seen = declare(self, VISIBILITY)
        self._load_updater(VISIBILITIES[seen])
        self._period_s = declare(self, UPDATE_PERIOD)
        self._persons_topic = declare(self, PERSONS)
        if self._persons_topic:
            # Missing interfaces are said before anything else begins.
            qos.message_class(DETECTIONS)
        self._builds_map = builds_map(self)
        if self._builds_map and self._updater == NO_UPDATER:
            raise PlannerError("memory: map:=built needs an updater, which says when to look")
        self._episode: Episode | None = None
        self._layout: House | None = None
        if episode:
            self._episode, self._layout = load_episode(episode)
        if house:
            self._layout = load_house(house)
        if self._layout is None and not self._needs_truth:
            raise PlannerError("memory: name a house or an episode, or use updater:=privileged")

    def _load_updater(self, visibility: Visibility) -> None:
        """Reads what the updater looks with, and loads it before anything else begins."""
        model = UpdaterModel.of(declare_options(self, MODEL_OPTIONS))
        self._make_updater: MakeUpdater | None = None
        self._needs_truth, self._true_names, self._in_thread = False, True, False
        self._needs_pictures, self._adds_truth = True, False
        if self._updater == NO_UPDATER:
            return
        part = UPDATERS.get(self._updater)
        options = declare_options(self, part.options)
        self._needs_truth = part.reads_truth(model.model, options)
        self._adds_truth = part.adds_truth(options)
        self._true_names, self._in_thread = part.true_names, part.in_thread
        self._needs_pictures = part.needs_pictures
        self._make_updater = load_updater(
            UpdaterRequest(
                name=self._updater,
                model=model,
                truth_source=self._truth_of_picture,
                visibility=visibility,
                class_of=self._class_of,
                options=options,
                on_call=lambda call: self._trace.publish(call),
            )
        )

    def _truth_of_picture(self) -> WorldState | None:
        return None if self._truth is None else self._truth.at(self._truth_s)

    def _class_of(self, number: int) -> str | None:
        """The class of an instance id, by the ground truth; asked from the updater's thread."""
        return self._instance_classes.get(number)

    def _check_store(self) -> None:
        """Refuses a store that cannot be used before anything else begins."""
        if self._folder is None or self._episode is None:
            return
        path = store_path(self._folder, self._episode.episode_id)
        if path.exists():
            store = Store(path)
            try:
                store.read()
            finally:
                store.close()

    def _make_publishers(self) -> None:
        self._publisher = MemoryPublisher(self, self._losses)
        self._trace = ModelTrace(self, topics.MEMORY_TRACE, self._losses)
        self._pictures = BeliefPictures(self, self._losses)
        self._lockstep = LockstepPublisher(self, LockstepChannel.MEMORY, self._losses)

    # Worlds

    def _on_world(self, state: WorldState) -> None:
        """A world was loaded: what was remembered is of another one."""
        if self._world is not None:
            self._end_memory()
        self._world = state
        things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
        self._instance_classes = {e.instance_id: e.class_name for e in things}
        self._begin()

    def _on_frames(self) -> None:
        newest_s, memory = self._frames.newest_s, self._memory
        # Skills report by the clock, which may be well ahead of frames that still wait to be read:
        # that alone is not a new world.
        before = memory is not None and newest_s is not None and newest_s < memory.stamp_s
        if newest_s is not None and before and self._frames.went_back:
            self._end_memory()
            if self._truth is not None and self._truth.is_ahead_of(newest_s):
                # Frames of the new world came before its state, with which a memory begins.
                self._world = None
        if self._memory is None:
            self._begin()
        self._take_persons()
        for agent, (exposure, came_s) in list(self._pending.items()):
            if newest_s is not None and newest_s >= exposure.stamp_s - TOLERANCE_S:
                self._look(agent, exposure, came_s)

    def _take_persons(self) -> None:
        """Learns of the persons that somebody else's detector has found."""
        found = self._persons.found() if self._persons is not None else None
        if found is None or self._memory is None or not self.is_active:
            return
        stamp_s, persons = found
        made = self._tracks.operations(persons, self._memory.entities)
        self._publish(self._memory.note_found(made, self._persons_topic, stamp_s))

    def _lose(self, what: str) -> None:
        self._unreadable[what] += 1

    def _end_memory(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        self._pending.clear()
        self._looking.clear()
        self._still.forget()
        self._frames.forget()

    def _begin(self) -> None:
        """Begins the memory once the world and its clock are known."""
        clock_s = self._frames.newest_s
        if clock_s is None or (self._truth is not None and self._world is None):
            return
        try:
            layout = self._layout_now()
        except PlannerError as error:
            self._log_once(f"the layout is not known: {error}")
            return
        episode = layout.name
        if self._world is not None:
            episode = self._world.episode_id or layout.name
        elif self._episode is not None:
            episode = self._episode.episode_id
        updater = None if self._make_updater is None else self._make_updater(layout)
        self._memory = self._open(layout, None if self._in_thread else updater, episode, clock_s)
        if updater is not None and self._in_thread:
            self._worker = BackgroundUpdater(updater, self._made.trigger)
        self._tracks = PersonTracks(layout)
        self._floor = FloorSurvey() if self._builds_map else None
        self._pictures.begin(layout, clock_s, builds_map=self._builds_map)
        self.get_logger().info(
            f"memory of {layout.name}, episode {episode}: "
            f"{len(self._memory.snapshot().entities)} entities after update {self._memory.sequence}"
        )
        self._watched.begin(monotonic())
        self._publisher.is_held = self._updater != NO_UPDATER
        self._publish_all()

    def _tell(self) -> None:
        """From the first picture of a world on, all that is known of it is told."""
        if self._publisher.is_held:
            self._publisher.is_held = False
            self._publish_all()

    def _open(
        self, layout: House, updater: MemoryUpdater | None, episode: str, clock_s: float
    ) -> Memory:
        def begin(folder: Path | None) -> Memory:
            return open_memory(
                layout,
                updater,
                folder=folder,
                episode=episode,
                agents=self._kinds(),
                clock_s=clock_s,
                period_s=self._period_s,
                foreign_names=not self._true_names,
            )

        try:
            return begin(self._folder)
        except StoreError as error:
            # The robots need a memory; that it is not kept is said here and in the diagnostics.
            self.get_logger().error(f"nothing is stored: {error}")
            memory = begin(None)
            memory.fault = str(error)
            return memory

    def _layout_now(self) -> House:
        if self._layout is not None and self._world is None:
            return self._layout
        wanted = self._world.house if self._world is not None else ""
        if self._layout is None or self._layout.name != wanted:
            self._layout = load_house(wanted)
        return self._layout

    def _kinds(self) -> dict[str, AgentKind]:
        if self._world is not None:
            agents = [e for e in self._world.entities.values() if e.kind is EntityKind.AGENT]
            known = set(AgentKind)
            return {e.name: AgentKind(e.class_name) for e in agents if e.class_name in known}
        return {} if self._episode is None else {a.uid: a.kind for a in self._episode.agents}

    # What comes in

    def _on_timer(self) -> None:
        self._look_for_agents()
        if not self._watched.is_blind(monotonic()):
            self._tell()
        self._republish()
        if self._ticks % DIAGNOSE_TICKS == 0:
            self._diagnose()
        self._ticks += 1

    def _missing(self) -> list[str]:
        found = []
        if self._truth is not None and self._truth.newest_s is None:
            found.append(f"{self.resolve_topic_name(topics.WORLD_STATE)} of a simulator's bridge")
        if self._updater != "none" and not self._inputs:
            pictures = topics.of_agent("agent_0", topics.depth_image(CAMERA))
            found.append(f"pictures of an agent, such as {self.resolve_topic_name(pictures)}")
        return found

    def _look_for_agents(self) -> None:
        if self._updater == NO_UPDATER:
            return
        for number in range(MAX_AGENTS):
            agent = f"agent_{number}"
            camera = self._is_published(agent, topics.depth_image(CAMERA))
            sees = not camera and self._is_published(agent, topics.SIGHTINGS)
            if sees and self._needs_pictures:
                self._refuse_sightings()
            present = camera or (sees and not self._needs_pictures)
            if present and agent not in self._inputs:
                self._watch(agent, camera=camera)
            elif agent in self._inputs and (not present or self._is_silent(agent)):
                source = self._inputs.pop(agent)
                source.destroy()
                self._unreadable.update({f"{agent}: {k}": n for k, n in source.losses.items()})

    def _is_silent(self, agent: str) -> bool:
        """Whether no picture comes of a camera that is there: it is subscribed to anew then.

        On a busy machine the middleware may leave a reader and a bridge that began anew unmatched.
        """
        clock_s = self._frames.newest_s
        if self._memory is None or not self.is_active or clock_s is None:
            return False
        silent = self._watched.is_silent(agent, clock_s, monotonic())
        if silent:
            losses = dict(self._inputs[agent].losses) or "nothing came"
            self.get_logger().warning(f"{self._watched.problem} ({losses}); subscribing anew")
        return silent

    def _refuse_sightings(self) -> None:
        if not self._blind:
            self._blind = f"this world has no pictures, which updater:={self._updater} needs"
            self.get_logger().error(f"{self._blind}; use updater:=privileged")

    def _is_published(self, agent: str, topic: str) -> bool:
        return bool(self.count_publishers(topics.of_agent(agent, topic)) > 0)

    def _watch(self, agent: str, *, camera: bool) -> None:
        def is_due(stamp_s: float) -> bool:
            if self._memory is None:
                return False
            due = self.is_active and self._memory.due(agent, stamp_s)
            if due and self._still.needs_look(agent, stamp_s, self._truth_newest_s()):
                return True
            if agent not in self._looking:
                self._have_done(agent, stamp_s)
            self._watched.note(agent, stamp_s, monotonic())
            return False

        def on_exposure(exposure: Exposure | Seen) -> None:
            self._watched.note(agent, exposure.stamp_s, monotonic())
            self._tell()
            self._look(agent, exposure)

        def on_hand(message: JointState) -> None:
            self._grips[agent] = grip_record(message) or self._grips.get(agent, Grip())

        self._inputs[agent] = (
            CameraInput(self, agent, CAMERA, self._wanted_pictures(), is_due, on_exposure)
            if camera
            else SightingsInput(self, agent, is_due, on_exposure)
        )
        gripper = topics.of_agent(agent, topics.GRIPPER_STATE)
        listen(self, JointState, gripper, on_hand, qos.LATCHED)

    def _wanted_pictures(self) -> tuple[str, ...]:
        if self._adds_truth:
            return (DEPTH, INSTANCES, COLOUR)
        return (DEPTH, INSTANCES) if self._needs_truth else (DEPTH, COLOUR)

    def _look(self, agent: str, exposure: Exposure | Seen, came_s: float | None = None) -> None:
        """Learns from an exposure, or keeps it until its frames are there.

        Args:
            agent: whose it is.
            exposure: of its camera.
            came_s: the newest stamp of /tf when it came; None = it comes now.
        """
        memory = self._memory
        self._pending.pop(agent, None)
        if memory is None or not memory.due(agent, exposure.stamp_s):
            return
        try:
            observation = self._observation(agent, exposure)
        except PlannerError as error:
            self._unreadable[f"{agent}: {error}"] += 1
            self._have_done(agent, exposure.stamp_s)
            return
        if observation is None:
            # A robot's picture may come late, and its frames with it.
            newest_s = self._frames.newest_s or exposure.stamp_s
            came_s = max(exposure.stamp_s, newest_s) if came_s is None else came_s
            if newest_s <= came_s + BACKWARDS_S:
                self._pending[agent] = (exposure, came_s)
            return
        self._truth_s = observation.stamp_s
        self._survey(observation)
        self._still.note_look(agent, observation.stamp_s, self._truth_newest_s())
        if self._worker is None:
            self._publish(memory.observe(observation))
            self._have_done(agent, observation.stamp_s)
            return
        memory.note_sensed(observation)
        entities = memory.snapshot().entities
        self._looking.add(agent)
        self._worker.offer(observation, entities, memory.last_action(agent))

    def _survey(self, observation: Observation) -> None:
        """Adds an exposure to the map that the robots build."""
        if self._floor is None:
            return
        try:
            self._floor.add(observation)
        except PlannerError as error:
            self._unreadable[f"{observation.agent}: {error}"] += 1
            return
        self._pictures.show_floor(self._floor.newest())

    def _have_done(self, agent: str, stamp_s: float) -> None:
        """Tells a world in lockstep from when on the next picture is needed."""
        memory = self._memory
        if memory is not None:
            looked = not (self.is_active and memory.due(agent, stamp_s))
            left_s = memory.next_look_s(stamp_s) if looked else _INSTANT_S
            self._lockstep.publish(agent, stamp_s + left_s)

    def _truth_newest_s(self) -> float | None:
        return self._truth.newest_s if self._truth is not None else None

    def _take_proposals(self) -> None:
        """Applies what the updater's thread made of pictures."""
        worker, memory = self._worker, self._memory
        if worker is None or memory is None:
            return
        for proposal in worker.take():
            made = proposal.operations
            seen = proposal.observation
            self._publish(memory.learn(seen, made, worker.name))
            self._looking.discard(seen.agent)
            self._have_done(seen.agent, seen.stamp_s)
        worker.go_on(memory.snapshot().entities)

    def _observation(self, agent: str, exposure: Exposure | Seen) -> Observation | None:
        """The exposure with the agent's pose; None while its frames are not known."""
        stamp_s = exposure.stamp_s
        observe = partial(
            hand_observation, self._frames, agent, stamp_s, self._grips.get(agent, Grip())
        )
        if isinstance(exposure, Seen):
            return observe(sightings=exposure.sightings)
        decode = partial(camera_frame, exposure)
        return observe(optical_frame=exposure.frame_id, pictures=decode)

    def _on_report(self, message: SkillReport) -> None:
        if self._memory is None:
            return
        try:
            agent, call, result, ended_s = report_record(message)
        except ValueError as error:
            self._unreadable[f"/skills/results: {error}"] += 1
            self.get_logger().warning(f"a skill report cannot be read: {error}")
            return
        try:
            change = self._memory.note_result(agent, call, result, ended_s)
        except FileError as error:
            self._unreadable[f"/skills/results: {error}"] += 1
            self.get_logger().warning(f"a skill report cannot be read: {error}")
            return
        self._publish(change)
        if change is None and self.is_active:
            # Who waits until the memory has heard of this sees it by the graph's stamp.
            self._publisher.publish_graph(self._memory, self._ticks)

    # What goes out

    def _publish(self, change: MemoryChange | None) -> None:
        self._publisher.note()
        if change is not None and self._memory is not None and self.is_active:
            self._publisher.publish_change(self._memory, change, self._ticks)

    def _publish_all(self) -> None:
        """After edits by hand and at the beginning: the newest change and the snapshots."""
        if self._memory is not None and self.is_active:
            self._publisher.publish_all(self._memory, self._ticks)

    def _republish(self) -> None:
        memory = self._memory
        if memory is None or not self.is_active:
            return
        self._publisher.publish_news(memory, self._ticks)
        self._pictures.show(memory.belief(memory.stamp_s))

    def _log_once(self, problem: str) -> None:
        if problem != self._logged_problem:
            self._logged_problem = problem
            self.get_logger().error(problem)

    def _diagnose(self) -> None:
        doubt = self._logged_problem if self._memory is None else self._blind
        if self._updater != NO_UPDATER:
            doubt = doubt or self._watched.problem
        values = {"updater": self._updater, "store": str(self._folder or "none")}
        notes = {name: str(count) for name, count in self._unreadable.items()}
        for agent, source in self._inputs.items():
            notes.update({f"{agent}: {what}": str(n) for what, n in source.losses.items()})
        now_s = self._memory.stamp_s if self._memory is not None else 0.0
        found = conditions(self._memory, self._worker, values, notes, doubt)
        self._publisher.publish_conditions(found, now_s)


def main() -> int:
    """Runs the node until it is asked to stop."""
    return run_node(MemoryNode)
