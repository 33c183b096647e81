"""The embedded simulator behind the bridge's `Backend` protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.observation import Sighting
from planner.world.process_resources import return_freed_memory
from sim_bridge.embedded.house_ground import HouseGround, Screens
from sim_bridge.embedded.kinematic import KinematicBackend
from sim_bridge.embedded.options import EmbeddedOptions, default_options
from sim_bridge.embedded.prediction import can_predict_stance, predicted_stance
from sim_bridge.embedded.renderer import Renderer, make_renderer
from sim_bridge.embedded.scene import Scene, crossed_instances, house_spec
from sim_bridge.embedded.sensing import Images, View
from sim_bridge.embedded.visibility import Limits, Visibility
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.geometry import Ray, wall_segments

# More than are shipped; each takes some megabytes.
_MAX_CACHED_HOUSES = 16


@dataclass(frozen=True, slots=True)
class _HouseData:
    """Data of a house that are kept between episodes."""

    house: House
    ground: HouseGround
    spec: mujoco.MjSpec
    screens: Screens


class EmbeddedBackend(KinematicBackend):
    """A house in MuJoCo's kinematic mode; see `sim_bridge.backend.Backend`."""

    def __init__(self, options: EmbeddedOptions | None = None) -> None:
        """Uses the shipped settings by default."""
        settings = options or default_options()
        super().__init__(settings)
        self._choice = settings.renderer
        self.draws_instances = settings.instances
        self._houses: list[_HouseData] = []
        self._scene: Scene | None = None
        self._visibility: Visibility | None = None
        # Of the world that both of them index.
        self._division = 0
        self._renderer: Renderer | None = None
        self._renderer_tried = False
        self._sightings: dict[str, tuple[tuple[float, ...], list[Sighting]]] = {}
        self._shown: dict[str, tuple[tuple[float, ...], Sequence[str], list[Sighting]]] = {}

    # Episodes

    def _new_world(self, house: House, episode: Episode, seed: int) -> KinematicWorld:
        ground = self._house_data(house).ground
        return KinematicWorld(ground, episode, seed, self._catalogue, self._options)

    def _on_loaded(self, house: House) -> None:
        known = self._house_data(house)
        self._spec, self._scene = known.spec, None
        self._screens, self._visibility = known.screens, None
        self._sightings.clear()
        self._shown.clear()
        if self._renderer is not None:
            self._renderer.forget()
        # Else a bridge grows for a dozen worlds, as each leaves holes too small for the next.
        return_freed_memory()

    def _house_data(self, house: House) -> _HouseData:
        for known in self._houses:
            if known.house is house:
                return known
        spec, screens = house_spec(house, self._catalogue), Screens(house, wall_segments(house))
        known = _HouseData(house, HouseGround(house), spec, screens)
        self._houses = [known, *self._houses[: _MAX_CACHED_HOUSES - 1]]
        return known

    def close(self) -> None:
        """Stops every agent and frees the renderer."""
        super().close()
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # Sensing

    def _crossed(self, rays: Sequence[Ray], far_m: float) -> list[list[int]]:
        scene = self._synced_scene()
        return [crossed_instances(scene, ray, far_m) for ray in rays]

    def _rays(self) -> Scene:
        return self._lazy_scene()

    def _drawer(self, cameras: Sequence[str]) -> Callable[[View], Images]:
        renderer = self._ready_renderer(cameras)
        return lambda view: renderer.render(self._synced_scene(), view)

    def sightings(
        self, agent: str, max_distance_m: float = 6.0, min_fraction: float = 0.0
    ) -> list[Sighting]:
        """What the agent's hand camera shows, determined by rays: for runs without images.

        Args:
            agent: the observer.
            max_distance_m: horizontal distance beyond which only other agents are reported.
            min_fraction: minimum share of the view; only what certainly has less is left out.
        """
        world, body = self._loaded(), self._agent(agent)
        # The result is unchanged while the agent and everything else stand still; an agent that
        # walks by is noticed at the next change.
        key = (*body.stance, world.scenery_revision, max_distance_m, min_fraction)
        known = self._sightings.get(agent)
        if known is None or known[0] != key:
            known = (key, self._current_visibility().sightings(body, max_distance_m, min_fraction))
            self._sightings[agent] = known
        return known[1]

    def sees_any(
        self, agent: str, names: Sequence[str], max_distance_m: float, min_fraction: float
    ) -> bool:
        """Whether `sightings` would report any of some entities with this share of the view."""
        found = self.sightings_among(agent, names, max_distance_m, min_fraction)
        return any(s.fraction >= min_fraction and s.name in names for s in found)

    def sightings_among(
        self, agent: str, names: Sequence[str], max_distance_m: float, min_fraction: float
    ) -> list[Sighting]:
        """The part of `sightings` about some entities and what they are on or in.

        Empty if none of the entities is in the picture.
        """
        world, body = self._loaded(), self._agent(agent)
        key = (*body.stance, world.scenery_revision, max_distance_m, min_fraction)
        known = self._shown.get(agent)
        # As in `sightings`, and for the same names.
        if known is None or known[1] is not names or known[0] != key:
            found = self._current_visibility().sightings_among(
                body, names, max_distance_m, min_fraction
            )
            known = self._shown[agent] = (key, names, found)
        return known[2]

    def looks_seeing_none(
        self,
        names: Sequence[str],
        seconds: Sequence[float],
        max_distance_m: float,
        min_fraction: float,
    ) -> int:
        """The number of future views, at these times, before one may show any of the names.

        That is, before `sees_any` may be true of any agent. All times, in seconds from now, must be
        before the last of the steps that may be taken as one.
        """
        world = self._loaded()
        if world.opening or world.walks:
            return 0
        agents = world.agents.values()
        for agent in agents:
            if not can_predict_stance(agent) or (
                any(thing.name in names for thing in world.carried_by(agent))
            ):
                return 0
        sight, limits = self._current_visibility(), Limits(max_distance_m, min_fraction)
        for count, after_s in enumerate(seconds):
            for agent in agents:
                if not sight.surely_sees_none(
                    agent, predicted_stance(agent, after_s), names, limits
                ):
                    return count
        return len(seconds)

    def _current_visibility(self) -> Visibility:
        if self._visibility is None or self._division != self._loaded().division:
            self._visibility = Visibility(self._loaded(), self._synced_scene(), self._screens)
        return self._visibility

    @property
    def renderer_name(self) -> str:
        """How images are rendered; creates the renderer if none was needed yet."""
        renderer = self._ready_renderer(("hand",))
        return renderer.name

    def _synced_scene(self) -> Scene:
        scene = self._lazy_scene()
        scene.sync()
        return scene

    def _lazy_scene(self) -> Scene:
        """The scene, which updates itself when rays are cast."""
        if self._scene is None or self._division != self._loaded().division:
            self._division = self._loaded().division
            self._visibility = None
            self._scene = Scene(self._loaded(), self._spec, self._catalogue)
        return self._scene

    def _ready_renderer(self, cameras: Sequence[str]) -> Renderer:
        if self._renderer is None and not self._renderer_tried:
            mounts = [
                mount
                for agent in self._loaded().agents.values()
                for mount in agent.body.cameras.values()
            ]
            width = max(mount.width_px for mount in mounts)
            height = max(mount.height_px for mount in mounts)
            self._renderer = make_renderer(self._choice, width, height)
            self._renderer_tried = True
        if self._renderer is None:
            raise PlannerError(f"cameras {', '.join(cameras)} need a renderer, which is off")
        return self._renderer
