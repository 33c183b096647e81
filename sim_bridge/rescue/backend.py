"""Search and rescue behind the bridge's `Backend` protocol."""

from __future__ import annotations

import math

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.hands import held_things
from planner.world.house import House
from planner.world.observation import Sighting
from planner.world.primitive import Primitive
from sim_bridge.pictureless import PicturelessBackend
from sim_bridge.rescue.checklist import Checklist
from sim_bridge.rescue.options import RescueOptions, default_rescue_options
from sim_bridge.rescue.routines import ABLE, Act, routine
from sim_bridge.rescue.scenes import load_scene
from sim_bridge.rescue.turns import Mover, Turns
from sim_bridge.stepped import Routine


class RescueBackend(PicturelessBackend[Turns]):
    """A grid with fires and lost persons; see `sim_bridge.backend.Backend`. It has no pictures."""

    world_words = "a grid"
    able = ABLE

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
