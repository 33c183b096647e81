"""The language models and detectors of a run: shared by its episodes, or one for each."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from planner.bench.runs.dialogues import read_dialogue, recording_text
from planner.bench.runs.manifest import MANIFEST_NAME, TRACES_NAME
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.bench.runs.suites import Job
from planner.memory.learned.detector import Detector
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.updater import MemoryUpdater
from planner.planning.llm.chat import ChatModel
from planner.planning.llm.patient import PatientModel
from planner.planning.llm.recorded import RecordedModel
from planner.planning.making import RECORDED, SCRIPTED, make_model
from planner.world.errors import PlannerError
from planner.world.house import House


def trace_stem(job: Job) -> str:
    """Begin of the names of an episode's files in a run's `traces/`."""
    return f"{job.episode_id}-{job.seed}"


def dialogue_path(run: Path, stem: str) -> Path:
    """The file of an episode's dialogue."""
    return run / TRACES_NAME / f"{stem}.dialogue.jsonl"


def trace_path(run: Path, stem: str) -> Path:
    """The file of an episode's trace."""
    return run / TRACES_NAME / f"{stem}.trace.jsonl"


class Models:
    """What is loaded once in a process."""

    def __init__(self, settings: RunSettings) -> None:
        """Loads what all episodes share.

        Raises:
            PlannerError: for settings that cannot be run, or a model that cannot be used.
        """
        settings.check()
        self._settings = settings
        self._detector = Detector.load() if settings.memory is MemoryKind.LEARNED else None
        self._script = _path_after(SCRIPTED, settings.model)
        self._recording = _path_after(RECORDED, settings.model)
        if self._recording is not None and self._recording.is_dir():
            _check_run(self._recording)
        self._shared = None if self._script or self._recording else self._make(settings.model)

    def chat(self, job: Job) -> ChatModel | None:
        """The model of an episode; None for planners without one.

        Raises:
            PlannerError: where nothing was scripted or recorded for it.
        """
        if self._script is not None:
            script = self._script
            file = script / f"{job.episode_id}.txt" if script.is_dir() else script
            return make_model(f"{SCRIPTED}{file}", "")
        if self._recording is not None:
            return _replayed(self._recording, job)
        return self._shared

    def updater(self, house: House) -> MemoryUpdater | None:
        """What makes the memory's edits of pictures, where it is not told the truth."""
        return LearnedUpdater(house, self._detector) if self._detector is not None else None

    async def close(self) -> None:
        """Ends connections."""
        if self._shared is not None:
            await self._shared.close()

    def _make(self, name: str) -> ChatModel | None:
        settings = self._settings
        made = make_model(name, settings.model_url, temperature=settings.temperature)
        return PatientModel(made, settings.model_wait_s) if made is not None else None


def _path_after(prefix: str, model: str) -> Path | None:
    return Path(model.removeprefix(prefix)) if model.startswith(prefix) else None


def _check_run(run: Path) -> None:
    if not (run / MANIFEST_NAME).is_file():
        raise PlannerError(f"{run}: is no run whose dialogues could be replayed")


def _replayed(recording: Path, job: Job) -> ChatModel:
    if not recording.is_dir():
        return RecordedModel(recording)
    text = recording_text(read_dialogue(dialogue_path(recording, trace_stem(job))))
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{trace_stem(job)}.jsonl"
        path.write_text(text, encoding="utf-8")
        return RecordedModel(path)
