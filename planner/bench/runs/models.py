"""The language models and detectors of a run: shared by its episodes, or one for each."""

from __future__ import annotations

from pathlib import Path

from planner.app.true_classes import TrueClasses
from planner.bench.runs.manifest import TRACES_NAME
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.suites import Job
from planner.memory.part import MakeUpdater, UpdaterModel, UpdaterRequest, load_updater
from planner.memory.updater import MemoryUpdater
from planner.models.chat import ChatModel
from planner.models.model_choice import make_model
from planner.parts.option import read_options
from planner.world.house import House
from planner.world.state import WorldState
from sim_bridge.backend import Backend


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
