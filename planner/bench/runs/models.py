"""What episodes of a run share: language models and detectors, and what is kept of a house."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

from planner.app.house_tour import TrueClasses
from planner.bench.runs.manifest import TRACES_NAME, Job
from planner.bench.runs.settings import RunSettings
from planner.evaluation.layout import forget_layouts
from planner.memory.part import MakeUpdater, UpdaterModel, UpdaterRequest, load_updater
from planner.memory.updater import MemoryUpdater
from planner.models.chat import ChatModel
from planner.models.model_choice import make_model
from planner.parts.option import read_options
from planner.planning.walking import forget_walk_maps
from planner.skills.ground import forget_grounds
from planner.world.house import House
from planner.world.house_checks import forget_files
from planner.world.state import WorldState
from sim_bridge.backend import Backend

# What a run keeps of a house while it is there, and frees when it leaves it.
#
# Floors, paths and files of houses are cached. A run's episodes are sorted by house
# (`planner.bench.runs.manifest.jobs_of`), so it does not return to a house.


def keep_house_caches() -> None:
    """Keeps all that there is out of garbage collections until `return_house_caches`.

    Worth it where a house has several episodes: looking through all that is kept for it again and
    again takes a fifth of the time of short ones.
    """
    gc.collect()
    gc.freeze()


def return_house_caches() -> None:
    """Lets garbage collections see everything again."""
    gc.unfreeze()


def clear_house_caches() -> None:
    """Frees everything cached for houses, except what is still in use."""
    forget_layouts()
    forget_grounds()
    forget_walk_maps()
    forget_files()
    gc.collect()
    # The C library keeps freed memory between blocks in use; glibc's malloc_trim returns it.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def trace_stem(job: Job) -> str:
    """The common prefix of the names of an episode's files in a run's `traces/`."""
    return f"{job.episode_id}-{job.seed}"


def trace_path(run: Path, stem: str) -> Path:
    """The file of an episode's trace."""
    return run / TRACES_NAME / f"{stem}.trace.jsonl"


class Models:
    """Loads models once per process."""

    def __init__(self, settings: RunSettings) -> None:
        """Loads what all episodes share.

        Raises:
            PlannerError: for invalid settings, or a model that cannot be used.
        """
        settings.check()
        self._settings, self._choice = settings, settings.model_choice
        self._make_updater: MakeUpdater | None = None
        self._world: Backend | None = None
        self._classes = TrueClasses(self._truth)
        self._load_updater()
        self._is_shared = bool(settings.model) and not self._choice.part.per_episode
        self._shared = make_model(self._choice) if self._is_shared else None

    def chat(self, job: Job) -> ChatModel | None:
        """The chat model of an episode; None for planners without one.

        Raises:
            PlannerError: if there is no script or recording for it.
        """
        if self._is_shared:
            return self._shared
        return make_model(self._choice, job.episode_id, job.seed)

    def updater(self, house: House, world: Backend) -> MemoryUpdater | None:
        """The memory updater; None = the default for the kind of memory.

        Args:
            house: of the episode.
            world: for updaters that need ground truth.
        """
        self._world = world
        self._classes.forget()
        return None if self._make_updater is None else self._make_updater(house)

    def leave_house(self) -> None:
        """Drops references to the world of the last updater."""
        self._world = None
        self._classes.forget()

    def _load_updater(self) -> None:
        part, settings = self._settings.updater, self._settings
        if part is None:
            return
        model = UpdaterModel(settings.memory_model, settings.memory_url, settings.memory_second)
        self._make_updater = load_updater(
            UpdaterRequest(
                settings.memory,
                model,
                truth_source=self._truth,
                class_of=self._classes.of,
                options=read_options(part.options, settings.memory_options),
            )
        )

    def _truth(self) -> WorldState | None:
        return None if self._world is None else self._world.world_state()

    async def close(self) -> None:
        """Closes connections."""
        if self._shared is not None:
            await self._shared.close()
