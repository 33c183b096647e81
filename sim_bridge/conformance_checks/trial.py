"""A backend under test: a freshly loaded episode, and operations that checks share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.house import House, ObjectPlacement
from planner.world.observation import Observation
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation, held_things
from sim_bridge.backend import Backend, Handle, PictureSource
from sim_bridge.pacing import TICK_S

# Longer than any reasonable primitive takes, to detect a backend that hangs.
TIMEOUT_S = 300.0
MAX_CANDIDATES = 16
# What a reset leaves of a way, where it does not bring the agent back.
STAYED_M = 0.3
# Rounding of a sum of times.
SAME_TIME_S = 1e-6
# Age of a robot's last message on a busy machine.
LATE_S = 1.0


class ConformanceError(Exception):
    """A violation; its text is the finding."""


def expect(condition: bool, text: str) -> None:
    """Raises a ConformanceError with this text unless the condition is true."""
    if not condition:
        raise ConformanceError(text)


class UnsuitableError(Exception):
    """The house, the episode or the backend offers nothing to run a check on."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Arguments of all checks of one run."""

    make_backend: Callable[[], Backend]
    house: House
    episode: Episode
    seed: int


class Trial:
    """One backend with a freshly loaded episode."""

    def __init__(self, backend: Backend, setting: Setting) -> None:
        """Loads the episode."""
        self.backend = backend
        self.setting = setting
        self.reload()

    def reload(self) -> None:
        """Loads the episode again."""
        self.backend.reset(self.setting.house, self.setting.episode, self.setting.seed)

    # State

    @property
    def agent(self) -> str:
        """The first agent, which most checks use."""
        return self.backend.agents[0]

    def can(self) -> Capabilities:
        """The first agent's capabilities."""
        return self.backend.capabilities(self.agent)

    def truth(self) -> WorldState:
        """Ground truth, checked for invariants.

        Raises:
            UnsuitableError: if it is unknown.
        """
        state = self.backend.world_state()
        if state is None:
            raise UnsuitableError("nobody knows the true state of this world")
        check_invariants(state)
        return state

    def base(self, agent: str = "") -> Pose:
        """The agent's base as localised."""
        return self.backend.observe(agent or self.agent, ()).base

    def look(self, cameras: tuple[str, ...]) -> Observation:
        """What the first agent sees, with the current stamp.

        Raises:
            UnsuitableError: if there are no pictures.
        """
        try:
            seen = self.backend.observe(self.agent, cameras)
        except PlannerError as error:
            raise UnsuitableError(f"no pictures here: {error}") from error
        now_s = self.backend.now_s()
        # What a robot sends at times of its own was sensed a little ago.
        ago_s = LATE_S if isinstance(self.backend, PictureSource) else 0.0
        current = now_s - ago_s <= seen.stamp_s <= now_s
        expect(current, f"an observation is stamped {seen.stamp_s} at {now_s}")
        return seen

    # Acting

    def start(self, name: str, target_m: Vec3, agent: str = "", **more: object) -> Handle:
        """Starts a primitive of the first agent, or of the one that is named."""
        primitive = Primitive(name, target_m, **more)  # type: ignore[arg-type]
        return self.backend.start(agent or self.agent, primitive)

    def finish(self, handle: Handle) -> PrimitiveResult:
        """Advances time until a primitive has ended.

        Raises:
            ConformanceError: if it does not end, or its status is invalid.
        """
        deadline_s = self.backend.now_s() + TIMEOUT_S
        while True:
            status = self.backend.poll(handle)
            expect(0.0 <= status.progress <= 1.0, f"progress {status.progress} is not in 0 to 1")
            if status.result is not None:
                expect(bool(status.result.text), f"a result of {status.result.code.name} says why")
                return status.result
            expect(
                self.backend.now_s() < deadline_s,
                f"a primitive still runs after {TIMEOUT_S:.0f} s; its phase is {status.phase!r}",
            )
            self.tick()

    def do(self, name: str, target_m: Vec3, agent: str = "", **more: object) -> PrimitiveResult:
        """Carries out a primitive of the first agent, or of the one that is named."""
        return self.finish(self.start(name, target_m, agent, **more))

    def refused(
        self, code: PrimitiveCode, what: str, primitive: Primitive, agent: str = ""
    ) -> None:
        """Expects a primitive to end with this code and a text, without effects."""
        try:
            handle = self.backend.start(agent or self.agent, primitive)
        except Exception as error:
            raise ConformanceError(f"{what}: start raised {error!r} instead of a result") from error
        result = self.finish(handle)
        expect(result.code is code, f"{what} ended as {result.code.name}, not {code.name}")

    def step(self, seconds: float) -> None:
        """Advances time in ticks."""
        for _ in range(max(1, round(seconds / TICK_S))):
            self.tick()

    def tick(self) -> None:
        """One step; what `step` does not advance passes by itself, as with a real robot."""
        due_s = self.backend.now_s() + TICK_S
        self.backend.step(TICK_S)
        left_s = due_s - self.backend.now_s()
        if left_s > SAME_TIME_S:
            time.sleep(left_s)

    # Candidates for checks

    def lying_open(self) -> list[EntityState]:
        """Objects on furniture, which can be seen and picked, in a fixed order.

        Without ground truth, they are where the episode placed them.

        Raises:
            UnsuitableError: if there is none.
        """
        state = self.backend.world_state()
        if state is None:
            things = [_as_placed(item) for item in self.setting.episode.objects]
        else:
            check_invariants(state)
            things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
        found = [
            e
            for e in things
            if e.relation is Relation.ON and e.parent in self.setting.house.furniture_by_name
        ]
        if not found:
            raise UnsuitableError("nothing lies open")
        return sorted(found, key=lambda e: e.name)

    def walk_to(self, candidates: Iterable[EntityState], what: str) -> EntityState:
        """Walks to the first of some entities that can be reached.

        Raises:
            UnsuitableError: if none of the first few can.
        """
        for entity in list(candidates)[:MAX_CANDIDATES]:
            if self.approach(entity) is not None:
                return entity
        raise UnsuitableError(f"no {what} that {self.agent} can walk up to")

    def far_thing(self) -> EntityState:
        """A thing far away: the farthest that can be walked to, from where the agent then is.

        Raises:
            UnsuitableError: if no thing can be walked to.
        """
        thing = self.walk_to(self._from_afar(), "object")
        there = self.base()
        self.reload()
        if moved_m(there, self.base()) < STAYED_M:
            # Nothing brings a real robot back: it walks as far away as it can.
            self.walk_to(self._from_afar(), "object")
        return thing

    def _from_afar(self) -> list[EntityState]:
        base = self.base()
        return sorted(self.lying_open(), key=lambda e: (-moved_m(base, e.pose), e.name))

    def approach(self, entity: EntityState, agent: str = "") -> Vec3 | None:
        """Walks to an entity; returns the reached point of it, or None."""
        for point in self.points_of(entity):
            if self.do(PrimitiveName.NAVIGATE, point, agent).succeeded:
                return point
        return None

    def points_of(self, entity: EntityState) -> list[Vec3]:
        """Target points of an entity: a thing's centre, visible points of furniture."""
        piece = self.setting.house.furniture_by_name.get(entity.name)
        if piece is None:
            return [middle_m(entity)]
        depth_m, _, height_m = piece.size_m
        own = [
            *(joint.handle for joint in piece.joints),
            (depth_m / 2, 0.0, height_m / 2),
            (0.0, 0.0, height_m),
            (0.0, 0.0, height_m / 2),
        ]
        return [piece.pose.apply(point) for point in own]


def middle_m(entity: EntityState) -> Vec3:
    """The centre of an entity's box in `map`."""
    return entity.box.center_m


def _as_placed(item: ObjectPlacement) -> EntityState:
    x, y, z, yaw = item.pose
    return EntityState(
        name=item.name,
        kind=EntityKind.OBJECT,
        class_name=item.class_name,
        instance_id=0,
        pose=Pose.planar(x, y, yaw, z),
        size_m=item.size_m,
        parent=item.parent,
        relation=item.relation,
        room=None,
    )


def moved_m(before: Pose, after: Pose) -> float:
    """Distance between two poses."""
    return math.dist(before.position_m, after.position_m)


def raises_planner_error(call: Callable[[], object], what: str) -> None:
    """Expects a call to fail with a PlannerError, and with no other exception."""
    try:
        call()
    except PlannerError:
        return
    except Exception as error:
        raise ConformanceError(f"{what} raised {error!r}, not a PlannerError") from error
    raise ConformanceError(f"{what} raised nothing; a PlannerError is due")


def check_invariants(state: WorldState) -> None:
    """Checks invariants: each thing is in one place, and hands agree with what they hold.

    Raises:
        ConformanceError: naming the entity.
    """
    entities = state.entities
    ids = [e.instance_id for e in entities.values() if e.instance_id != 0]
    expect(len(ids) == len(set(ids)), "two entities share an instance id")
    for name, entity in entities.items():
        expect(entity.name == name, f"{name} is called {entity.name} in its own record")
        numbers = (*entity.pose.position_m, *entity.pose.orientation, *entity.size_m)
        expect(all(map(math.isfinite, numbers)), f"{name} has a pose or size that is not finite")
        held = entity.relation is Relation.HELD
        if entity.kind is EntityKind.OBJECT:
            expect(entity.parent is not None, f"{name} is nowhere")
            expect(entity.relation is not None, f"{name} has a parent without a relation")
            known = entity.parent in entities or str(entity.parent).startswith("floor_")
            expect(known, f"{name} is at {entity.parent}, which does not exist")
        if held:
            holder = entities.get(entity.parent or "")
            expect(
                holder is not None and holder.hands.count(name) == 1,
                f"{name} is held by {entity.parent}, of whose hands not one holds it",
            )
        for what in held_things(entity.hands):
            thing = entities.get(what)
            expect(
                thing is not None and thing.parent == name and thing.relation is Relation.HELD,
                f"{name} holds {what}, which is elsewhere",
            )
