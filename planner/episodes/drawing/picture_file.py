"""Writes a picture as PNG or SVG."""

from __future__ import annotations

from pathlib import Path

from planner.episodes.drawing.raster import image_of
from planner.episodes.drawing.shapes import Picture
from planner.episodes.drawing.svg import svg_text
from planner.world.errors import FileError

_SCALE = 1.5


def write_picture(picture: Picture, path: Path) -> None:
    """Writes a picture as SVG or PNG, by the file's name; creates its folder.

    Raises:
        FileError: if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() == ".svg":
            path.write_text(svg_text(picture), encoding="utf-8")
        else:
            # So few colours that a palette, with which files are a third as large, has them all.
            image_of(picture, _SCALE).quantize(128).save(path, format="PNG", optimize=True)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
