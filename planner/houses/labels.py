"""Text labels on an image that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from PIL import ImageDraw, ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_HALO = (255, 255, 255)


@lru_cache(maxsize=16)
def font(size_px: int) -> Font:
    """Pillow's own font, so that images look the same on every machine."""
    return ImageFont.load_default(size_px)


class Labels:
    """Writes each text at the first of several positions that is still free."""

    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self._draw = draw
        self._taken: list[tuple[float, float, float, float]] = []

    def write(
        self,
        text: str,
        places: Iterable[tuple[float, float]],
        size_px: int,
        colour: tuple[int, int, int],
        *,
        force: bool = False,
    ) -> bool:
        """Writes centred on one of `places`; with `force` on the first if all are taken."""
        face = font(size_px)
        spots = list(places)
        for x, y in spots:
            box = self._box(text, x, y, face)
            if not any(_meet(box, other) for other in self._taken):
                self._put(text, x, y, face, colour)
                return True
        if force and spots:
            self._put(text, *spots[0], face, colour)
        return force

    def extent(self, text: str, size_px: int) -> tuple[float, float]:
        """Width and height of a text, pixels."""
        x0, y0, x1, y1 = self._box(text, 0.0, 0.0, font(size_px))
        return x1 - x0, y1 - y0

    def _put(self, text: str, x: float, y: float, face: Font, colour: tuple[int, int, int]) -> None:
        self._taken.append(self._box(text, x, y, face))
        stroke = max(1, round(getattr(face, "size", 10) / 8))
        self._draw.multiline_text(
            (x, y),
            text,
            fill=colour,
            font=face,
            anchor="mm",
            align="center",
            spacing=1,
            stroke_width=stroke,
            stroke_fill=_HALO,
        )

    def _box(self, text: str, x: float, y: float, face: Font) -> tuple[float, float, float, float]:
        return self._draw.multiline_textbbox((x, y), text, font=face, anchor="mm", spacing=1)


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
