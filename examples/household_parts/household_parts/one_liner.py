"""Chat model `one_liner`: always gives the same reply, to test a planner without a model."""

from planner.models.chat import (
    ChatModel,
    Completion,
    ModelPart,
    ModelRequest,
    Request,
    Timings,
    Usage,
    cut_at,
)
from planner.parts.option import Option


class OneLiner:
    """Replies with one line."""

    name = "one_liner"

    def __init__(self, line: str) -> None:
        """Takes the line."""
        self._line = line

    async def complete(self, request: Request) -> Completion:
        """The line, limited by stop strings and the number of tokens (here: words)."""
        words = cut_at(self._line, request.stop).split()
        said = words[: request.max_tokens]
        asked = sum(len(message.text.split()) for message in request.messages)
        finish = "stop" if said == words else "length"
        return Completion(" ".join(said), Usage(asked, 0, len(said)), Timings(0.0, 0.0), finish)

    async def close(self) -> None:
        """Does nothing."""


def _make(request: ModelRequest) -> ChatModel:
    return OneLiner(request.text("line"))


MODEL = ModelPart(
    summary="always gives the same reply",
    make=_make,
    takes_pictures=True,
    options=(Option("line", "Done[]", "what the model one_liner says"),),
)
