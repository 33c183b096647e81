"""Model `scripted`: replies from a file, for tests and demonstrations."""

from pathlib import Path

from planner.models.chat import ChatModel
from planner.models.part import ModelPart, ModelRequest
from planner.models.scripted import ScriptedModel
from planner.world.files import read_text


def _make(request: ModelRequest) -> ChatModel:
    path = Path(request.source)
    if path.is_dir():
        path /= f"{request.episode_id}.txt"
    text = read_text(path)
    return ScriptedModel([part.strip() for part in text.split("\n\n") if part.strip()])


MODEL = ModelPart(
    summary="the replies from a file, separated by blank lines, or from EPISODE.txt in a folder",
    make=_make,
    source="FILE",
    source_is_path=True,
    per_episode=True,
    takes_pictures=True,
)
