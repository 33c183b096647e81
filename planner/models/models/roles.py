"""Model `roles`: a model of its own for each role, such as a smaller one for the Verifier."""

from pathlib import Path

from planner.models.chat import ChatModel
from planner.models.part import ModelPart, ModelRequest


def _make(request: ModelRequest) -> ChatModel:
    from planner.models.by_role import make_role_models

    return make_role_models(Path(request.source))


def _check(request: ModelRequest) -> None:
    from planner.models.by_role import read_role_file

    read_role_file(Path(request.source))


MODEL = ModelPart(
    summary="a model of its own for each role, by a YAML file",
    make=_make,
    source="FILE",
    source_is_path=True,
    takes_pictures=True,
    check=_check,
)
