"""Landmarks that tell one piece of furniture from others of its category (HELPER-D48)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from planner.planning.programs.situation import NEAR_M
from planner.planning.programs.vocabulary import default_vocabulary
from planner.world.house import Furniture, House


def landmark_of(names: Collection[str], class_name: str, layout: House) -> str:
    """The category that pieces of these names are near, and as few others of their kind as can be.

    "" if all pieces of their kind are meant, or none of the meant ones is near anything.

    Args:
        names: of the furniture that is meant.
        class_name: of the catalogue.
        layout: with all furniture.
    """
    vocabulary = default_vocabulary()
    category = vocabulary.name_of(class_name) or ""
    alike = [p for p in layout.furniture if p.class_name in vocabulary.classes_of(category)]
    meant = [piece for piece in alike if piece.name in names]
    others = [piece for piece in alike if piece.name not in names]
    if not meant or not others:
        return ""
    ranked: list[tuple[int, int, str]] = []
    for landmark in sorted(_categories(layout)):
        classes = vocabulary.classes_of(landmark)
        near = [p for p in layout.furniture if p.class_name in classes]
        right = sum(_is_near(piece, near) for piece in meant)
        if right:
            ranked.append((sum(_is_near(piece, near) for piece in others), -right, landmark))
    return min(ranked)[2] if ranked else ""


def _categories(layout: House) -> set[str]:
    named = (default_vocabulary().name_of(piece.class_name) for piece in layout.furniture)
    return {name for name in named if name is not None}


def _is_near(piece: Furniture, others: Iterable[Furniture]) -> bool:
    return any(
        math.hypot(piece.x_m - other.x_m, piece.y_m - other.y_m) <= NEAR_M
        for other in others
        if other is not piece
    )
