"""What tells the descriptions of a goal apart."""

from __future__ import annotations

from planner.language.description import Anchor, Description


def key_of(phrase: Anchor, path: str) -> str:
    """The same for the same definite description wherever it stands, else for its place only."""
    if isinstance(phrase, Description) and phrase.definite and not phrase.each:
        same = phrase.model_copy(update={"label": None})
        return same.model_dump_json(by_alias=True, exclude_defaults=True)
    return path
