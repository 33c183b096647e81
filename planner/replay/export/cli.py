"""`planner export BAG... --to rerun|lerobot|csv|video|animation`: bags for other tools."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from planner.replay.export.animation_page import AnimationPage
from planner.replay.export.source import Source
from planner.replay.report.collect import collect
from planner.replay.storage import printable
from planner.world.errors import FileError, PlannerError

# The destination of an export: written atomically, never over other files, never into a bag.


def check_outside(path: Path, bags: Sequence[Path]) -> None:
    """Rejects a destination that is a bag, lies in one or contains one.

    Raises:
        PlannerError: naming the bag.
    """
    place = path.resolve()
    for bag in bags:
        folder = bag.resolve()
        if place == folder or folder in place.parents or place in folder.parents:
            raise PlannerError(f"{path}: lies in the bag {bag} or holds it; name another place, -o")


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Yields a temporary path beside `path`, which is renamed to `path` on success.

    Raises:
        PlannerError: if `path` exists and `force` is not set, or the file system refuses.
    """
    if path.is_dir():
        raise PlannerError(f"{path}: is a folder; this format writes a file")
    if path.exists() and not force:
        raise PlannerError(f"{path}: exists already; --force replaces it")
    temporary = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise PlannerError(f"{path}: cannot be written: {error}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path, *, marker: str, force: bool) -> Iterator[Path]:
    """Yields a temporary folder beside `path`, which is renamed to `path` on success.

    Args:
        path: of the new folder.
        marker: a file that every export of this format has: `force` replaces nothing else.
        force: whether an earlier export of the same format is replaced.

    Raises:
        PlannerError: if `path` exists and may not be replaced, or the file system refuses.
    """
    if path.exists() and not force:
        raise PlannerError(f"{path}: exists already; --force replaces it")
    if path.exists() and not (path / marker).is_file():
        raise PlannerError(f"{path}: is not an export of this format (no {marker}): not replaced")
    temporary, old = _temporary(path), _temporary(path, "old")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if path.exists():
            path.rename(old)
        temporary.rename(path)
    except OSError as error:
        if old.exists() and not path.exists():
            old.rename(path)
        raise PlannerError(f"{path}: cannot be written: {error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)


def require_extra(extra: str, *modules: str) -> None:
    """Checks that the libraries of an optional extra are installed.

    Raises:
        PlannerError: naming the library and how to get it.
    """
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            reason = f"needs the Python package {name}: pip install 'planner[{extra}]'"
            raise PlannerError(f"this export {reason}") from None


def _temporary(path: Path, word: str = "partial") -> Path:
    # With the process id, so that parallel exports do not share a temporary path.
    return path.with_name(f".{path.name}.{word}-{os.getpid()}{path.suffix}")


@dataclass(frozen=True, slots=True)
class Format:
    """One export format.

    Attributes:
        suffix: of the output, after the bag's name.
        export: writes the output, given the bags, the destination and the command's arguments;
            returns a summary.
        options: which of the command's options apply.
        several: whether it accepts more than one bag.
    """

    suffix: str
    export: Callable[[list[Source], Path, argparse.Namespace], str]
    options: tuple[str, ...] = ()
    several: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bags", nargs="+", type=Path, metavar="BAG", help="folder of a bag")
    parser.add_argument("--to", choices=list(FORMATS), required=True, help="the format")
    parser.add_argument(
        "-o", "--output", type=Path, help="file or folder to write; default: here, the bag's name"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an earlier export of the same format"
    )
    parser.add_argument(
        "--topics", nargs="+", metavar="TOPIC", help="csv: only these topics; default: all"
    )
    parser.add_argument(
        "--agent",
        action="append",
        metavar="NAME",
        help="lerobot, video: agent to export; may be repeated; default: agent_0, video: all",
    )
    parser.add_argument("--camera", metavar="NAME", help="lerobot, video: default: hand")
    parser.add_argument(
        "--fps",
        type=int,
        help="lerobot, video, animation: frames per second; default: 10, animation: 8",
    )
    parser.add_argument(
        "--speed",
        type=float,
        help="video, animation: seconds of the world per second; default: 1, animation: 16",
    )
    parser.add_argument(
        "--no-language-columns",
        action="store_true",
        default=None,
        help="lerobot: omit columns that LeRobot before 0.6 cannot load",
    )


def run(args: argparse.Namespace) -> int:
    """Export and print a summary."""
    chosen = FORMATS[args.to]
    for option in ("topics", "agent", "camera", "fps", "speed", "no_language_columns"):
        if getattr(args, option) is not None and option not in chosen.options:
            raise PlannerError(f"--{option.replace('_', '-')} is not an option of --to {args.to}")
    if len(args.bags) > 1 and not chosen.several:
        raise PlannerError(f"--to {args.to} takes one bag, not {len(args.bags)}")
    if args.fps is not None and not 1 <= args.fps <= 120:
        raise PlannerError(f"--fps {args.fps}: from 1 to 120")
    if args.speed is not None and not 0.01 <= args.speed <= 1000:
        raise PlannerError(f"--speed {args.speed:g}: from 0.01 to 1000")
    path: Path = args.output or Path(args.bags[0].resolve().name + chosen.suffix)
    check_outside(path, args.bags)
    sources = [Source(bag) for bag in args.bags]
    for source in sources:
        for line in source.bag.lacks():
            print(printable(f"missing in {source.folder}: {line}"), file=sys.stderr)
    print(f"{path}: {chosen.export(sources, path, args)}")
    return 0


def _csv(sources: list[Source], path: Path, args: argparse.Namespace) -> str:
    from planner.replay.export.csv_tables import MANIFEST, write_csv

    with new_folder(path, marker=MANIFEST, force=args.force) as folder:
        rows = write_csv(sources[0], folder, args.topics or ())
        tables = len(list(folder.glob("*.csv")))
    return f"{tables} tables, {rows} rows; {MANIFEST} says what is in them"


def _video(sources: list[Source], path: Path, args: argparse.Namespace) -> str:
    require_extra("export", "av")
    from planner.replay.export.video import CAMERA, FPS, SPEED, VideoOptions, write_video

    fps, speed = args.fps or FPS, args.speed or SPEED
    options = VideoOptions(tuple(args.agent or ()), args.camera or CAMERA, fps, speed)
    with new_file(path, force=args.force) as file:
        count = write_video(sources[0], file, options)
    return f"{count} frames, {count / fps:.1f} s"


def _animation(sources: list[Source], path: Path, args: argparse.Namespace) -> str:

    options = AnimationOptions(args.fps or FPS, args.speed or SPEED)
    with new_file(path, force=args.force) as file:
        count = write_animation(sources[0], file, path.suffix.lower(), options)
    return f"{count} frames, {path.stat().st_size / 1e6:.1f} MB"


def _rerun(sources: list[Source], path: Path, args: argparse.Namespace) -> str:
    require_extra("viewer", "rerun")
    from planner.replay.export.rerun_file import write_rrd

    with new_file(path, force=args.force) as file:
        write_rrd(sources[0], file)
    return f"{path.stat().st_size / 1e6:.1f} MB; rerun {path} shows it"


def _lerobot(sources: list[Source], path: Path, args: argparse.Namespace) -> str:
    require_extra("export", "av", "pyarrow")
    from planner.replay.export.lerobot_dataset import (
        AGENT,
        CAMERA,
        FPS,
        INFO,
        DatasetOptions,
        write_dataset,
    )

    agents, camera = tuple(args.agent or (AGENT,)), args.camera or CAMERA
    options = DatasetOptions(agents, camera, args.fps or FPS, not args.no_language_columns)
    with new_folder(path, marker=INFO, force=args.force) as folder:
        made = write_dataset(sources, folder, options)
    without_instruction = (
        f"; the instruction of {made.without_instruction} is not known"
        if made.without_instruction
        else ""
    )
    return f"{made.episodes} episodes, {made.frames} frames{without_instruction}"


FORMATS: Mapping[str, Format] = {
    "rerun": Format(".rrd", _rerun),
    "lerobot": Format(
        "_lerobot", _lerobot, ("agent", "camera", "fps", "no_language_columns"), several=True
    ),
    "csv": Format("_csv", _csv, ("topics",)),
    "animation": Format(".webp", _animation, ("fps", "speed")),
    "video": Format(".mp4", _video, ("agent", "camera", "fps", "speed")),
}


# `--to animation`: a run on the floor plan, with the agents' views, as a picture that moves.

FPS, SPEED = 8, 16.0
PICTURE_FORMATS = {".webp": "WEBP", ".gif": "GIF"}
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
    if suffix not in PICTURE_FORMATS:
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
        PICTURE_FORMATS[suffix],
        save_all=True,
        append_images=frames,
        duration=[*[pause_ms] * count, round(1000 * _END_S)],
        loop=0,
        quality=_QUALITY,
        method=4,
    )
    return len(times_s)
