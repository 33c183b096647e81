"""Exact search for the nearest vectors by L2 distance (HELPER-D21)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.world.embedding import Vectors

# Relative error of a dot product in single precision over a few thousand dimensions, with room.
_ROUNDING = 1e-4


class VectorSearch:
    """Vectors with numbers; a matrix that is searched as a whole."""

    def __init__(self) -> None:
        self._rows: Vectors = np.zeros((0, 0), np.float32)
        self._squares: NDArray[np.float32] = np.zeros(0, np.float32)
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: Iterable[int], vectors: Vectors) -> None:
        """Adds the rows whose numbers are not there yet.

        Args:
            ids: one a row.
            vectors: (n, d) float32.
        """
        added = np.fromiter(ids, np.int64)
        new = ~np.isin(added, self._ids)
        if not new.any():
            return
        added, rows = added[new], np.ascontiguousarray(vectors, np.float32)[new]
        self._rows = np.concatenate([self._rows, rows]) if len(self._ids) else rows
        squares = np.einsum("ij,ij->i", rows, rows)
        self._squares = np.concatenate([self._squares, squares])
        self._ids = np.concatenate([self._ids, added])

    def remove(self, ids: Sequence[int]) -> None:
        """Removes the rows of some numbers, where they are."""
        kept = ~np.isin(self._ids, ids)
        self._rows, self._squares = self._rows[kept], self._squares[kept]
        self._ids = self._ids[kept]

    def distance(self, query: Vectors, number: int) -> float:
        """The distance from a query, (d,), to the row of a number that is there."""
        (row,) = self._rows[self._ids == number]
        return float(np.linalg.norm(row.astype(np.float64) - query.astype(np.float64)))

    def nearest(self, query: Vectors, count: int) -> list[tuple[float, int]]:
        """Distances and numbers, the nearest first; of equal ones the smaller number first.

        Args:
            query: (d,).
            count: at most so many.
        """
        count = min(count, len(self._ids))
        if count <= 0:
            return []
        near = self._candidates(query.astype(np.float32), count)
        apart = self._rows[near].astype(np.float64) - query.astype(np.float64)
        distances = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        order = np.lexsort((self._ids[near], distances))[:count]
        return [(float(distances[i]), int(self._ids[near[i]])) for i in order]

    def _candidates(self, query: Vectors, count: int) -> NDArray[np.intp]:
        """The rows that rounding in single precision cannot exclude."""
        # Not by BLAS, whose threads take longer than the sum where other programs are at work.
        squares = self._squares - 2.0 * np.einsum("ij,j->i", self._rows, query)
        bound = np.partition(squares, count - 1)[count - 1]
        slack = _ROUNDING * float(self._squares.max() + query @ query)
        return np.nonzero(squares <= bound + slack)[0]
