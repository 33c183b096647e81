"""Selects models by the names that parameters and command lines use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.models.chat import ChatModel
from planner.models.part import ModelPart, ModelRequest
from planner.models.recorded import RecordingModel
from planner.models.retries import RetryingModel
from planner.parts.kinds import MODELS
from planner.parts.option import OptionValue, read_options
from planner.world.errors import PlannerError

# The part that a plain model name belongs to.
SERVER = "server"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model to use and how to reach it.

    Attributes:
        model: `PART:SOURCE`, such as `local:FOLDER`; `PART` alone if a part needs no source; any
            other text is a server's name for its model. Empty = none.
        url: base URL of the server, .../v1.
        options: of the part, those that differ from their defaults.
        record: file to which every call is written; "" = none.
        wait_s: how long to wait for an unavailable model, wall seconds.
    """

    model: str = ""
    url: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    record: str = ""
    wait_s: float = 0.0

    @property
    def name(self) -> str:
        """The part's name; "" if no model is chosen."""
        return part_and_source(self.model)[0]

    @property
    def part(self) -> ModelPart:
        """The record of the part.

        Raises:
            PartError: if it cannot be used.
        """
        return MODELS.get(self.name)

    def request(self, episode_id: str = "", seed: int = 0) -> ModelRequest:
        """The arguments for making the model.

        Raises:
            PlannerError: if the URL is missing or not used, or an option is not allowed.
        """
        part, source = self.part, part_and_source(self.model)[1]
        if part.needs_url and not self.url:
            raise PlannerError(f"the parameter model is {source}, but model_url names no server")
        if part.source and not source:
            raise PlannerError(f"the parameter model is {self.model}: expected {part.source}")
        options = read_options(part.options, self.options)
        return ModelRequest(source, self.url, options, episode_id, seed)

    def check(self) -> None:
        """Checks the choice without making the model.

        Raises:
            PlannerError: naming what is wrong.
        """
        if self.model:
            self.part.check(self.request())
        elif self.url:
            raise PlannerError("the parameter model_url is set, but model names no model")


def part_and_source(model: str) -> tuple[str, str]:
    """The part's name and the text after its colon; both empty for no model."""
    if not model:
        return "", ""
    name, colon, source = model.partition(":")
    if name in MODELS.names() and (colon or not MODELS.get(name).source):
        return name, source
    return SERVER, model


def absolute(model: str) -> str:
    """The same model with an absolute path, if its source is a path."""
    name, source = part_and_source(model)
    if not name or not MODELS.get(name).source_is_path:
        return model
    return f"{name}:{Path(source).resolve()}"


def model_forms() -> str:
    """The forms of a model's name, for help texts: `NAME (of a server), local:FOLDER, ...`."""
    forms = [
        f"{name}:{part.source}" if part.source else name
        for name, part in MODELS.usable().items()
        if name != SERVER
    ]
    return ", ".join(["a server's name for it", *forms])


def make_model(choice: ModelChoice, episode_id: str = "", seed: int = 0) -> RetryingModel | None:
    """As `open_model`, or None if no model is chosen.

    Raises:
        PlannerError: for a URL, a file or an option that cannot be used.
    """
    if choice.model:
        return open_model(choice, episode_id, seed)
    choice.check()
    return None


def open_model(choice: ModelChoice, episode_id: str = "", seed: int = 0) -> RetryingModel:
    """Makes the chosen model with retries and waiting.

    Args:
        choice: which one.
        episode_id: for parts that are made for each episode.
        seed: likewise.

    Raises:
        PlannerError: for a URL, a file or an option that cannot be used.
    """
    choice.check()
    made: ChatModel = choice.part.make(choice.request(episode_id, seed))
    if choice.record:
        made = RecordingModel(made, Path(choice.record))
    return RetryingModel(made, wait_s=choice.wait_s)
