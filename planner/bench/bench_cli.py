"""`planner bench memory`: scores memory updaters on simulated tours, and plots the scores."""

from __future__ import annotations

import argparse
import colorsys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from planner.app.house_tour import TrueClasses
from planner.app.part_flags import add_drawing_flags, check_draws
from planner.bench.memory_bench import HouseScore, MakeUpdater, Point, as_json, score_house, table
from planner.command_line import (
    add_model_flags,
    add_option_flags,
    add_sensors_flag,
    read_option_flags,
)
from planner.houses.generator import recipes
from planner.memory.part import UPDATERS, UpdaterModel, UpdaterRequest, load_updater
from planner.memory.scores import DEFAULT_DISTANCE_M
from planner.memory.updater import MemoryUpdater
from planner.parts.option import OptionValue, read_options
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.backend import Backend, Drawn, make_backend

# Colours of the lines of a plot: as many as there are lines, no two alike.

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


# Plots a memory's scores over a tour.

_SIZE, _MARGIN_PX = (900, 320), 46
_INK, _PAPER, _GRID = (30, 30, 30), (255, 255, 255), (222, 222, 222)
_CHARTS = ("precision", "recall", "hallucinations")


def draw_curves(scores: Sequence[HouseScore]) -> Image.Image:
    """One chart each for precision, recall and hallucinations, a line for each tour of a house.

    Each updater has a colour of its own.
    """
    width, height = _SIZE
    sheet = Image.new("RGB", (width, height * len(_CHARTS)), _PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(13)
    updaters = list(dict.fromkeys(score.updater for score in scores))
    colours = dict(zip(updaters, line_colours(len(updaters)), strict=True))
    last_s = max((p.stamp_s for s in scores for p in s.curve), default=1.0) or 1.0
    most = float(max((p.hallucinations for s in scores for p in s.curve), default=1) or 1)
    for number, measure in enumerate(_CHARTS):
        top = number * height
        max_value = most if measure == "hallucinations" else 1.0
        _frame(draw, font, top, measure, max_value, last_s)
        for score in scores:
            colour = colours[score.updater]
            line = [_place(p, measure, top, max_value, last_s) for p in score.curve]
            known = [point for point in line if point is not None]
            if len(known) > 1:
                draw.line(known, fill=colour, width=2)
        for index, updater in enumerate(updaters):
            place = (width - 180, top + 8 + 16 * index)
            draw.text(place, updater, fill=colours[updater], font=font)
    return sheet


def _place(
    point: Point, measure: str, top: int, max_value: float, last_s: float
) -> tuple[float, float] | None:
    value: float | None = getattr(point, measure)
    if value is None:
        return None
    width, height = _SIZE
    x = _MARGIN_PX + point.stamp_s / last_s * (width - 2 * _MARGIN_PX)
    y = top + height - _MARGIN_PX - value / max_value * (height - 2 * _MARGIN_PX)
    return x, y


def _frame(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    top: int,
    measure: str,
    max_value: float,
    last_s: float,
) -> None:
    width, height = _SIZE
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + height - _MARGIN_PX - share * (height - 2 * _MARGIN_PX)
        draw.line([(_MARGIN_PX, y), (width - _MARGIN_PX, y)], fill=_GRID)
        draw.text((6, y - 8), f"{share * max_value:g}"[:5], fill=_INK, font=font)
    draw.text((_MARGIN_PX, top + 8), measure, fill=_INK, font=font)
    draw.text((width - 2 * _MARGIN_PX, top + height - 30), f"{last_s:.0f} s", fill=_INK, font=font)


REFERENCE = "privileged"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner bench memory`."""
    parser.add_argument(
        "houses", nargs="*", metavar="HOUSE", help="names or files; none: the held-out houses"
    )
    parser.add_argument(
        "--updater",
        action="append",
        choices=UPDATERS.names(),
        help="repeatable; privileged is always there, it says what could be seen; "
        "default: all that need no model",
    )
    add_model_flags(parser, "of the one updater named: its file, folder or name on a server")
    parser.add_argument("--model-second", default="", help="LoRA adapter, or SigLIP beside OWLv2")
    add_drawing_flags(parser)
    add_sensors_flag(parser)
    parser.add_argument(
        "--distance", type=float, default=DEFAULT_DISTANCE_M, help="farthest match, metres"
    )
    parser.add_argument("--seed", type=int, default=1, help="of starts and of what is moved")
    parser.add_argument("--once", action="store_true", help="no second tour with things moved")
    parser.add_argument("--rooms-only", action="store_true", help="do not walk up to furniture")
    parser.add_argument("--json", type=Path, help="everything, for machines")
    parser.add_argument("--curves", type=Path, help="a picture of the scores over time (PNG)")
    add_option_flags(parser.add_argument_group("options of updaters"), UPDATERS.options())


def run(args: argparse.Namespace) -> int:
    """Runs the benchmark and prints the scores."""
    if not (args.distance > 0):
        raise PlannerError(f"--distance {args.distance} is not a distance above 0")
    names = [name for name in args.updater or _need_no_model() if name != REFERENCE]
    if args.model and len(names) != 1:
        raise PlannerError("--model is of one updater: name it with --updater")
    model = UpdaterModel(args.model, args.model_url, args.model_second)
    makers = {REFERENCE: _maker(REFERENCE, UpdaterModel(), {})}
    options = _options(args, names)
    makers |= {name: _maker(name, model, options) for name in names}
    check_draws(args.backend)
    houses = [load_house(word) for word in args.houses or _heldout()]
    scores: list[HouseScore] = []
    for house in houses:
        scores += score_house(
            house,
            makers,
            reference=REFERENCE,
            distance_m=args.distance,
            seed=args.seed,
            on_progress=print,
            second_tour=not args.once,
            pieces=not args.rooms_only,
            open_backend=partial(
                make_backend, args.backend, args.backend_config, Drawn(sensors=args.sensors)
            ),
        )
    print(f"\n{len(houses)} houses, matches up to {args.distance:g} m, mean [95 % interval]")
    print(table(scores))
    settings = {
        "houses": [h.name for h in houses],
        "distance_m": args.distance,
        "seed": args.seed,
        "backend": args.backend,
        "sensors": args.sensors,
    }
    try:
        if args.json:
            args.json.write_text(as_json(scores, settings) + "\n", encoding="utf-8")
        if args.curves:
            draw_curves(scores).save(args.curves, format="PNG")
    except OSError as error:
        path = args.json if args.json and error.filename == str(args.json) else args.curves
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
    return 0


def _heldout() -> list[str]:
    return [recipe.name for recipe in recipes() if recipe.split == "heldout"]


def _need_no_model() -> list[str]:
    return [name for name, part in UPDATERS.usable().items() if not part.needs_model]


def _options(args: argparse.Namespace, names: Sequence[str]) -> Mapping[str, OptionValue]:
    """The options of the selected updater; with several updaters none may be set."""
    return read_option_flags(args, names[0] if len(names) == 1 else "", UPDATERS.options())


def _maker(name: str, model: UpdaterModel, options: Mapping[str, OptionValue]) -> MakeUpdater:
    """Makes the updater for a house; without a model the baselines use true classes."""

    def make(layout: House, backend: Backend) -> MemoryUpdater:
        request = UpdaterRequest(
            name,
            model,
            truth_source=backend.world_state,
            class_of=TrueClasses(backend.world_state).of,
            options=read_options(UPDATERS.get(name).options, options),
        )
        return load_updater(request)(layout)

    return make
