"""Scores of lists of seen things against what was in view (ETPLAN-D71, ETPLAN-C40, ETPLAN-C41).

Words are matched to the names of assets first, since a model says what it sees in its own words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.world.embedding import Embedder
from planner.world.errors import PlannerError

# The paper's least cosine for a match.
THRESHOLD = 0.8
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Detections:
    """Counts over lists that were compared as multisets.

    Attributes:
        true_positives: named and in view.
        false_positives: named, but not (so often) in view.
        false_negatives: in view, but not (so often) named.
    """

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0

    def __add__(self, other: Detections) -> Detections:
        return Detections(
            self.true_positives + other.true_positives,
            self.false_positives + other.false_positives,
            self.false_negatives + other.false_negatives,
        )

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP); None if nothing was named."""
        return _share(self.true_positives, self.false_positives)

    @property
    def recall(self) -> float | None:
        """TP / (TP + FN); None if nothing was in view."""
        return _share(self.true_positives, self.false_negatives)

    @property
    def f1(self) -> float | None:
        """2 TP / (2 TP + FP + FN); None if nothing was named nor in view."""
        return _share(2 * self.true_positives, self.false_positives + self.false_negatives)

    @property
    def accuracy(self) -> float | None:
        """TP / (TP + FP + FN); None if nothing was named nor in view."""
        return _share(self.true_positives, self.false_positives + self.false_negatives)


def _share(right: int, wrong: int) -> float | None:
    return right / (right + wrong) if right + wrong else None


def compare(named: Iterable[str | None], in_view: Iterable[str]) -> Detections:
    """Compares two lists as multisets; None stands for a word that matches no asset."""
    said, true = Counter(named), Counter(in_view)
    found = sum(min(count, true[name]) for name, count in said.items() if name is not None)
    return Detections(found, said.total() - found, true.total() - found)


def match_names(
    words: Sequence[str], assets: Sequence[str], embedder: Embedder, threshold: float = THRESHOLD
) -> Mapping[str, str | None]:
    """The asset that each word means: the most similar one, or None if none is similar enough.

    Names that differ only in case, spaces and signs are the same whatever the embedder makes of
    them: assets are written without spaces.

    Args:
        words: as a model said them.
        assets: all names that exist; of equally similar ones the first is taken.
        embedder: compares the others by the cosine of their vectors.
        threshold: least cosine of a match.

    Raises:
        PlannerError: for a threshold that is not a cosine.
    """
    if not -1.0 <= threshold <= 1.0:
        raise PlannerError(f"threshold: expected -1 to 1, got {threshold:g}")
    spelled: dict[str, str] = {}
    for asset in assets:
        spelled.setdefault(_letters(asset), asset)
    found: dict[str, str | None] = {word: spelled.get(_letters(word)) for word in words}
    left = [word for word, asset in found.items() if asset is None]
    if left and assets:
        similar = embedder.embed(left) @ embedder.embed(list(assets)).T
        for word, row in zip(left, similar, strict=True):
            best = int(row.argmax())
            if float(row[best]) >= threshold:
                found[word] = assets[best]
    return found


def _letters(name: str) -> str:
    return _NOT_LETTERS.sub("", name.lower())
