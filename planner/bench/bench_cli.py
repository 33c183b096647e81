"""`planner bench memory`: scores of memory updaters on simulated tours."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from planner.bench.curves import draw_curves
from planner.bench.memory_bench import HouseScore, MakeUpdater, as_json, score_house, table
from planner.houses.shipped import recipes
from planner.memory.learned.detector import Detector
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.scores import DEFAULT_DISTANCE_M
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.embedded.backend import EmbeddedBackend

REFERENCE = "privileged"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner bench memory`."""
    parser.add_argument(
        "houses", nargs="*", metavar="HOUSE", help="names or files; none: the held-out houses"
    )
    parser.add_argument(
        "--updater",
        action="append",
        choices=sorted(_makers(None)),
        help="repeatable; privileged is always there, it says what could be seen",
    )
    parser.add_argument("--model", type=Path, help="of the learned updater; default: the shipped")
    parser.add_argument(
        "--distance", type=float, default=DEFAULT_DISTANCE_M, help="farthest match, metres"
    )
    parser.add_argument("--seed", type=int, default=1, help="of starts and of what is moved")
    parser.add_argument("--once", action="store_true", help="no second tour with things moved")
    parser.add_argument("--rooms-only", action="store_true", help="do not walk up to furniture")
    parser.add_argument("--json", type=Path, help="everything, for machines")
    parser.add_argument("--curves", type=Path, help="a picture of the scores over time (PNG)")


def run(args: argparse.Namespace) -> int:
    """Scores and prints."""
    if not (args.distance > 0):
        raise PlannerError(f"--distance {args.distance} is not a distance above 0")
    known = _makers(args.model)
    names = list(dict.fromkeys([REFERENCE, *(args.updater or sorted(known))]))
    makers = {name: known[name] for name in names}
    houses = [load_house(word) for word in args.houses or _heldout()]
    scores: list[HouseScore] = []
    for house in houses:
        scores += score_house(
            house,
            makers,
            reference=REFERENCE,
            distance_m=args.distance,
            seed=args.seed,
            tell=print,
            second_tour=not args.once,
            pieces=not args.rooms_only,
        )
    print(f"\n{len(houses)} houses, matches up to {args.distance:g} m, mean [95 % interval]")
    print(table(scores))
    settings = {"houses": [h.name for h in houses], "distance_m": args.distance, "seed": args.seed}
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


def _makers(model: Path | None) -> Mapping[str, MakeUpdater]:
    def privileged(_: House, backend: EmbeddedBackend) -> PrivilegedUpdater:
        return PrivilegedUpdater(backend.world_state)

    def learned(layout: House, _: EmbeddedBackend) -> LearnedUpdater:
        return LearnedUpdater(layout, Detector.load(model))

    return {REFERENCE: privileged, "learned": learned}
