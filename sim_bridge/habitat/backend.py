"""habitat-sim behind the bridge's `Backend` protocol."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from planner.world.agents import default_bodies
from planner.world.catalogue import Catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, writing
from planner.world.house import House, house_json
from planner.world.observation import CameraFrame, Sighting
from planner.world.person import refuse_people
from planner.world.primitive import Capabilities, Primitive, PrimitiveCode
from planner.world.states import default_state_skills
from sim_bridge.backend import Handle
from sim_bridge.embedded.kinematic import KinematicBackend
from sim_bridge.embedded.sensing import Images, View
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.geometry import Ray
from sim_bridge.habitat.dataset.configs import HabitatDataset
from sim_bridge.habitat.dataset.writer import export_habitat, read_dataset
from sim_bridge.habitat.footprints import NavMeshGround
from sim_bridge.habitat.options import HabitatOptions, default_options, read_models
from sim_bridge.habitat.process import (
    WORKER,
    HabitatError,
    HabitatGoneError,
    HabitatProcess,
    Timeouts,
    interpreter,
)
from sim_bridge.habitat.scene import HabitatScene, Sandbox, lenses_of, memory_bytes

# A cache of houses written for habitat-sim.


def write_house_dataset(house: House, cache: str, catalogue: Catalogue) -> HabitatDataset:
    """A house's dataset in the cache, written if it is not there.

    Identified by everything it was made from; an incomplete one is written again. Things are left
    out, as episodes bring their own.

    Raises:
        FileError: if it cannot be written.
    """
    layout = house.layout
    key = hashlib.sha256()
    key.update(house_json(layout).encode())
    key.update(_looks(catalogue).encode())
    folder = _cache(cache)
    directory = folder / f"{house.name}-{key.hexdigest()[:16]}"
    try:
        return read_dataset(directory, layout)
    except FileError:
        pass
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    try:
        export_habitat(layout, draft, catalogue)
        shutil.rmtree(directory, ignore_errors=True)
        try:
            draft.rename(directory)
        except OSError:
            # Another bridge has just written the same.
            shutil.rmtree(draft, ignore_errors=True)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return read_dataset(directory, layout)


def _cache(named: str) -> Path:
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(home) / "planner" / "habitat"


@lru_cache(maxsize=4)
def _looks(catalogue: Catalogue) -> str:
    """A digest of everything else that the files depend on: appearance and code."""
    models: Iterable[FileModel] = (
        *catalogue.rooms.values(),
        *catalogue.objects.values(),
        *default_bodies().values(),
    )
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for writer in (here / "footprints.py", *sorted((here / "dataset").glob("*.py"))):
        digest.update(writer.read_bytes())
    for model in models:
        digest.update(model.model_dump_json().encode())
    return digest.hexdigest()


_MAX_CACHED_HOUSES = 16


@dataclass(frozen=True, slots=True)
class _HouseData:
    """Data of a house that are kept between episodes."""

    house: House
    dataset: HabitatDataset
    ground: NavMeshGround


class HabitatBackend(KinematicBackend):
    """A house in habitat-sim, which renders, casts rays and plans paths.

    What agents can do and its effects are the rules of `KinematicWorld`, as in the embedded
    simulator. habitat-sim runs in a process of its own: if it dies, running primitives end as
    `BACKEND_FAULT`, `fault` says why, and the next `reset` starts another.
    """

    def __init__(
        self,
        options: HabitatOptions | None = None,
        *,
        worker: Path = WORKER,
    ) -> None:
        """Uses the shipped settings by default.

        Args:
            options: of the backend.
            worker: the program that runs habitat-sim.
        """
        settings = options or default_options()
        super().__init__(settings)
        self._settings, self._worker = settings, worker
        self._models = read_models(settings.models)
        self._houses: list[_HouseData] = []
        self._sandbox: Sandbox | None = None
        self._scene: HabitatScene | None = None
        # Of an episode that is being loaded.
        self._next_scene: HabitatScene | None = None
        self._sightings: dict[str, tuple[tuple[float, ...], list[Sighting]]] = {}
        self._fault = ""

    @property
    def fault(self) -> str:
        """Why habitat-sim is gone; empty while it runs, and before it is needed.

        One that has not answered lately is asked whether it is there.
        """
        return self._sandbox.process.confirm() if self._sandbox is not None else self._fault

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent's body can do; nothing becomes several things, as the scene is fixed."""
        body = self._agent(agent).body
        dividing = {skill.primitive for skill in default_state_skills().values() if skill.divides}
        able = frozenset(body.primitives) - dividing
        return body.capabilities(ground_truth=True, primitives=able, drives=True)

    # Episodes

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode, with a new habitat-sim if the last one has died."""
        try:
            super().reset(house, episode, seed)
        finally:
            self._next_scene = None

    def _new_world(self, house: House, episode: Episode, seed: int) -> KinematicWorld:
        refuse_people(episode.title, episode.people, "Habitat")
        if self._settings.dataset:
            # A wrong path is told before habitat-sim is started, which takes seconds.
            self._house_data(house)
        self._revive()
        known = self._house_data(house)
        world = KinematicWorld(known.ground, episode, seed, self._catalogue, self._options)
        # The previous world is restored if habitat-sim cannot load this one.
        self._next_scene = HabitatScene(
            world, self._alive, known.dataset, self._catalogue, self._models
        )
        return world

    def _on_loaded(self, _house: House) -> None:
        self._scene = self._next_scene
        self._sightings.clear()

    def _house_data(self, house: House) -> _HouseData:
        for known in self._houses:
            if known.house is house:
                return known
        if self._settings.dataset:
            folder = Path(self._settings.dataset)
            own = folder / house.name
            dataset = read_dataset(own if own.is_dir() else folder, house)
        else:
            dataset = write_house_dataset(house, self._settings.cache, self._catalogue)
        ground = NavMeshGround(house, dataset, self._alive, self._settings.navmesh)
        known = _HouseData(house, dataset, ground)
        self._houses = [known, *self._houses[: _MAX_CACHED_HOUSES - 1]]
        return known

    def drawn_from(self) -> str:
        """See `sim_bridge.geometry.DrawsModels`."""
        return self._synced_scene().drawn_from

    # habitat-sim

    def _revive(self) -> None:
        """Starts a habitat-sim unless one is alive.

        Raises:
            HabitatError: if none can be started.
        """
        if self._sandbox is not None:
            if not self._sandbox.process.fault:
                return
            self._sandbox.process.close()
            self._fault, self._sandbox = self._sandbox.process.fault, None
        options = self._settings
        lenses = lenses_of(default_bodies().values())
        try:
            process = HabitatProcess(
                interpreter(options.python),
                memory_bytes(lenses),
                Timeouts(options.start_timeout_s, options.load_timeout_s, options.answer_timeout_s),
                worker=self._worker,
            )
        except PlannerError as error:
            self._fault = self._fault or str(error)
            raise
        self._sandbox = Sandbox(process, lenses, options.gpu_device_id)
        self._fault = ""

    def _alive(self) -> Sandbox:
        """The running habitat-sim.

        Raises:
            HabitatGoneError: if there is none; the next `reset` starts another.
        """
        if self._sandbox is None or self._sandbox.process.fault:
            raise HabitatGoneError(self.fault or "habitat-sim is not running")
        return self._sandbox

    def close(self) -> None:
        """Stops every agent and ends habitat-sim."""
        super().close()
        if self._sandbox is not None:
            self._sandbox.process.close()
            self._fault, self._sandbox = self._sandbox.process.fault, None

    # Acting

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive; what habitat-sim cannot do ends as `BACKEND_FAULT`."""
        handle = Handle(len(self._primitives))
        try:
            return super().start(agent, primitive)
        except HabitatError as error:
            self._end(handle, PrimitiveCode.BACKEND_FAULT, str(error))
            return handle

    def _pass(self, last_s: float, dt_s: float) -> None:
        try:
            super()._pass(last_s, dt_s)
        except HabitatError as error:
            # Time goes on without it, and no agent moves any more.
            self._courtesies.clear()
            self._end_all(PrimitiveCode.BACKEND_FAULT, str(error))

    # Sensing

    @property
    def floor_step_m(self) -> float:
        """See `GeometrySource`: the heights of the navigation mesh are rounded to voxels."""
        return self._settings.navmesh.cell_height

    def _crossed(self, rays: Sequence[Ray], far_m: float) -> list[list[int]]:
        return self._synced_scene().crossed(rays, far_m)

    def _rays(self) -> HabitatScene:
        return self._synced_scene()

    def _drawer(self, _cameras: Sequence[str]) -> Callable[[View], Images]:
        return self._synced_scene().draw

    def _synced_scene(self) -> HabitatScene:
        if self._scene is None:
            raise PlannerError("no episode is loaded")
        return self._scene

    def sightings(
        self, agent: str, max_distance_m: float = 6.0, min_fraction: float = 0.0
    ) -> list[Sighting]:
        """What the agent's hand camera shows, by its instance ids, nearest first.

        Args:
            agent: the observer.
            max_distance_m: horizontal distance beyond which only other agents are reported.
            min_fraction: minimum share of the view.
        """
        world, body = self._loaded(), self._agent(agent)
        key = (world.revision, max_distance_m, min_fraction)
        known = self._sightings.get(agent)
        if known is None or known[0] != key:
            frame = self.observe(agent).cameras.get("hand")
            found = [] if frame is None else sighted(world, frame)
            seen = [
                s
                for s in found
                if s.fraction >= min_fraction
                and (s.name in world.agents or body.distance_m(s.position_m) <= max_distance_m)
            ]
            known = self._sightings[agent] = (key, seen)
        return known[1]

    def sees_any(
        self, agent: str, names: Sequence[str], max_distance_m: float, min_fraction: float
    ) -> bool:
        """Whether `sightings` would report any of some entities with this share of the view."""
        searched = set(names)
        return any(s.name in searched for s in self.sightings(agent, max_distance_m, min_fraction))


def sighted(world: KinematicWorld, frame: CameraFrame) -> list[Sighting]:
    """What a picture's instance ids show, nearest first."""
    if frame.instances is None:
        return []
    ids, where = np.unique(frame.instances, return_inverse=True)
    where = where.ravel()
    rows, columns = np.divmod(np.arange(where.size), frame.instances.shape[1])
    pixels = np.bincount(where)
    across, down = (np.bincount(where, weights=axis) / pixels for axis in (columns, rows))
    depth = frame.depth_m.ravel()
    names = {
        world.entity(name).instance_id: name
        for name in (*world.pieces, *world.things, *world.agents)
    }
    found = []
    for number, instance in enumerate(ids.tolist()):
        name = names.get(instance)
        if name is None:
            continue
        found.append(
            Sighting(
                name=name,
                fraction=float(pixels[number] / where.size),
                distance_m=float(np.median(depth[where == number])),
                pixel=(float(across[number]), float(down[number])),
                position_m=world.entity(name).state().box.center_m,
            )
        )
    return sorted(found, key=lambda s: (s.distance_m, s.name))
