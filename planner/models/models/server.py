"""Model `server`: behind an OpenAI-compatible server, such as vLLM."""

from planner.models.chat import ChatModel
from planner.models.part import TEMPERATURE, ModelPart, ModelRequest
from planner.parts.option import Option

DIALECTS = ("auto", "vllm", "llamacpp", "none")


def _make(request: ModelRequest) -> ChatModel:
    from planner.models.openai_compatible import Dialect, OpenAiCompatible

    return OpenAiCompatible(
        request.url,
        request.source,
        dialect=Dialect(request.text("dialect")),
        temperature=request.number("temperature"),
    )


MODEL = ModelPart(
    summary="behind an OpenAI-compatible server; a plain name with an address means it",
    make=_make,
    source="NAME",
    needs_url=True,
    takes_pictures=True,
    options=(
        TEMPERATURE,
        Option(
            "dialect", "auto", "how the server accepts a grammar; auto = detect", choices=DIALECTS
        ),
    ),
)
