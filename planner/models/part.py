"""The record of a chat model: what it needs, its options, how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.models.chat import ChatModel
from planner.parts.catalog import Catalog
from planner.parts.option import Option, OptionError, OptionValue

INTERFACE = 1


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The arguments for making a model.

    Attributes:
        source: what follows the part's name and a colon, such as a folder.
        url: base URL of a server.
        options: the values of all options that the part declares.
        episode_id, seed: of the episode, for parts made for each.
    """

    source: str = ""
    url: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    episode_id: str = ""
    seed: int = 0

    def text(self, option: str) -> str:
        """The value of a text option.

        Raises:
            OptionError: if the part declares no such option.
        """
        value = self.options.get(option)
        if not isinstance(value, str):
            raise OptionError(option, "the model declares no text option of this name")
        return value

    def number(self, option: str) -> float:
        """The value of a number option.

        Raises:
            OptionError: if the part declares no such option.
        """
        value = self.options.get(option)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise OptionError(option, "the model declares no number option of this name")
        return float(value)


def accept(_request: ModelRequest) -> None:
    """Accepts every request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """The record of a chat model.

    Attributes:
        summary: one line for the help.
        make: makes the model, which may be slow; raises `PlannerError`.
        source: what users write after the name and a colon, such as `FOLDER`; "" = nothing.
        source_is_path: whether that is a path, which command lines make absolute.
        needs_url: whether it is behind a server.
        per_episode: whether a new one is made for each episode of a run, because its replies are
            scripted.
        takes_pictures: whether messages may have images.
        holds_grammar: whether its replies always follow the grammar.
        reads_goal: whether it is privileged: it reads the structured goal of an episode.
        check: raises `PlannerError` for unusable arguments, before the first episode.
        options: options that may be set.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[ModelRequest], ChatModel]
    source: str = ""
    source_is_path: bool = False
    needs_url: bool = False
    per_episode: bool = False
    takes_pictures: bool = False
    holds_grammar: bool = False
    reads_goal: bool = False
    check: Callable[[ModelRequest], None] = accept
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


MODELS: Catalog[ModelPart] = Catalog(
    "model", "planner.models.models", "MODELS", f"{__name__}:ModelPart", INTERFACE
)
TEMPERATURE = Option(
    "temperature",
    0.0,
    "sampling temperature; 0 = greedy",
    min_value=0.0,
    max_value=10.0,
)
