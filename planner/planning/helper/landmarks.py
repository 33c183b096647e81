"""How a program says which piece of furniture of a category it means (HELPER-D48)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from planner.planning.programs.situation import NEAR_M
from planner.planning.programs.vocabulary import default_vocabulary
from planner.world.house import Furniture, House


def landmark_of(names: Collection[str], class_name: str, layout: House) -> str:
    """The category that some pieces of these names are near, and no others of their kind.

    "" if all pieces of their kind are meant, or there is no such category.

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
    ranked: list[tuple[int, str]] = []
    for landmark in sorted(_categories(layout)):
        classes = vocabulary.classes_of(landmark)
        near = [p for p in layout.furniture if p.class_name in classes]
        right = sum(_is_near(piece, near) for piece in meant)
        if right and not any(_is_near(piece, near) for piece in others):
            ranked.append((-right, landmark))
    return min(ranked)[1] if ranked else ""


def way_to(names: Collection[str], class_name: str, layout: House) -> str:
    """The category from all of whose pieces the nearest piece of a class is a meant one.

    "" if there is none. Arguments are as of `landmark_of`.
    """
    vocabulary = default_vocabulary()
    classes = vocabulary.classes_of(vocabulary.name_of(class_name) or "")
    alike = [p for p in layout.furniture if p.class_name in classes]
    if not alike:
        return ""
    ranked: list[tuple[int, str]] = []
    for category in sorted(_categories(layout)):
        own = vocabulary.classes_of(category)
        pieces = [p for p in layout.furniture if p.class_name in own and p not in alike]
        nearest = {_nearest(alike, at).name for at in pieces}
        if nearest and nearest <= set(names):
            ranked.append((len(pieces), category))
    return min(ranked)[1] if ranked else ""


def _categories(layout: House) -> set[str]:
    named = (default_vocabulary().name_of(piece.class_name) for piece in layout.furniture)
    return {name for name in named if name is not None}


def _is_near(piece: Furniture, others: Iterable[Furniture]) -> bool:
    return any(_gap_m(piece, other) <= NEAR_M for other in others if other is not piece)


def _gap_m(piece: Furniture, other: Furniture) -> float:
    """Between the middles of two pieces."""
    return math.hypot(piece.x_m - other.x_m, piece.y_m - other.y_m)


def _nearest(pieces: Iterable[Furniture], at: Furniture) -> Furniture:
    return min(pieces, key=lambda one: _gap_m(one, at))
