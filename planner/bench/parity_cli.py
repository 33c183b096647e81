"""`planner bench parity --a BACKEND --b BACKEND HOUSE...`: do two simulators agree?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from planner.bench.judges import compare_judges, judges_lines
from planner.bench.parity import Pixels, compare_backends, make_pair, parity_lines
from planner.parts.kinds import BACKENDS
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.geometry import GeometrySource
from sim_bridge.opening import bare_episode
from sim_bridge.part import Drawn
from sim_bridge.registry import make_backend

_MAX_DEPTH_M = 8.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("houses", nargs="+", metavar="HOUSE", help="names or files")
    parser.add_argument(
        "--a", default="embedded", choices=sorted(BACKENDS.names()), help="a simulator"
    )
    parser.add_argument(
        "--b", default="habitat", choices=sorted(BACKENDS.names()), help="another one"
    )
    for which in ("a", "b"):
        parser.add_argument(
            f"--{which}-config",
            default="",
            metavar="FILE",
            help=f"settings of --{which}; default: the shipped",
        )
    parser.add_argument(
        "--judges",
        action="store_true",
        help="compare our evaluator's predicates with each simulator's own geometry instead",
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pictures", type=Path, help="folder for each house's worst pictures")


def run(args: argparse.Namespace) -> int:
    """Compares in each house; 0 only if the simulators agree in all."""
    names, alike = (args.a, args.b), 0
    houses = [load_house(name) for name in args.houses]
    if args.judges:
        asked = dict.fromkeys(((args.a, args.a_config), (args.b, args.b_config)))
        return _compare_judges(houses, tuple(asked), args.seed)
    first, second = make_pair(
        partial(make_backend, args.a, args.a_config), partial(make_backend, args.b, args.b_config)
    )
    try:
        for house in houses:
            parity = compare_backends(first, second, house, args.seed)
            print("\n".join(parity_lines(parity, names)), flush=True)
            alike += not parity.different
            if args.pictures:
                _write(args.pictures / f"{house.name}.png", parity.pixels)
    finally:
        first.close()
        second.close()
    print(f"at par in {alike} of {len(houses)} houses")
    return 0 if alike == len(houses) else 1


def _compare_judges(houses: Sequence[House], asked: Sequence[tuple[str, str]], seed: int) -> int:
    """Prints a table for each simulator and house; always 0, as it is a measurement.

    `asked` are pairs of a simulator and its file of settings.
    """
    with ExitStack() as opened:
        backends = []
        for name, settings in asked:
            backend = make_backend(name, settings, Drawn(pictures=False))
            opened.callback(backend.close)
            if not isinstance(backend, GeometrySource):
                raise PlannerError(f"--judges: the geometry of {name} cannot be asked")
            # One that is missing is told before the first table.
            backend.reset(houses[0], bare_episode(houses[0], 1), seed)
            backends.append(backend)
        for house in houses:
            for (name, _), backend in zip(asked, backends, strict=True):
                compared = compare_judges(backend, house, seed)
                print("\n".join(judges_lines(compared, name)), flush=True)
    return 0


def _write(path: Path, pixels: Pixels) -> None:
    """Writes colour and depth of the worst pair, the first simulator above the second."""
    if pixels.worst is None:
        return
    rows = []
    for frame in pixels.worst:
        depth = np.clip(frame.depth_m / _MAX_DEPTH_M * 255, 0, 255).astype(np.uint8)
        ids = np.asarray(frame.instances)
        labels = np.stack([ids * 37 % 256, ids * 91 % 256, ids * 151 % 256], -1).astype(np.uint8)
        rows.append(np.hstack([frame.rgb[..., ::-1], np.dstack([depth] * 3), labels]))
    path.parent.mkdir(parents=True, exist_ok=True)
    if not cv2.imwrite(str(path), np.vstack(rows)):
        raise FileError(path, "", "cannot be written")
