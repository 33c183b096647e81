"""Keeping chat models' markup out of what others wrote.

Tokenizers read `<|eot_id|>` as the end of a turn wherever it stands: in an instruction, or in
what a model or a person wrote of a thing. A space in it makes it mere text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from planner.planning.llm.chat import Message
from planner.planning.prompts.partnr_state import TOKEN

# Llama, Qwen and Phi; Mistral; Gemma.
_MARKUP = re.compile(r"<(?=\|)|[<\[](?=/?(?:s>|INST\]))|<(?=(?:start|end)_of_turn>)")


def plain(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages without markup but for the fine-tuned planner's own token at their end."""
    return tuple(
        replace(message, text=_plain(message.text)) if _MARKUP.search(message.text) else message
        for message in messages
    )


def _plain(text: str) -> str:
    own = TOKEN if text.endswith(TOKEN) else ""
    return _MARKUP.sub(lambda found: f"{found[0]} ", text.removesuffix(own)) + own
