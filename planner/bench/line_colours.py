"""Colours of the lines of a plot: as many as there are lines, no two alike."""

from __future__ import annotations

import colorsys

# Two values in turn, so that neighbours of many hues differ in brightness as well.
_VALUES = (0.72, 0.5)


def line_colours(count: int) -> tuple[tuple[int, int, int], ...]:
    """`count` different colours (red, green, blue, 0 to 255): hues at equal distances."""
    found = []
    for number in range(count):
        value = _VALUES[number % len(_VALUES)] if count > 6 else _VALUES[0]
        red, green, blue = colorsys.hsv_to_rgb(number / count, 0.85, value)
        found.append((round(255 * red), round(255 * green), round(255 * blue)))
    return tuple(found)
