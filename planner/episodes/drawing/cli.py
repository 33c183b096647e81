"""`planner episodes draw`: an episode as a picture."""

from __future__ import annotations

from pathlib import Path

from planner.episodes.drawing.picture import draw_episode
from planner.episodes.drawing.raster import image_of
from planner.episodes.drawing.svg import svg_text
from planner.world.errors import FileError
from planner.world.house_checks import load_episode

_SCALE = 1.5


def draw(name: str, output: Path | None) -> int:
    """Draws one episode and prints where.

    Args:
        name: of a shipped episode, or a path.
        output: a file `.png` or `.svg`; None: `NAME.png` in this folder.

    Raises:
        PlannerError: if it cannot be read, drawn or written.
    """
    if output is not None and output.suffix.lower() not in (".png", ".svg"):
        raise FileError(output, "", "expected a name that ends in .png or .svg")
    picture = draw_episode(*load_episode(name))
    path = output or Path(f"{Path(name).stem}.png")
    try:
        if path.suffix.lower() == ".svg":
            path.write_text(svg_text(picture), encoding="utf-8")
        else:
            # So few colours that a palette, with which files are a third as large, has them all.
            image_of(picture, _SCALE).quantize(128).save(path, format="PNG", optimize=True)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
    print(f"{path}: {picture.title[:120]}")
    return 0
