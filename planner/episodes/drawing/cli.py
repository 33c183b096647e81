"""`planner episodes draw`: an episode, or an instruction as it is understood, as a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planner.episodes.drawing.picture import draw_episode
from planner.episodes.drawing.picture_file import write_picture
from planner.episodes.drawing.understood import draw_understood
from planner.language.goal_form import Goal
from planner.world.errors import FileError
from planner.world.house_checks import load_episode, load_house

Understand = Callable[[str], Goal]
"""Reads an instruction; raises PlannerError with the question or the refusal."""


def draw(name: str, output: Path | None, house: str, understand: Understand | None) -> int:
    """Draws an episode, or an instruction as it is understood, and prints where.

    Args:
        name: of a shipped episode, a path, or an instruction in words.
        output: a file `.png` or `.svg`; None: `NAME.png` or `understood.png` in this folder.
        house: for an instruction.
        understand: reads an instruction; None: only episodes are drawn.

    Raises:
        PlannerError: if it cannot be read, understood, drawn or written.
    """
    if output is not None and output.suffix.lower() not in (".png", ".svg"):
        raise FileError(output, "", "expected a name that ends in .png or .svg")
    if understand is not None and len(name.split()) > 1 and Path(name).suffix != ".json":
        picture, stem = draw_understood(name, understand(name), load_house(house)), "understood"
    else:
        picture, stem = draw_episode(*load_episode(name)), Path(name).stem
    path = output or Path(f"{stem}.png")
    write_picture(picture, path)
    print(path)
    return 0
