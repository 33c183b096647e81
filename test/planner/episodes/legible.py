"""What a drawing of an episode says, and whether it can be read."""

from __future__ import annotations

from itertools import combinations

from planner.episodes.drawing.shapes import Path, Picture, Text, text_bounds


def words_of(picture: Picture) -> list[str]:
    return [shape.text for shape in picture.shapes if isinstance(shape, Text)]


def check_legible(picture: Picture) -> None:
    bounds = [(text_bounds(s), s.text) for s in picture.shapes if isinstance(s, Text)]
    for (left, top, right, bottom), text in bounds:
        assert left >= 0, text
        assert top >= 0, text
        assert right <= picture.width, text
        assert bottom <= picture.height, text
    for (a, one), (b, other) in combinations(bounds, 2):
        apart = a[0] >= b[2] - 1 or b[0] >= a[2] - 1 or a[1] >= b[3] - 1 or b[1] >= a[3] - 1
        assert apart, (one, other)
    for shape in picture.shapes:
        if isinstance(shape, Path):
            assert all(0 <= x <= picture.width for x, _ in shape.points)
            assert all(0 <= y <= picture.height for _, y in shape.points)
