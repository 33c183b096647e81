"""Icons of furniture, 64 by 48 pixels, that can be told apart at a glance (PARTNR-4.6)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from planner.episodes.drawing.shapes import PAPER, Box, Colour, Oval, Path, Shape
from planner.episodes.virtualhome.words import VirtualHomeWords
from planner.world.catalogue import default_catalogue

WIDTH, HEIGHT = 64.0, 48.0

# Strokes: `R x y width height` a rectangle, `O x y radius_x radius_y` an ellipse, `L x y x y ...`
# connected lines; later ones cover earlier ones.
_STROKES: Mapping[str, str] = {
    "armchair": (
        "R 16 6 32 24; R 10 20 8 22; R 46 20 8 22; R 18 28 28 14; L 14 42 14 48; L 50 42 50 48"
    ),
    "bathtub": (
        "L 4 20 8 42 56 42 60 20 4 20; L 12 42 10 48; L 52 42 54 48; L 52 20 52 8 44 8 44 12"
    ),
    "bed": "R 4 8 5 40; R 9 28 48 12; R 11 20 16 8; R 57 22 4 26; L 9 46 57 46",
    "bench": "R 4 24 56 6; L 10 30 10 48; L 54 30 54 48; L 10 40 54 40",
    "cabinet": "R 12 2 40 46; L 32 2 32 48; L 28 22 28 28; L 36 22 36 28",
    "chair": "L 20 4 20 48; L 20 8 26 8; L 20 16 26 16; R 18 26 26 5; L 42 31 42 48",
    "chest_of_drawers": (
        "R 8 8 48 38; L 8 20 56 20; L 8 33 56 33; L 28 14 36 14; L 28 26 36 26; L 28 39 36 39"
    ),
    "couch": (
        "R 8 10 48 22; R 3 20 8 22; R 53 20 8 22; R 11 28 21 14; R 32 28 21 14; "
        "L 8 42 8 48; L 56 42 56 48"
    ),
    "counter": (
        "R 2 14 60 6; R 6 20 52 28; L 24 20 24 48; L 42 20 42 48; L 10 24 18 24; "
        "L 28 24 36 24; L 46 24 54 24"
    ),
    "curtains": (
        "L 2 4 62 4; L 8 4 8 46 14 42 20 46 26 40 26 4; L 14 4 14 42; "
        "L 38 4 38 40 44 46 50 42 56 46 56 4; L 50 4 50 42"
    ),
    "desk": "R 3 16 58 5; R 40 21 18 27; L 40 30 58 30; L 40 39 58 39; L 7 21 7 48",
    "dishwasher": (
        "R 14 4 36 44; L 14 13 50 13; O 20 9 2 2; L 28 9 44 9; L 22 20 42 20; "
        "O 32 33 9 9; O 32 33 4 4"
    ),
    "filing_cabinet": "R 17 2 30 46; L 17 25 47 25; R 26 8 12 6; R 26 31 12 6",
    "floor_lamp": "L 24 4 40 4 46 18 18 18 24 4; L 32 18 32 46; L 22 47 42 47",
    "fridge": "R 17 0 30 48; L 17 18 47 18; L 22 8 22 14; L 22 22 22 34",
    "hamper": (
        "L 14 10 18 48 46 48 50 10 14 10; L 16 22 48 22; L 17 34 47 34; L 26 10 28 48; "
        "L 38 10 36 48"
    ),
    "light_switch": "R 20 6 24 36; R 27 15 10 18; L 27 24 37 24",
    "microwave": "R 6 12 52 32; R 11 17 32 22; L 48 18 53 18; L 48 24 53 24; O 50 34 3 3",
    "nightstand": (
        "R 16 16 32 24; L 16 28 48 28; O 32 22 1.5 1.5; O 32 34 1.5 1.5; L 19 40 19 48; "
        "L 45 40 45 48"
    ),
    "oven": (
        "R 12 4 40 44; L 12 14 52 14; O 19 9 2 2; O 28 9 2 2; O 37 9 2 2; O 46 9 2 2; "
        "R 18 22 28 18; L 20 18 44 18"
    ),
    "shelves": "R 12 0 40 48; L 12 12 52 12; L 12 24 52 24; L 12 36 52 36",
    "shoe_rack": (
        "L 6 14 6 48; L 58 14 58 48; L 6 22 58 22; L 6 38 58 38; "
        "L 14 22 14 17 24 20 24 22; L 36 38 36 33 46 36 46 38"
    ),
    "shower": (
        "L 10 48 54 48; L 14 48 14 2 38 2 38 8; L 30 12 34 8 42 8 46 12 30 12; "
        "L 32 18 30 26; L 38 18 38 28; L 44 18 46 26"
    ),
    "sink": (
        "L 8 24 56 24 50 38 14 38 8 24; L 32 38 32 48; L 32 24 32 10 42 10 42 15; L 24 14 28 14"
    ),
    "stool": "O 32 18 16 5; L 22 22 16 48; L 42 22 48 48; L 19 36 45 36",
    "stove_knob": "O 32 24 16 16; L 32 24 32 10",
    "table": "R 2 14 60 6; L 8 20 8 48; L 56 20 56 48",
    "toilet": "R 10 4 14 26; O 38 26 16 6; L 24 28 30 40 30 48 46 48 46 40 53 28",
    "toy_box": "R 10 20 44 28; L 8 20 12 8 56 8 54 20; O 32 34 6 6; L 32 28 32 40",
    "trash_can": (
        "L 18 14 22 48 42 48 46 14 18 14; L 14 14 50 14; L 28 14 28 9 36 9 36 14; "
        "L 28 20 29 42; L 36 20 35 42"
    ),
    "tv": "R 4 6 56 34; R 8 10 48 26; L 32 40 32 46; L 20 47 44 47",
    "tv_stand": "R 4 24 56 16; L 23 24 23 40; L 41 24 41 40; L 8 40 8 48; L 56 40 56 48",
    "wardrobe": (
        "R 12 0 40 44; L 32 0 32 44; L 29 20 29 26; L 35 20 35 26; L 16 44 16 48; "
        "L 48 44 48 48; L 12 8 52 8"
    ),
    "washer_dryer": (
        "R 12 4 40 44; L 12 13 52 13; O 32 30 12 12; O 32 30 8 8; O 18 8.5 2 2; L 38 8.5 48 8.5"
    ),
    "floor": "L 2 40 62 40; L 10 40 4 47; L 26 40 20 47; L 42 40 36 47; L 58 40 52 47",
}
# For classes without an icon of their own, whose name is written below in any case.
_OTHER = "R 6 6 52 42; L 6 6 58 48; L 58 6 6 48"


def icon(class_name: str, ink: Colour) -> list[Shape]:
    """The icon of a class of furniture (or `floor`), its top left corner at (0, 0)."""
    return [_stroke(word, numbers, ink) for word, numbers in _parsed(class_name)]


def has_icon(class_name: str) -> bool:
    """Whether a class has an icon of its own."""
    return class_name in _STROKES


@lru_cache(maxsize=128)
def _parsed(class_name: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    drawn = _STROKES.get(class_name)
    if drawn is None:
        # Graphs have furniture by VirtualHome's words.
        known = _words().find(class_name)
        drawn = _OTHER if known is None else _STROKES.get(known.class_name, _OTHER)
    strokes = (stroke.split() for stroke in drawn.split(";"))
    return tuple((word, tuple(map(float, numbers))) for word, *numbers in strokes)


@lru_cache(maxsize=1)
def _words() -> VirtualHomeWords:
    return VirtualHomeWords(default_catalogue())


def _stroke(word: str, numbers: tuple[float, ...], ink: Colour) -> Shape:
    if word == "R":
        x, y, width, height = numbers
        return Box(x, y, width, height, PAPER, ink, 1.6, radius=2)
    if word == "O":
        x, y, radius_x, radius_y = numbers
        return Oval(x, y, radius_x, radius_y, PAPER, ink, 1.6)
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    return Path(points, stroke=ink, width=1.6)
