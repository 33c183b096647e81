"""Search and rescue as a backend: primitives in joint steps over time (LLAMAR-A21, -A22)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from papers.llamar.rescue.acting import Checklist, free_cell_near, joint_step
from papers.llamar.rescue.scenes import Cell, Scene, Supply, load_scene
from papers.llamar.rescue.snapshot import CELL_M, EntityNames, Mover, Snapshots, cell_at, middle_m
from papers.llamar.rescue.world import Action, ActionResult, Failure, RescueWorld, Verb
from planner.world.agents import default_bodies
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.observation import Sighting
from planner.world.primitive import (
    CHANGED,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    changes_text,
)
from planner.world.share import config_dir
from planner.world.state import WorldState
from planner.world.vocabulary import held_things
from sim_bridge.stepped import PicturelessBackend, Routine

# The settings of the backend `rescue` (config/rescue.yaml).

Seconds = Annotated[float, Field(gt=0, le=600)]


class RescueOptions(FileModel):
    """All settings of the backend.

    Attributes:
        gather_s: how long a joint step waits for further agents.
        turn_s: how long a joint step lasts; bodies cross the whole grid in that time.
        look_s: how long a look takes, which is not a joint step.
        default_timeout_s: of a primitive that names none.
        scene: a file of a scene; None = the shipped one with the house's name.
    """

    version: Literal[1] = 1
    gather_s: Seconds = 0.2
    turn_s: Annotated[float, Field(ge=7, le=600)] = 8.0
    look_s: Seconds = 0.4
    default_timeout_s: Seconds = 120.0
    scene: Path | None = None


@lru_cache(maxsize=1)
def default_rescue_options() -> RescueOptions:
    """The shipped settings."""
    return read_model(config_dir() / "rescue.yaml", RescueOptions)


# Joint steps over time: agents whose primitives start together act in the same step (LLAMAR-A21).
#
# A step is made as soon as the agents had `gather_s` to join it, and lasts `turn_s`, in which
# bodies move to their new cells. What starts meanwhile waits for the next step; who does nothing
# idles.

_EPSILON_S = 1e-9


@dataclass(slots=True)
class Proposal:
    """An action that waits for its joint step, then lasts until that ends.

    Attributes:
        action: of the agent.
        result: None until the step was made.
        began_s, ends_s: of the step, on the world's clock.
        start_m: where the body stood.
        changed: what became of what the action was about, as `planner.world.primitive` has it.
    """

    action: Action
    result: ActionResult | None = None
    began_s: float = math.inf
    ends_s: float = math.inf
    start_m: tuple[float, float] = (0.0, 0.0)
    changed: str = ""


class Turns:
    """One episode: the scene, its clock and the agents' bodies.

    Attributes:
        world: the scene.
        checklist: what of the scene's task is done.
        agents: bodies by name.
        names: the entities.
        time_s, steps: the clock, advanced by its owner.
    """

    def __init__(
        self, scene: Scene, house: House, episode: Episode, seed: int, options: RescueOptions
    ) -> None:
        """Builds the initial state.

        Raises:
            PlannerError: if house and scene differ, or an agent has no free start.
        """
        placed = {item.name for item in house.objects}
        lost = next((o.name for o in episode.objects if o.name not in placed), None)
        if lost is not None:
            reason = f"{house.name} has no such person, and a rescue scene no other things"
            raise FileError(episode.title, f"objects.{lost}", reason)
        uids = [placement.uid for placement in episode.agents]
        self.world = RescueWorld(scene, uids, seed)
        self.names = EntityNames(self.world, house)
        self._options = options
        self.agents: dict[str, Mover] = {}
        for index, placement in enumerate(episode.agents):
            agent = self.world.agents[placement.uid]
            yaw_rad = 0.0
            if placement.start is not None:
                x_m, y_m, yaw_rad = placement.start
                cell = cell_at(x_m, y_m)
                if cell is None or not self.world.is_free(cell, agent):
                    reason = f"({x_m}, {y_m}) is in no free cell of the grid"
                    raise FileError(episode.title, f"agents.{index}.start", reason)
                agent.cell = cell
            x_m, y_m, _ = middle_m(agent.cell)
            body = default_bodies()[placement.kind]
            self.agents[agent.name] = Mover(agent.name, body, x_m, y_m, yaw_rad)
        self.world.look_at_start()
        self.checklist = Checklist.of(self.world)
        self.time_s, self.steps = 0.0, 0
        self._waiting: dict[str, Proposal] = {}
        self._made: dict[str, Proposal] = {}
        self._due_s = self._free_s = 0.0
        self._snapshots = Snapshots(self.world, self.names, house, episode)

    def snapshot(self) -> WorldState:
        """The true state now."""
        return self._snapshots.at(self.time_s, self.steps, self.agents)

    def propose(self, agent: str, action: Action) -> Proposal:
        """Joins the next joint step."""
        if not self._waiting:
            self._due_s = max(self.time_s, self._free_s) + self._options.gather_s
        proposal = self._waiting[agent] = Proposal(action)
        return proposal

    def withdraw(self, agent: str) -> None:
        """Ends an agent's action early: it does not join, or stops in the cell that it is in."""
        self._waiting.pop(agent, None)
        proposal = self._made.pop(agent, None)
        if proposal is None or self.time_s >= proposal.ends_s:
            return
        mover, who = self.agents[agent], self.world.agents[agent]
        cell = cell_at(mover.x_m, mover.y_m)
        free = None if cell is None else free_cell_near(self.world, who, cell)
        if free is not None and (mover.x_m, mover.y_m) != middle_m(who.cell)[:2]:
            who.cell = free
        self._stand(agent, who.cell)

    def advance(self) -> None:
        """Moves the bodies to where they are now, and makes the joint step that is due."""
        for name, proposal in list(self._made.items()):
            self._move(name, proposal)
            if self.time_s >= proposal.ends_s - _EPSILON_S:
                del self._made[name]
        if self._waiting and self.time_s >= max(self._due_s, self._free_s) - _EPSILON_S:
            self._make_step()

    def turn(self, agent: str, yaw_rad: float) -> None:
        """Turns a body that stands."""
        self.agents[agent].yaw_rad = yaw_rad
        self._snapshots.moved()

    def shown_to_all(self) -> Iterator[str]:
        """The scene's names of what every agent sees, wherever it is."""
        world = self.world
        yield from (*world.fires, *world.regions, *world.reservoirs, *world.deposits)
        yield from (name for name, person in world.persons.items() if person.spotted)

    def target_at(self, point_m: Vec3, within_m: float, verb: Verb) -> str | None:
        """The scene's name of what a point means: the nearest that the action can be about."""
        world, entities = self.world, self.snapshot().entities
        groups: dict[Verb, tuple[Collection[str], ...]] = {
            Verb.GET_SUPPLY: (world.reservoirs, world.deposits),
            Verb.STORE_SUPPLY: (world.deposits,),
            Verb.DROP_OFF: (world.deposits,),
            Verb.USE_SUPPLY: (world.fires, world.regions),
            Verb.CARRY: (world.persons,),
        }
        asked = groups.get(verb)
        found = [
            (math.dist(entities[self.names.entity(name)].box.center_m, point_m), name)
            for name in self.shown_to_all()
            if asked is None or any(name in group for group in asked)
        ]
        away_m, name = min(found, default=(math.inf, ""))
        return name if away_m <= within_m else None

    def _make_step(self) -> None:
        idle = Action(Verb.IDLE)
        asked = [self._waiting.get(name) for name in self.agents]
        before = self.snapshot().entities
        step = joint_step(self.world, [each.action if each is not None else idle for each in asked])
        self.checklist.note(step)
        self._free_s = self.time_s + self._options.turn_s
        self._snapshots.stepped()
        after = self.snapshot().entities
        for name, proposal, result in zip(self.agents, asked, step.results, strict=True):
            if proposal is None:
                continue
            mover = self.agents[name]
            proposal.result = result
            proposal.began_s, proposal.ends_s = self.time_s, self._free_s
            proposal.start_m = (mover.x_m, mover.y_m)
            if result.succeeded:
                proposal.changed = changes_text(before, after, self._concerned(result.action))
            self._made[name] = proposal
        self._waiting.clear()

    def _concerned(self, action: Action) -> list[str]:
        """The entities that an action may change: of a fire all regions, or a person."""
        world = self.world
        match action.verb:
            case Verb.USE_SUPPLY:
                region = world.regions.get(action.target)
                fire = region[0] if region is not None else world.fires[action.target]
                names = [fire.name, *(n for n, (of, _) in world.regions.items() if of is fire)]
            case Verb.CARRY:
                names = [action.target]
            case Verb.DROP_OFF:
                names = [action.person]
            case _:
                names = []
        return [self.names.entity(name) for name in names]

    def _move(self, agent: str, proposal: Proposal) -> None:
        mover = self.agents[agent]
        x_m, y_m, _ = middle_m(self.world.agents[agent].cell)
        (from_x_m, from_y_m), end_m = proposal.start_m, (x_m, y_m)
        if proposal.start_m == end_m:
            return
        length_s = proposal.ends_s - proposal.began_s
        share = min(1.0, (self.time_s - proposal.began_s) / length_s)
        mover.x_m = from_x_m + (x_m - from_x_m) * share
        mover.y_m = from_y_m + (y_m - from_y_m) * share
        mover.yaw_rad = math.atan2(y_m - from_y_m, x_m - from_x_m)
        self._snapshots.moved()

    def _stand(self, agent: str, cell: Cell) -> None:
        mover = self.agents[agent]
        mover.x_m, mover.y_m, _ = middle_m(cell)
        self._snapshots.moved()


# The primitives of rescuers as actions of joint steps (LLAMAR-A22).

_CODES = {
    Failure.BLOCKED: PrimitiveCode.BLOCKED,
    Failure.NOT_VISIBLE: PrimitiveCode.NO_LINE_OF_SIGHT,
    Failure.NO_FREE_CELL: PrimitiveCode.UNREACHABLE,
    Failure.NOT_INTERACTABLE: PrimitiveCode.NEED_UNMET,
    Failure.FULL: PrimitiveCode.NEED_UNMET,
    Failure.EMPTY: PrimitiveCode.NEED_UNMET,
    Failure.NO_SUPPLY: PrimitiveCode.NEED_UNMET,
    Failure.WRONG_TYPE: PrimitiveCode.NEED_UNMET,
    Failure.NOT_ALL_DROPPED: PrimitiveCode.NEED_UNMET,
    Failure.RESTRICTED_ACTION: PrimitiveCode.NEED_UNMET,
}
_REASONS = {
    Failure.BLOCKED: "the way is blocked",
    Failure.NOT_VISIBLE: "nobody has seen it",
    Failure.NO_FREE_CELL: "there is no free place near it",
    Failure.NOT_INTERACTABLE: "it does not allow that now",
    Failure.FULL: "the agent has no free slot",
    Failure.EMPTY: "the deposit has none of that",
    Failure.NO_SUPPLY: "the agent has none of that",
    Failure.WRONG_TYPE: "this supply does not fit",
    Failure.NOT_ALL_DROPPED: "not all who carry the person have dropped off",
    Failure.RESTRICTED_ACTION: "not while the agent holds a person",
}
_SUPPLIES: Mapping[str, tuple[Verb, Supply]] = {
    PrimitiveName.TAKE_SAND: (Verb.GET_SUPPLY, Supply.SAND),
    PrimitiveName.TAKE_WATER: (Verb.GET_SUPPLY, Supply.WATER),
    PrimitiveName.USE_SAND: (Verb.USE_SUPPLY, Supply.SAND),
    PrimitiveName.USE_WATER: (Verb.USE_SUPPLY, Supply.WATER),
}
_ON_TARGETS: Mapping[str, Verb] = {
    PrimitiveName.APPROACH: Verb.NAVIGATE_TO,
    PrimitiveName.STORE_SUPPLIES: Verb.STORE_SUPPLY,
    PrimitiveName.CARRY: Verb.CARRY,
    PrimitiveName.DROP_OFF: Verb.DROP_OFF,
}
_ALONE: Mapping[str, Verb] = {
    PrimitiveName.SCOUT: Verb.EXPLORE,
    PrimitiveName.DISCARD_SUPPLIES: Verb.CLEAR_INVENTORY,
}
ABLE = frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK, *_SUPPLIES, *_ON_TARGETS, *_ALONE})
# Of a target point from the middle of what it means, unless the primitive says.
_TOLERANCE_M = CELL_M


@dataclass(frozen=True, slots=True)
class Act:
    """A primitive that an agent carries out; its target is in `map`."""

    turns: Turns
    mover: Mover
    primitive: Primitive
    target_m: Vec3
    heading_rad: float
    options: RescueOptions


def routine(act: Act) -> Routine:
    """The routine of a primitive that its body supports."""
    if act.primitive.name == PrimitiveName.LOOK:
        return _look(act)
    return _join(act)


def _look(act: Act) -> Routine:
    passed_s = 0.0
    while passed_s < act.options.look_s - 1e-9:
        passed_s += yield "looking", passed_s / act.options.look_s, 0.0
    if not act.primitive.views_rad:
        _face(act, act.target_m)
    return PrimitiveResult(PrimitiveCode.SUCCESS, "looked")


def _face(act: Act, point_m: Vec3) -> None:
    dx, dy = point_m[0] - act.mover.x_m, point_m[1] - act.mover.y_m
    if math.hypot(dx, dy) > 1e-6:
        act.turns.turn(act.mover.name, math.atan2(dy, dx))


def _join(act: Act) -> Routine:
    action = _action(act)
    if isinstance(action, PrimitiveResult):
        yield "looking for the target", 0.0, 0.0
        return action
    turns, name = act.turns, act.mover.name
    proposal = turns.propose(name, action)
    while proposal.result is None:
        yield "waiting for the team", 0.0, 0.0
    whole_s = proposal.ends_s - proposal.began_s
    while (left_s := proposal.ends_s - turns.time_s) > 1e-9:
        yield str(action.verb), 1.0 - left_s / whole_s, 0.0
    if action.verb is Verb.NAVIGATE_TO and not math.isnan(act.heading_rad):
        turns.turn(name, act.heading_rad)
    elif action.verb is not Verb.EXPLORE:
        _face(act, act.target_m)
    return _ended(turns, name, proposal)


def _action(act: Act) -> Action | PrimitiveResult:
    """The action that a primitive asks for, or the result that refuses it."""
    name, world = act.primitive.name, act.turns.world
    if name in _ALONE:
        return Action(_ALONE[name])
    if name == PrimitiveName.NAVIGATE:
        cell = cell_at(act.target_m[0], act.target_m[1])
        if cell is None:
            return PrimitiveResult(PrimitiveCode.UNREACHABLE, "the target is not on the grid")
        return Action(Verb.NAVIGATE_TO, cell=cell)
    within_m = act.primitive.tolerance_m or _TOLERANCE_M
    supply = _SUPPLIES.get(name)
    verb = supply[0] if supply is not None else _ON_TARGETS[name]
    target = act.turns.target_at(act.target_m, within_m, verb)
    if target is None:
        return PrimitiveResult(PrimitiveCode.NOTHING_THERE, f"nothing to {name} is there")
    person = world.agents[act.mover.name].carried if verb is Verb.DROP_OFF else ""
    if verb is Verb.DROP_OFF and not person:
        return PrimitiveResult(PrimitiveCode.NEED_UNMET, "the agent holds nobody")
    return Action(verb, target, supply=supply[1] if supply is not None else None, person=person)


def _ended(turns: Turns, agent: str, proposal: Proposal) -> PrimitiveResult:
    who, result = turns.world.agents[agent], proposal.result
    if result is None:
        raise RuntimeError("a joint step has ended that was never made")
    evidence = {"action": str(result.action)}
    if proposal.changed:
        evidence[CHANGED] = proposal.changed
    evidence |= {str(supply).lower(): str(count) for supply, count in who.supplies.items()}
    evidence["person"] = turns.names.entity(who.carried) if who.carried else ""
    where_m = middle_m(who.cell)
    if result.failure is None:
        return PrimitiveResult(PrimitiveCode.SUCCESS, f"{result.action}", evidence, where_m)
    evidence["failure"] = str(result.failure)
    code, reason = _CODES[result.failure], _REASONS[result.failure]
    target = result.action.target
    if result.failure is Failure.NOT_INTERACTABLE and not turns.world.is_near(who, target):
        code, reason = PrimitiveCode.TOO_FAR, "it is too far away"
    return PrimitiveResult(code, reason, evidence)


class RescueBackend(PicturelessBackend[Turns]):
    """A grid with fires and lost persons; see `sim_bridge.backend.Backend`. It has no pictures."""

    world_words = "a grid"
    able = ABLE
    # LLAMAR-A2.
    sees_far = True

    def __init__(self, options: RescueOptions | None = None) -> None:
        """Uses the shipped settings by default."""
        self._options = options or default_rescue_options()
        super().__init__(self._options.default_timeout_s)

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads the scene with the house's name; a failed load changes nothing."""
        scene = load_scene(str(self._options.scene or house.name))
        self._load(Turns(scene, house, episode, seed, self._options))

    @property
    def checklist(self) -> Checklist:
        """What of the scene's task is done.

        Raises:
            PlannerError: before the first episode.
        """
        return self._loaded().checklist

    # Sensing

    def _is_holding(self, agent: str) -> bool:
        return bool(held_things(self._loaded().snapshot().entities[agent].hands))

    def sightings_now(self, agent: str) -> list[Sighting]:
        """Fires, reservoirs and deposits, persons whom anyone has spotted, agents nearby."""
        turns = self._loaded()
        who = turns.world.agents[self._agent(agent).name]
        state = turns.snapshot().entities
        found = []
        for name in (*turns.shown_to_all(), *turns.world.agents):
            if name in turns.world.agents and not turns.world.is_visible(who, name):
                continue
            entity = state[turns.names.entity(name)]
            here = state[agent].pose.position_m
            away_m = math.dist(here[:2], entity.pose.position_m[:2])
            found.append(Sighting(entity.name, 1.0, away_m, (0.0, 0.0), entity.box.center_m))
        return found

    # Acting

    def _pass(self, last_s: float, dt_s: float) -> None:
        super()._pass(last_s, dt_s)
        self._loaded().advance()

    def _on_ended(self, agent: str, *, early: bool) -> None:
        if early:
            self._loaded().withdraw(agent)

    def _routine(self, agent: str, primitive: Primitive) -> Routine:
        who = self._agent(agent)
        target_m, _, heading_rad = self._in_map(who, primitive)
        return routine(Act(self._loaded(), who, primitive, target_m, heading_rad, self._options))

    def _agent(self, name: str) -> Mover:
        agents = self._loaded().agents
        if name not in agents:
            raise PlannerError(f"there is no agent {name!r}; there are {', '.join(agents)}")
        return agents[name]
