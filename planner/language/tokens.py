"""Text as a sequence of lower-case words and marks, each with its place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"entryway/foyer/lobby|laundryroom/mudroom|[^\W\d_]+(?:_[^\W_]+)+"
    r"|\.\.\.|…|[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:[.,]\d+)?|[.,;:!?&()]|-{1,2}(?=\s|\d)"
)
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2013": "-", "\u2014": "-"})
_CONTRACTIONS = {
    "livingroom": ("living", "room"),
    "firetruck": ("fire", "truck"),
    "entryway/foyer/lobby": ("entryway",),
    "laundryroom/mudroom": ("laundry", "room"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
    "gimme": ("give", "me"),
    "pls": ("please",),
    "plz": ("please",),
    "o'clock": ("oclock",),
    "u": ("you",),
    "ur": ("your",),
    "thx": ("thanks",),
    "ty": ("thanks",),
    "n": ("and",),
    "cuz": ("because",),
    "coz": ("because",),
    "cos": ("because",),
    "gotta": ("have", "to"),
    "lemme": ("let", "me"),
    "kinda": ("kind", "of"),
    "dunno": ("do", "not", "know"),
    "w/": ("with",),
    "&": ("and",),
    "alright": ("ok",),
    "okay": ("ok",),
    **{
        head + "nt": (head, "not")
        for head in ("do", "does", "did", "is", "are", "was", "should", "would", "could", "has")
    },
    "cant": ("can", "not"),
    "wont": ("will", "not"),
    "lets": ("let", "us"),
    "im": ("i", "am"),
    "ive": ("i", "have"),
    **{head + "re": (head, "are") for head in ("you", "they")},
    **{head + "s": (head, "is") for head in ("that", "what", "there", "here", "where")},
}
_ENDINGS = {"'ll": "will", "'ve": "have", "'re": "are", "'d": "would", "'m": "am"}
# After these, 's is a verb; after anything else it shows a possessor.
_BEFORE_IS = frozenset({
    "it", "that", "there", "what", "where", "who", "here", "he", "she", "this", "everything",
    "something", "anything", "nothing", "everyone", "somebody", "someone", "how", "which",
})  # fmt: skip
STOPS = frozenset({".", "!", "?", ";", "...", "…", "-", "--", ":", "(", ")"})
"""Marks at which a sentence may end."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word in lower case, or a mark; `start` and `end` are offsets in the text."""

    word: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it is a word or number, not a mark."""
        return self.word[0].isalnum()


def tokens_of(text: str) -> tuple[Token, ...]:
    """The words and marks of a text, with contractions written out and hyphens opened."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text.translate(_QUOTES)):
        start, end = match.span()
        found += [Token(word, start, end) for word in _words(match.group().lower())]
    return tuple(found)


def _words(raw: str) -> tuple[str, ...]:
    if raw in _CONTRACTIONS:
        return _CONTRACTIONS[raw]
    if "'" not in raw:
        return (raw,)
    if raw.endswith("n't"):
        return (raw[:-3], "not")
    for ending, word in _ENDINGS.items():
        if raw.endswith(ending):
            return (raw.removesuffix(ending), word)
    if raw.endswith("'s"):
        head = raw[:-2]
        return (head, "is") if head in _BEFORE_IS else (head, "'s")
    return (raw.replace("'", ""),)
