"""The privileged updater: ground truth of what a camera shows.

Names, classes, parents and states come from the simulator, but only of what the camera shows
by the paper's thresholds (EPM-1.2, PARTNR-5.3 "partial"). What is inside closed
furniture shows in no picture and so is never learned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from planner.memory.camera import in_image, project
from planner.memory.sightings import (
    GT_VISIBILITY,
    StaleEntities,
    Visibility,
    has_moved,
    sightings_of_images,
)
from planner.memory.updater import Facts, Operation
from planner.memory.wording import PICKED, PLACED, class_words, describe
from planner.world.agents import default_bodies, view_of
from planner.world.belief import Entity, OperationKind, carriers
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics, Observation, Sighting
from planner.world.person import Person
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import OPEN_FROM, AgentKind, EntityKind, Hand, Relation, hand_holding

CAMERA: Final = "hand"
# A thing is missed where its stored place is this far inside the picture and nothing nearer
# hides it (give or take the noise of depth), in so many frames on end of one camera.
MARGIN_PX = 24
HIDING_M = 0.02
FRAMES_TO_MISS = 2
# Without images, what is seen to be as it was is confirmed no more often than this.
CONFIRM_S = 10.0
_KINDS: Final = frozenset(kind.value for kind in AgentKind)

Truth = Callable[[], WorldState | None]
SightingProvider = Callable[[str], Sequence[Sighting]]
InView = Callable[[str, Sequence[str]], bool]
ShowNone = Callable[[Sequence[str], Sequence[float]], int]
Glimpse = Callable[[str, Sequence[str]], Sequence[Sighting]]


class PrivilegedUpdater:
    """Adds new things, updates changed ones, removes those seen to be gone."""

    name = "privileged"

    def __init__(
        self,
        truth: Truth,
        visibility: Visibility = GT_VISIBILITY,
        sightings: SightingProvider | None = None,
        in_view: InView | None = None,
        handled: Callable[[], int] | None = None,
        glimpse: Glimpse | None = None,
        show_none: ShowNone | None = None,
    ) -> None:
        """Takes the ground truth's source.

        Args:
            truth: the world's state now; None while there is none.
            visibility: when a thing in view counts as seen.
            sightings: what an agent's hand camera shows, where no images are made; without it
                the observation's images are read.
            in_view: whether an agent's hand camera shows any of some entities, where no images
                are made. With it a look at nothing new is only taken each `CONFIRM_S`: what
                changes is learned at once, and when the rest was last seen is that coarse.
            handled: a number from 0 that grows with every change of the world but of agents and
                of where they carry things.
            glimpse: what an agent's hand camera shows of some entities and of what they are on,
                where no images are made. With it a look at something new tells of that only; the
                rest is confirmed each `CONFIRM_S`.
            show_none: how many looks of all agents' hand cameras, in given seconds from now each,
                surely show none of some entities before one may, where no images are made and
                agents only go on with what they do.
        """
        self._truth = truth
        self._visibility = visibility
        self._provider = sightings
        self._in_view = in_view
        self._handled = handled
        self._glimpse = glimpse
        self._show_none = show_none
        self._confirmed_s: dict[str, float] = {}
        self._stale = StaleEntities()
        self._missed: dict[str, dict[int, int]] = {}
        self._looks: dict[str, tuple[WorldState, Pose, Sequence[Sighting]]] = {}
        self._instances: tuple[tuple[str, str, int], dict[int, str]] = (("", "", 0), {})

    def update(
        self,
        observation: Observation,
        entities: Sequence[Entity],
        last_action: str,  # noqa: ARG002 - the ground truth is known
    ) -> list[Operation]:
        """The edits that an observation calls for; see `MemoryUpdater`."""
        state = self._truth()
        if state is None:
            return []
        frame = observation.cameras.get(CAMERA)
        if self._provider is None and frame is None and observation.sightings is None:
            return []
        if not self.needs_look(observation.agent, observation.stamp_s, entities):
            return []
        known = {entity.name: entity for entity in entities}
        agent, at_once = observation.agent, False
        if (
            self._in_view is None
            or self._glimpse is None
            or self._is_due(agent, observation.stamp_s)
        ):
            found = self._look(observation, frame, state)
        else:
            at_once = True
            found = self._glimpse(agent, self._stale.names)
        shown = [s for s in found if self._visibility.shows(s)]
        seen = {s.name: s for s in shown if s.name in state.entities}
        if self._in_view is not None:
            self._stale.mark_reported(seen, state.entities)
            if not at_once:
                self._confirmed_s[agent] = observation.stamp_s
        operations = [
            operation
            for sighting in seen.values()
            if (operation := _operation_for(state, sighting, seen, known)) is not None
        ]
        if at_once:
            # Nothing is misplaced.
            self._missed[agent] = {}
            return operations
        gone = self._gone(observation, frame, state, seen, entities)
        return operations + [Operation(OperationKind.REMOVE, entity_id=e.entity_id) for e in gone]

    def needs_look(self, agent: str, now_s: float, entities: Sequence[Entity]) -> bool:
        """Whether a frame may show anything that the memory does not know.

        Args:
            agent: who would look, now.
            now_s: its stamp.
            entities: what is remembered.
        """
        if self._in_view is None or not self._update_stale(entities):
            return True
        if self._is_due(agent, now_s):
            return True
        return bool(self._stale.names) and self._in_view(agent, self._stale.names)

    def redundant_frames(
        self,
        agents: Sequence[str],
        now_s: float,
        seconds: Sequence[float],
        entities: Sequence[Entity],
    ) -> int:
        """How many of the next frames certainly show nothing new.

        That is, if until then agents only go on with what they do; see `needs_look`.

        Args:
            agents: who would look.
            now_s: the present.
            seconds: how long after it they would look, in order.
            entities: what is remembered.
        """
        if self._show_none is None or not self._update_stale(entities):
            return 0
        dues = (
            count
            for count, after_s in enumerate(seconds)
            if any(self._is_due(agent, now_s + after_s) for agent in agents)
        )
        fresh = next(dues, len(seconds))
        names = self._stale.names
        return self._show_none(names, seconds[:fresh]) if fresh and names else fresh

    def _is_due(self, agent: str, now_s: float) -> bool:
        """Whether everything in view is due to be confirmed, not only what changed."""
        fresh = 0 <= now_s - self._confirmed_s.get(agent, -math.inf) < CONFIRM_S
        return bool(self._stale.misplaced) or not fresh

    def _update_stale(self, entities: Sequence[Entity]) -> bool:
        """Updates the stale entities; False where the ground truth is unknown."""
        revision = self._handled() if self._handled is not None else -1
        if revision < 0 or not self._stale.is_up_to_date(revision, entities):
            state = self._truth()
            if state is None:
                return False
            self._stale.follow(state, entities, revision)
        return True

    def _look(
        self, observation: Observation, frame: CameraFrame | None, state: WorldState
    ) -> Sequence[Sighting]:
        if observation.sightings is not None:
            return observation.sightings
        if self._provider is not None:
            return self._provider(observation.agent)
        if frame is None:
            return []
        last = self._looks.get(observation.agent)
        if last is None or last[0] is not state or last[1] != frame.pose:
            # Nothing changed and the camera did not move: reuse the last sightings.
            last = (state, frame.pose, sightings_of_images(frame, self._names(state)))
            self._looks[observation.agent] = last
        return last[2]

    def _names(self, state: WorldState) -> Mapping[int, str]:
        """Names by instance id; they stay the same through an episode."""
        key = (state.house, state.episode_id, len(state.entities))
        if self._instances[0] != key:
            names = {e.instance_id: e.name for e in state.entities.values() if e.instance_id > 0}
            self._instances = (key, names)
        return self._instances[1]

    # What is not where it was

    def _gone(
        self,
        observation: Observation,
        frame: CameraFrame | None,
        state: WorldState,
        seen: Mapping[str, Sighting],
        entities: Sequence[Entity],
    ) -> list[Entity]:
        """Things absent in enough consecutive frames that are truly elsewhere."""
        hidden = [e for e in entities if not (e.is_furniture or e.picked or e.name in seen)]
        if self._in_view is not None:
            # Usually nothing was moved: then nothing has to be projected.
            hidden = [e for e in hidden if has_moved(e, state.entities.get(e.name))]
        held = carriers(entities) if hidden else {}
        hidden = [e for e in hidden if e.name not in held]
        bare = [
            e
            for e in self._revealed(hidden, observation, frame, state, seen)
            if has_moved(e, state.entities.get(e.name))
        ]
        before = self._missed.get(observation.agent, {})
        counts = {e.entity_id: before.get(e.entity_id, 0) + 1 for e in bare}
        self._missed[observation.agent] = counts
        return [e for e in bare if counts[e.entity_id] >= FRAMES_TO_MISS]

    def _revealed(
        self,
        hidden: Sequence[Entity],
        observation: Observation,
        frame: CameraFrame | None,
        state: WorldState,
        seen: Mapping[str, Sighting],
    ) -> Iterator[Entity]:
        """Those whose stored position is clearly visible."""
        if observation.sightings is not None or (frame is None and not observation.optical):
            yield from _faced(hidden, state.entities.get(observation.agent), seen, state)
            return
        view = _view(observation, frame, state) if hidden else None
        if view is None:
            return
        intrinsics, pose = view
        projected = project(intrinsics, pose, np.array([e.position_m for e in hidden], float))
        inside = in_image(intrinsics, projected, MARGIN_PX)
        limits = self._visibility
        inside &= (projected[:, 2] >= limits.min_distance_m) & (
            projected[:, 2] <= limits.max_distance_m
        )
        for index in np.flatnonzero(inside).tolist():
            u, v, depth_m = (float(value) for value in projected[index])
            if self._provider is not None or frame is None:
                clear = _support_shows(hidden[index], seen, state)
            else:
                clear = float(frame.depth_m[int(v), int(u)]) >= depth_m - HIDING_M
            if clear:
                yield hidden[index]


def _operation_for(
    state: WorldState, sighting: Sighting, seen: Mapping[str, Sighting], known: Mapping[str, Entity]
) -> Operation | None:
    """The operation for one seen entity; the list decides whether it changes anything."""
    truth = state.entities[sighting.name]
    if truth.kind is EntityKind.AGENT:
        return Operation(
            OperationKind.UPDATE,
            name=truth.name,
            position_m=truth.pose.position_m,
            distance_m=sighting.distance_m,
            facts=Facts(truth.class_name),
        )
    if truth.kind is EntityKind.FURNITURE:
        entity = known.get(truth.name)
        return None if entity is None else _furniture(entity, truth, sighting)
    holder = state.entities.get(truth.parent or "")
    hand = hand_holding(holder.hands, truth.name) if holder is not None else None
    return _thing(known.get(truth.name), truth, sighting, seen, known, hand)


def _furniture(entity: Entity, truth: EntityState, sighting: Sighting) -> Operation:
    # Furniture counts as closed until seen open: only what was open is described as "closed".
    openness = truth.openness
    word = ""
    if openness is not None:
        was_open = entity.description.endswith((" open", " closed"))
        word = "open" if openness >= OPEN_FROM else ("closed" if was_open else "")
    states = truth.states or {}
    facts = Facts(
        entity.class_name, entity.size_m, entity.parent, None, entity.room, states, openness
    )
    return Operation(
        OperationKind.UPDATE,
        entity_id=entity.entity_id,
        description=describe(entity.class_name, states, word),
        position_m=entity.position_m,
        distance_m=sighting.distance_m,
        facts=facts,
    )


def _thing(
    entity: Entity | None,
    truth: EntityState,
    sighting: Sighting,
    seen: Mapping[str, Sighting],
    known: Mapping[str, Entity],
    hand: Hand | None,
) -> Operation:
    held = truth.relation is Relation.HELD
    states = truth.states or {}
    facts = Facts(
        class_name=truth.class_name,
        size_m=truth.size_m,
        parent=truth.parent,
        relation=truth.relation,
        room=None if held else truth.room,
        states=states,
        hand=hand,
        look=truth.look,
        person=_as_seen(truth.person, entity),
    )
    support = known.get(truth.parent or "")
    number = support.entity_id if support is not None and truth.parent in seen else None
    if support is not None and entity is not None and entity.parent == truth.parent:
        # The text goes on naming furniture that is just out of the picture.
        named = f"with the Object.{support.entity_id}" in entity.description
        number = support.entity_id if named else number
    text = describe(class_words(truth.class_name, facts.person), states, "", number)
    x, y, z = truth.pose.position_m
    if entity is not None and entity.picked != held:
        text = f"{text} {PICKED if held else PLACED}"
    return Operation(
        OperationKind.ADD if entity is None else OperationKind.UPDATE,
        entity_id=None if entity is None else entity.entity_id,
        description=text,
        position_m=(x, y, z + truth.size_m[2] / 2),
        name=truth.name,
        distance_m=sighting.distance_m,
        facts=facts,
    )


def _as_seen(person: Person | None, entity: Entity | None) -> Person | None:
    """A person as a camera shows one; the name is what the memory was told."""
    if person is None:
        return None
    told = entity.person.name if entity is not None and entity.person is not None else ""
    return replace(person, name=told, done=())


def _faced(
    hidden: Sequence[Entity],
    viewer: EntityState | None,
    seen: Mapping[str, Sighting],
    state: WorldState,
) -> Iterator[Entity]:
    """Without a camera: those that an agent would see if they were where they were last."""
    if viewer is None:
        return
    faced = view_of(viewer)
    for entity in hidden:
        in_view = entity.room == viewer.room and faced(entity.position_m)
        if in_view and _support_shows(entity, seen, state):
            yield entity


def _support_shows(entity: Entity, seen: Mapping[str, Sighting], state: WorldState) -> bool:
    """Without a depth image: whether what the thing was thought to lie on, or in, is seen."""
    parent = state.entities.get(entity.parent or "")
    if parent is None:
        # A floor is not an entity of the world.
        return True
    if parent.kind is EntityKind.OBJECT:
        return parent.name in seen
    if entity.relation is Relation.WITHIN and (parent.openness or 0.0) < OPEN_FROM:
        return parent.openness is None and parent.name in seen
    return parent.name in seen


def _view(
    observation: Observation, frame: CameraFrame | None, state: WorldState
) -> tuple[Intrinsics, Pose] | None:
    """Lens and pose of the camera: the frame's, or where it would be without one."""
    if frame is not None:
        return frame.intrinsics, frame.pose
    agent, on_base = state.entities.get(observation.agent), observation.optical.get(CAMERA)
    if agent is None or on_base is None or agent.class_name not in _KINDS:
        return None
    return _intrinsics(AgentKind(agent.class_name)), observation.base.compose(on_base)


@lru_cache
def _intrinsics(kind: AgentKind) -> Intrinsics:
    mount = default_bodies()[kind].cameras[CAMERA]
    width_px, height_px = mount.width_px, mount.height_px
    focal_px = width_px / 2 / math.tan(mount.horizontal_fov_rad / 2)
    return Intrinsics(width_px, height_px, focal_px, focal_px, width_px / 2, height_px / 2)
