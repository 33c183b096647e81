"""The ways that agents went, in pieces, so that a longer way is a small change."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

# Metres between two points, points in a piece, pieces that are kept of each agent.
STEP_M, PIECE_POINTS, MAX_PIECES = 0.1, 40, 50


@dataclass(slots=True)
class Trail:
    """The way of one agent; each piece begins where the one before it ended."""

    pieces: list[list[list[float]]] = field(default_factory=list)
    first: int = 0

    def add(self, x_m: float, y_m: float) -> bool:
        """Adds a position; returns whether it is far enough from the last one to count."""
        point = [round(x_m, 2), round(y_m, 2)]
        if not self.pieces:
            self.pieces.append([point])
            return True
        last = self.pieces[-1]
        if math.dist(last[-1], point) < STEP_M:
            return False
        if len(last) >= PIECE_POINTS:
            self.pieces.append([last[-1]])
            if len(self.pieces) > MAX_PIECES:
                self.pieces.pop(0)
                self.first += 1
        # A new list, as the page's table keeps the old one.
        self.pieces[-1] = [*self.pieces[-1], point]
        return True

    @property
    def newest(self) -> int:
        """The number of the newest piece."""
        return self.first + len(self.pieces) - 1
