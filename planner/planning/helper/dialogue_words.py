"""A text encoder without a model, for dialogues and names of routines (HELPER-D26).

It compares words only: content words by their stem, function words hardly, and words that the
catalogue does not know, such as the name of a routine, most.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from planner.language.english import words
from planner.language.lexicon import default_lexicon
from planner.world.embedding import Vectors

DIMENSIONS = 512
_TAG = re.compile(r"<\w+>")
_WORD = re.compile(r"[a-z]+|\d+")
FUNCTION_WORDS = words(
    """
    a about again all also am an and another any are as at back be because been before both but
    by can could d did do does done each eight else every everything few first five for four from
    get give go good got had has have he hello help her here hey hi him his how i if in inside
    into is it its just let like ll m make many may me more my near need next nine no not now of
    ok okay on one only onto or other our out over please put re ready robot s see seven shall she
    should six so some sure t take task ten than thank thanks that the their them then there these
    they thing things this those three to today too two up us ve very want was we well were what
    when where which while who will with without would yes you your
    """
)
_FUNCTION_WEIGHT, _KNOWN_WEIGHT, _NAME_WEIGHT, _TRIPLE_WEIGHT = 0.1, 1.0, 1.5, 0.15


class DialogueWords:
    """Hashed words and letter triples, each word of a text once, weighted by how much it says."""

    @property
    def embedder_id(self) -> str:
        """Its name, version and size; another weighting is another version."""
        return f"dialogue-words-1-{DIMENSIONS}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, (n, 512) float32, each of length one (zeros without words)."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in dict.fromkeys(_WORD.findall(_TAG.sub(" ", text.lower()))):
                places, values = _of_word(word)
                np.add.at(row, places, values)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vectors = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
        return unit


@lru_cache(maxsize=20_000)
def _of_word(word: str) -> tuple[list[int], Vectors]:
    stem = stem_of(word)
    weight = _weight(word, stem)
    parts = [(stem, weight)]
    if weight > _FUNCTION_WEIGHT:
        padded = f"^{stem}$"
        triples = [padded[at : at + 3] for at in range(len(padded) - 2)]
        parts += [(triple, weight * _TRIPLE_WEIGHT) for triple in triples]
    places, values = [], []
    for part, size in parts:
        digest = int.from_bytes(hashlib.blake2b(part.encode(), digest_size=8).digest(), "little")
        places.append(digest % DIMENSIONS)
        values.append(size if digest >> 63 else -size)
    return places, np.array(values, np.float32)


def stem_of(word: str) -> str:
    """A word without the ending of a plural."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("oes", "ches", "shes", "sses", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return word[:-1]
    return word


def _weight(word: str, stem: str) -> float:
    if word in FUNCTION_WORDS or word.isdecimal():
        return _FUNCTION_WEIGHT
    return _KNOWN_WEIGHT if {word, stem} & _known_words() else _NAME_WEIGHT


@lru_cache(maxsize=1)
def _known_words() -> frozenset[str]:
    return default_lexicon().words
