"""`--to animation`: a run on the floor plan, with the agents' views, as a picture that moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from planner.replay.export.animation_page import AnimationPage
from planner.replay.export.source import Source
from planner.replay.report.collect import collect
from planner.world.errors import FileError, PlannerError

FPS, SPEED = 8, 16.0
FORMATS = {".webp": "WEBP", ".gif": "GIF"}
# A moving picture is for a page; longer recordings are for --to video.
MAX_FRAMES = 1000
# How long the end is shown.
_END_S = 3.0
_PICTURE_BYTES = 40_000_000
_QUALITY = 62


@dataclass(frozen=True, slots=True)
class AnimationOptions:
    """How fast it is.

    Attributes:
        fps: frames per second of the picture.
        speed: seconds of the world per second of the picture.
    """

    fps: int = FPS
    speed: float = SPEED


def write_animation(source: Source, path: Path, suffix: str, options: AnimationOptions) -> int:
    """Writes the moving picture; returns the number of frames.

    Args:
        source: the bag.
        path: of the file.
        suffix: `.webp` or `.gif`, the format.
        options: how fast it is.

    Raises:
        PlannerError: for another format or too many frames.
        FileError: if the bag does not say in which house the run was, or cannot be read.
        OSError: if the file system refuses.
    """
    if suffix not in FORMATS:
        raise PlannerError(f"{path.name}: expected a name that ends in .webp or .gif")
    house = source.house
    if house is None:
        raise FileError(source.folder, "/world/info", "does not name a house: there is no plan")
    found = collect(source.folder, source.folder.name, _PICTURE_BYTES)
    step_s = options.speed / options.fps
    count = int(found.report.about.duration_s / step_s) + 1
    if count > MAX_FRAMES:
        needed = found.report.about.duration_s * options.fps / MAX_FRAMES
        raise PlannerError(
            f"{count} frames are more than {MAX_FRAMES}: --speed {needed:.0f} or more, or a lower "
            "--fps"
        )
    page = AnimationPage(house, found)
    times_s = [*(number * step_s for number in range(count)), found.report.about.duration_s]

    def images() -> Iterator[Image.Image]:
        return (page.draw(time_s) for time_s in times_s)

    frames = images()
    pause_ms = round(1000 / options.fps)
    next(frames).save(
        path,
        FORMATS[suffix],
        save_all=True,
        append_images=frames,
        duration=[*[pause_ms] * count, round(1000 * _END_S)],
        loop=0,
        quality=_QUALITY,
        method=4,
    )
    return len(times_s)
