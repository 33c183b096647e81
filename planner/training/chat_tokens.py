"""A dialogue as tokens of a model, and which of them have a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.training.chats import Chat
from planner.training.tuning import IGNORED
from planner.world.errors import PlannerError


@dataclass(frozen=True, slots=True)
class ChatTokens:
    """(n,) token ids, and (n,) labels: the token itself, or `IGNORED` where it has no loss."""

    ids: tuple[int, ...]
    labels: tuple[int, ...]


def encode(tokenizer: Any, chat: Chat) -> ChatTokens:
    """The tokens of a dialogue by the model's own chat template.

    A learned turn has its loss from its first token to the mark that ends it, as the model has to
    say it; all that it is told has none.

    Args:
        tokenizer: a fast tokenizer of transformers with a chat template.
        chat: the dialogue.

    Raises:
        PlannerError: if the template changes what was said before when a turn is added, since the
            model would then be asked about other words than it learned from.
    """
    turns = [{"role": turn.speaker.value, "content": turn.text} for turn in chat.turns]
    try:
        text = _applied(tokenizer, turns, ask=False)
        spans = []
        for place, turn in enumerate(chat.turns):
            if turn.is_learned:
                before = _applied(tokenizer, turns[:place], ask=True)
                after = _applied(tokenizer, turns[: place + 1], ask=False)
                if not (text.startswith(after) and after.startswith(before)):
                    raise PlannerError(
                        f"{chat.name}: the chat template of the model rewrites earlier turns, "
                        "so a dialogue cannot be learned as a whole"
                    )
                spans.append((len(before), len(after)))
    except PlannerError:
        raise
    except Exception as error:
        raise PlannerError(f"{chat.name}: the model's chat template failed: {error}") from None
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = tuple(int(token) for token in encoded["input_ids"])
    labels = tuple(
        token if any(low <= begin and end <= high for low, high in spans) else IGNORED
        for token, (begin, end) in zip(ids, encoded["offset_mapping"], strict=True)
    )
    return ChatTokens(ids, labels)


def _applied(tokenizer: Any, turns: list[dict[str, str]], *, ask: bool) -> str:
    return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=ask))
