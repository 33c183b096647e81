"""The execution of one skill call over a port: its options, primitives, deadline and evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from planner.parts.calls import SkillRecord
from planner.skills.ground import CLOSE_M, Ground, Stand, gap_m
from planner.skills.results import RefusalError, Team
from planner.world.agents import CameraMount, default_bodies
from planner.world.belief import UNNAMED_CLASS, Belief, BeliefNode, Source
from planner.world.geometry import Pose, Vec3
from planner.world.house import Furniture, House
from planner.world.observation import Observation, RgbImage
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import (
    AgentKind,
    EntityKind,
    Hand,
    Hands,
    Relation,
    free_hand,
    hand_holding,
    held_things,
    held_words,
)

if TYPE_CHECKING:
    from planner.memory.features import ViewEncoder
    from planner.skills.find_model import FindModel
    from planner.world.floor_map import FloorMap


# Options of the skills: gates, retries, times (docs/skills.md lists them).


@dataclass(frozen=True, slots=True)
class SkillOptions:
    """Parameters of the skills.

    Attributes:
        grounding_gate_m: maximum distance of an object's surface from the remembered position
            (1 m in EPM-2.6).
        adjust_m: how far an agent at a piece of furniture may walk to bring a part of it within
            reach or into view; 0 = not at all (PARTNR-D44).
        pick_retries, place_retries: further attempts after a failed grasp or release.
        wait_s: duration of `Wait[]`.
        open_on_explore: whether exploring opens what is closed.
        lenient_open: whether opening what cannot be opened succeeds (PARTNR-D47).
        rearrange_opens: whether Rearrange opens closed furniture if needed.
        explore_rounds, explore_steps: of ExploreByView: rounds, and steps at the end of each.
        timeouts_s: by skill, overriding those of the records; on the world's clock.
    """

    grounding_gate_m: float = 1.0
    adjust_m: float = 2.0
    pick_retries: int = 2
    place_retries: int = 2
    wait_s: float = 5.0
    open_on_explore: bool = False
    lenient_open: bool = False
    rearrange_opens: bool = True
    explore_rounds: int = 3
    explore_steps: int = 2
    timeouts_s: Mapping[str, float] = field(default_factory=dict)


# The class of the object perceived at a place, so that operators approve what is really there.
#
# The words of a call may come from a planner that is wrong, and its point may be on something else.

# Tolerance for a point that is meant to be inside an object but lies outside.
MARGIN_M = 0.05
# If two distances differ by less, it is ambiguous which object is meant.
AS_NEAR_M = 0.03


def class_at(belief: Belief, point_m: Vec3) -> str:
    """The class of the object that was seen at a point of the map.

    Empty if none was seen there, if it has no class yet, or if objects of different classes are
    equally near. Objects known from a person or inferred from a skill were not seen.
    """
    there = [node for node in belief.of_kind(EntityKind.OBJECT) if _is_at(node, point_m)]
    if not there:
        return ""
    nearest_m = min(math.dist(node.position_m, point_m) for node in there)
    meant = {
        _seen_class(node)
        for node in there
        if math.dist(node.position_m, point_m) <= nearest_m + AS_NEAR_M
    }
    return meant.pop() if len(meant) == 1 else ""


def _is_at(node: BeliefNode, point_m: Vec3) -> bool:
    reach_m = max(node.size_m) / 2 + MARGIN_M
    return node.relation is not Relation.HELD and math.dist(node.position_m, point_m) <= reach_m


def _seen_class(node: BeliefNode) -> str:
    if node.source is not Source.SEEN or node.class_name == UNNAMED_CLASS:
        return ""
    return node.class_name


# The interface between skills and what executes primitives: a backend here, or the bridge.


class PrimitivePort(Protocol):
    """One agent's body. No method blocks; time passes between the calls."""

    @property
    def agent(self) -> str:
        """The agent's name."""

    def capabilities(self) -> Capabilities:
        """The capabilities of the body."""

    def base(self) -> Pose | None:
        """`base_link` in `map` as localised; None while unknown."""

    def observe(self, cameras: Sequence[str] = ("hand",)) -> Observation | None:
        """What the body senses, with a picture of each camera; None while that is unknown.

        Over ROS it is the newest that has come: the first call subscribes, so that it has none.

        Raises:
            PlannerError: for a camera that the body lacks, or where there are no pictures.
        """

    def holding(self) -> bool | None:
        """Whether the body felt something in its hand when its newest primitive had ended.

        None = unknown.
        """

    def start(self, primitive: Primitive) -> int:
        """Starts a primitive; a refusal appears as its polled result."""

    def poll(self, handle: int) -> PrimitiveStatus:
        """The status of a primitive."""

    def cancel(self, handle: int) -> None:
        """Cancels a primitive and stops the agent."""

    def now_s(self) -> float:
        """Seconds on the world's clock."""


# Yields (phase, progress) while time must pass.
Routine = Generator[tuple[str, float], None, SkillResult]
Motion = Generator[tuple[str, float], None, PrimitiveResult]
Report = Callable[[SkillCall, SkillResult], None]

# Extra time before a primitive that ignores its own timeout is ended.
_GRACE_S = 2.0
# Bridges refuse longer ones (`longest_primitive_s`); calls of many primitives may take longer.
_LONGEST_S = 600.0
# What a body with one hand says of it by refusing.
_ONE_HAND = {PrimitiveCode.HAND_FULL: True, PrimitiveCode.HAND_EMPTY: False}
_OUT_OF_HAND = (PrimitiveCode.TOO_FAR, PrimitiveCode.NO_LINE_OF_SIGHT)


class CanceledError(Exception):
    """The call was canceled and its agent has stopped."""


class TookTooLongError(Exception):
    """The call timed out and its agent has stopped."""


@dataclass(frozen=True, slots=True)
class Eye:
    """What exploring looks with.

    Attributes:
        encoder: of pictures and words.
        picture: the newest picture of an agent's hand camera; None if there is none.
    """

    encoder: ViewEncoder
    picture: Callable[[str], RgbImage | None]


# The newest map that the robots have built; None before the first picture.
FloorSource: TypeAlias = "Callable[[], FloorMap | None]"


class Mover(Protocol):
    """Carries out primitives for the skills of one agent."""

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """Carries out one primitive, or does in its place what this kind does.

        Raises:
            CanceledError: if the call was canceled.
            TookTooLongError: if the call timed out.
        """


@dataclass(frozen=True, slots=True)
class Scene:
    """What all calls of one agent share."""

    layout: House
    ground: Ground
    port: PrimitivePort
    capabilities: Capabilities
    belief: Callable[[], Belief]
    options: SkillOptions
    team: Team
    report: Report
    find_model: FindModel | None = None
    eye: Eye | None = None
    floor: FloorSource | None = None
    mover: Mover | None = None
    speak: Callable[[str], None] = lambda _text: None

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.port.agent


@dataclass(slots=True)
class Attempt:
    """A running call.

    Attributes:
        part: the record of the call's skill.
        deadline_s: on the world's clock.
        points: the caller's positions of the call's entities, in their order (map frame); None =
            those of the memory.
        window: the current step's range of the whole call's progress.
        wakes_s: the world time being waited for; 0 = none.
        ended_s: end of the newest primitive, which may be ahead of a node's clock.
        reaches_for: the thing that it picks.
    """

    scene: Scene
    call: SkillCall
    part: SkillRecord
    started_s: float
    deadline_s: float
    points: tuple[Vec3, ...] | None = None
    canceled: bool = False
    handle: int | None = None
    primitives: int = 0
    evidence: dict[str, str] = field(default_factory=dict)
    window: tuple[float, float] = (0.0, 1.0)
    wakes_s: float = 0.0
    ended_s: float = 0.0
    reaches_for: str = ""

    # Reading

    @property
    def belief(self) -> Belief:
        """The current belief, including this team's newest effects."""
        return self.scene.team.on_top(self.scene.belief())

    @property
    def base(self) -> Vec3 | None:
        """The agent's position."""
        pose = self.scene.port.base()
        return pose.position_m if pose is not None else None

    @property
    def hands(self) -> Hands:
        """What each hand of the agent holds."""
        scene = self.scene
        return scene.team.hands(scene.agent, self.belief, scene.capabilities.hands)

    @property
    def held(self) -> tuple[str, ...]:
        """What the agent holds."""
        return held_things(self.hands)

    def hand_for(self, thing: str) -> Hand | None:
        """The hand that holds a thing, else one to take it with; None leaves it to the body.

        A body with one hand is not told which.
        """
        if self.scene.capabilities.hands == 1:
            return None
        return hand_holding(self.hands, thing) or free_hand(self.hands)

    def already_holding(self) -> str:
        """The sentence for hands that are all full."""
        return f"The agent is already holding {held_words(self.hands) or 'an object'}."

    @property
    def camera(self) -> CameraMount:
        """The hand camera; an unknown body counts as the robot's."""
        bodies = default_bodies()
        known = {kind.value: kind for kind in AgentKind}
        kind = known.get(self.scene.capabilities.kind, AgentKind.ROBOT)
        return bodies[kind].cameras["hand"]

    def within_reach(self, point_m: Vec3, margin_m: float = 0.0) -> bool:
        """Whether a point is within reach from where the agent stands."""
        base = self.base
        reach = self.scene.capabilities.reach_m - margin_m
        return base is not None and math.dist(base[:2], point_m[:2]) <= reach

    # Acting

    def do(self, primitive: Primitive, phase: str) -> Motion:
        """Executes one primitive, in the way of the scene's kind of skills.

        Raises:
            CanceledError: if the call was canceled.
            TookTooLongError: if the call timed out.
        """
        mover = self.scene.mover
        if mover is None:
            return (yield from self.carry_out(primitive, phase))
        return (yield from mover.carry_out(self, primitive, phase))

    def carry_out(self, primitive: Primitive, phase: str) -> Motion:
        """Executes one primitive of the world itself.

        Raises:
            CanceledError: if the call was canceled.
            TookTooLongError: if the call timed out.
        """
        port = self.scene.port
        self.end_if_canceled()
        left_s = self.deadline_s - port.now_s()
        if left_s <= 0:
            raise TookTooLongError
        if primitive.name is PrimitiveName.PICK:
            # Read it now: the belief may have changed during the walk.
            seen = class_at(self.belief, primitive.target_m)
            primitive = replace(primitive, thing_class=seen)
        was_full = port.holding()
        self.handle = port.start(replace(primitive, timeout_s=min(left_s, _LONGEST_S)))
        self.primitives += 1
        while (status := port.poll(self.handle)).result is None:
            if port.now_s() > self.deadline_s + _GRACE_S:
                port.cancel(self.handle)
            yield phase, self.share(status.progress)
        self.handle = None
        result = status.result
        self._feel(primitive, result, was_full=was_full)
        views = primitive.views_rad
        self.scene.team.pointed(port.agent, views[-1][1] if views and result.succeeded else None)
        self.ended_s = result.ended_s or 0.0
        if not result.succeeded:
            self.end_if_canceled()
        if result.code is PrimitiveCode.TIMED_OUT or port.now_s() > self.deadline_s + _GRACE_S:
            raise TookTooLongError
        return result

    def _feel(self, done: Primitive, result: PrimitiveResult, *, was_full: bool | None) -> None:
        """Learns from the body what the agent holds: results and beliefs may be wrong.

        Args:
            done: the primitive that ended.
            result: how.
            was_full: whether something was felt in the hand before; None = unknown.
        """
        scene, able = self.scene, self.scene.capabilities
        if PrimitiveName.PICK not in able.primitives:
            return
        holds = _ONE_HAND.get(result.code) if able.hands == 1 else None
        if holds is None:
            holds = scene.port.holding()
        if holds is None:
            return
        reaching = done.name is PrimitiveName.PICK
        grasped = result.code is not PrimitiveCode.HAND_FULL and not was_full
        if reaching and self.reaches_for and grasped:
            scene.team.reaches(scene.agent, self.reaches_for, done.hand or Hand.RIGHT)
        now_s = scene.port.now_s()
        scene.team.feels(scene.agent, self.hands, now_s, holds=holds, reaching=reaching)

    @property
    def is_waiting(self) -> bool:
        """Whether a primitive is running, in time and not canceled."""
        if self.handle is None or self.canceled:
            return False
        port = self.scene.port
        in_time = port.now_s() <= self.deadline_s + _GRACE_S
        return in_time and port.poll(self.handle).result is None

    def end_if_canceled(self) -> None:
        """Ends the routine of a canceled call.

        Raises:
            CanceledError: if the call was canceled.
        """
        if self.canceled:
            raise CanceledError

    def end_if_out_of_time(self) -> None:
        """Ends a routine whose call was canceled, or has taken too long.

        Raises:
            CanceledError: in the first case.
            TookTooLongError: in the second.
        """
        self.end_if_canceled()
        if self.scene.port.now_s() > self.deadline_s:
            raise TookTooLongError

    def share(self, progress: float) -> float:
        """The progress of the whole call, given that of the current step."""
        low, high = self.window
        return low + (high - low) * min(1.0, max(0.0, progress))

    def walk(self, target_m: Vec3, phase: str, yaw_rad: float = math.nan) -> Motion:
        """Walks to a point, or to where it is within reach and in view."""
        primitive = Primitive(PrimitiveName.NAVIGATE, target_m, heading_rad=yaw_rad)
        return (yield from self.do(primitive, phase))

    def approach(self, point_m: Vec3, phase: str) -> Motion:
        """Brings a point within reach and into view, without walking onto things on the floor."""
        base = self.base
        if self.scene.ground.grid.is_free(point_m[0], point_m[1]):
            stand = self.scene.ground.beside(point_m, base)
            if stand is not None:
                return (yield from self.walk(stand.point_m, phase, stand.yaw_rad))
        return (yield from self.walk(point_m, phase))

    def handle_at(
        self, primitive: Primitive, phase: str, piece: Furniture | None, *, free: bool = False
    ) -> Motion:
        """Executes a primitive that needs its target in reach and view, moving closer if allowed.

        Args:
            primitive: to be executed.
            phase: as text.
            piece: the furniture that the target belongs to.
            free: whether any distance may be walked, as in Rearrange.
        """
        result = yield from self.do(primitive, phase)
        if result.code not in _OUT_OF_HAND or self.part.stands_still:
            return result
        if not free and not self._may_step(primitive.target_m, piece, result.code):
            return result
        walked = yield from self.approach(primitive.target_m, "stepping closer")
        if walked.succeeded:
            result = yield from self.do(primitive, phase)
        if result.code is not PrimitiveCode.NO_LINE_OF_SIGHT:
            return result
        for stand in self._other_stands(primitive.target_m, piece):
            walked = yield from self.walk(stand.point_m, "looking for a better view", stand.yaw_rad)
            if walked.succeeded:
                again = yield from self.do(primitive, phase)
                if again.code not in _OUT_OF_HAND:
                    return again
        return result

    def _other_stands(self, point_m: Vec3, piece: Furniture | None) -> list[Stand]:
        """Further places from which a point may be visible."""
        ground, reach = self.scene.ground, self.scene.capabilities.reach_m
        front = close = None
        if piece is not None:
            # A bin is looked into from directly in front of it.
            close = ground.to_look(piece, self.base, CLOSE_M)
            front = ground.at_furniture(piece, self.base, reach, before_m=point_m)
        back = ground.back_from(point_m, self.base, reach)
        return [stand for stand in (close, front, back) if stand is not None]

    def _may_step(self, point_m: Vec3, piece: Furniture | None, code: PrimitiveCode) -> bool:
        """Skills do not walk (PARTNR-D44), except for small moves at furniture."""
        base, max_m = self.base, self.scene.options.adjust_m
        if base is None or max_m <= 0:
            return False
        reach = self.scene.capabilities.reach_m
        if code is PrimitiveCode.NO_LINE_OF_SIGHT:
            return True
        if piece is None or gap_m(piece, base) > reach:
            return False
        return self.scene.ground.walk_m(base, point_m, reach) <= max_m

    # Ending

    def success(self, position_m: Vec3 | None = None, /, **evidence: str) -> SkillResult:
        """The paper's success text with the collected evidence, and the object's position."""
        result = SkillResult.success(**{**self.evidence, **evidence})
        return replace(result, position_m=position_m)

    def failure(self, code: SkillCode, sentence: str) -> SkillResult:
        """A failure with the collected evidence."""
        return SkillResult.failure(code, sentence, **self.evidence)

    def refused(self, refusal: RefusalError) -> SkillResult:
        """The failure for a refusal."""
        return self.failure(refusal.code, refusal.sentence)

    def base_pose(self) -> Pose | None:
        """The agent's position and heading."""
        return self.scene.port.base()

    def known_pose(self) -> Pose:
        """The agent's position and heading.

        Raises:
            RefusalError: if they are unknown.
        """
        pose = self.base_pose()
        if pose is None:
            raise RefusalError(SkillCode.BACKEND_FAULT, "The agent's own position is unknown.")
        return pose
