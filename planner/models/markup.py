"""Neutralises chat-template markup in text from outside.

Tokenizers read `<|eot_id|>` as the end of a turn wherever it occurs: in an instruction, or in what
a model or a person wrote about a thing. Inserting a blank makes it plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from planner.models.chat import Message

# Llama, Qwen and Phi; Mistral; Gemma.
_MARKUP = re.compile(r"<(?=\|)|[<\[](?=/?(?:s>|INST\]))|<(?=(?:start|end)_of_turn>)")


def plain(messages: Iterable[Message], own_end: str = "") -> tuple[Message, ...]:
    """The messages without markup, except a trailing `own_end`, a token of the caller's own."""
    return tuple(
        replace(message, text=_plain(message.text, own_end))
        if _MARKUP.search(message.text)
        else message
        for message in messages
    )


def _plain(text: str, own_end: str) -> str:
    own = own_end if own_end and text.endswith(own_end) else ""
    return _MARKUP.sub(lambda found: f"{found[0]} ", text.removesuffix(own)) + own
