"""Joint steps over time: agents whose primitives start together act in the same step (LLAMAR-A21).

A step is made as soon as the agents had `gather_s` to join it, and lasts `turn_s`, in which bodies
move to their new cells. What starts meanwhile waits for the next step; who does nothing idles.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from planner.world.agents import Body, default_bodies
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.reported import changes_text
from planner.world.state import WorldState
from sim_bridge.rescue.acting import free_cell_near
from sim_bridge.rescue.actions import Action, ActionResult, Verb
from sim_bridge.rescue.checklist import Checklist
from sim_bridge.rescue.grid import Cell
from sim_bridge.rescue.names import EntityNames, cell_at, middle_m
from sim_bridge.rescue.options import RescueOptions
from sim_bridge.rescue.scenes import Scene
from sim_bridge.rescue.snapshot import Snapshots
from sim_bridge.rescue.world import RescueWorld

_EPSILON_S = 1e-9


@dataclass(slots=True)
class Mover:
    """An agent's body in `map`, between two cells while a step lasts."""

    name: str
    body: Body
    x_m: float
    y_m: float
    yaw_rad: float = 0.0


@dataclass(slots=True)
class Proposal:
    """An action that waits for its joint step, then lasts until that ends.

    Attributes:
        action: of the agent.
        result: None until the step was made.
        began_s, ends_s: of the step, on the world's clock.
        start_m: where the body stood.
        changed: what became of what the action was about, as `planner.world.reported` has it.
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
        step = self.world.step([each.action if each is not None else idle for each in asked])
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
