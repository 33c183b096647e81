"""What "'s" behind a noun is short for: "the lamp's on" is no lamp's."""

from __future__ import annotations

from dataclasses import replace

from planner.language.noun_phrases import NounPhrases
from planner.language.sentence import Source

_HAS = frozenset({"been", "got", "gone", "had", "fallen", "run", "come", "become", "started"})


def with_verbs(source: Source) -> Source:
    """The words with "is" and "has" for each "'s" that no noun follows."""
    if "'s" not in source.words:
        return source
    reader = NounPhrases(source)
    tokens = list(source.tokens)
    for at, token in enumerate(tokens):
        if token.word != "'s" or reader.owns(at):
            continue
        after = source.word(at + 1)
        tokens[at] = replace(token, word="has" if after in _HAS else "is")
    return Source(source.text, tokens, source.lexicon)
