"""Model `recorded`: replays recorded replies to the same prompts."""

from pathlib import Path

from planner.models.chat import ChatModel
from planner.models.part import ModelPart, ModelRequest
from planner.models.recorded import RecordedModel
from planner.world.errors import PlannerError


def _make(request: ModelRequest) -> ChatModel:
    from planner.models.dialogue_file import dialogue_path

    path = Path(request.source)
    if path.is_dir():
        path = dialogue_path(path, f"{request.episode_id}-{request.seed}")
    return RecordedModel(path)


def _check(request: ModelRequest) -> None:
    path = Path(request.source)
    if path.is_dir() and not (path / "manifest.json").is_file():
        raise PlannerError(f"{path}: is not a run with dialogues to replay")


MODEL = ModelPart(
    summary="replies recorded from another model, or in the dialogues of a run of planner bench",
    make=_make,
    source="FILE",
    source_is_path=True,
    per_episode=True,
    takes_pictures=True,
    check=_check,
)
