"""Replies in a model's own words, such as the description of a picture."""

from __future__ import annotations

from dataclasses import dataclass

from planner.models.replies.form import ReplyError, check_length


@dataclass(frozen=True)
class FreeText:
    """One paragraph; a `planner.models.replies.form.ReplyForm` without a grammar.

    Attributes:
        max_characters: longer ones are cut at a word, since prompts repeat them.
    """

    max_characters: int = 800
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    grammar: str = ""

    def read(self, text: str, *, ended: bool) -> str:
        """The words in one line; a reply that broke off ends with its last whole word.

        Raises:
            ReplyError: for a reply without words.
        """
        check_length(text)
        words = " ".join(text.split())
        if not ended or len(words) > self.max_characters:
            words = words[: self.max_characters + 1].rpartition(" ")[0]
        if not words:
            raise ReplyError("the reply has no words")
        return words
