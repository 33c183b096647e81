"""`planner houses`: generate, check, draw, list and export houses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from planner.houses.drawing import PlanLayers, draw_floor_plan
from planner.houses.generator import generate_house
from planner.houses.importing import add_import_arguments, run_import
from planner.houses.reporting import summary, write_or_refuse
from planner.houses.shipped import recipes, shipped_houses
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.house import House, house_json, write_house
from planner.world.house_checks import check_house, find_house, load_house, read_house


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner houses`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    generate = actions.add_parser("generate", help="make a new house from a seed")
    generate.add_argument("--seed", type=int, required=True, help="random seed")
    generate.add_argument("--rooms", type=int, metavar="K", help="how many rooms, 4 to 12")
    generate.add_argument(
        "--room",
        action="append",
        default=[],
        metavar="CLASS=N",
        help="rooms of a class, such as bedroom=2 (repeatable; instead of --rooms)",
    )
    generate.add_argument("--objects", type=int, metavar="N", help="number of objects")
    generate.add_argument("--name", help="name of the house; default house_SEED")
    generate.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: print it")

    check = actions.add_parser("check", help="validate houses")
    check.add_argument("houses", nargs="+", metavar="FILE_OR_NAME")

    draw = actions.add_parser("draw", help="draw a floor plan")
    draw.add_argument("house", metavar="FILE_OR_NAME")
    draw.add_argument("-o", "--output", type=Path, metavar="PNG", help="default: NAME.png")
    draw.add_argument("--scale", type=float, default=80.0, metavar="PX", help="pixels per metre")
    draw.add_argument("--object-names", action="store_true", help="label the objects")

    explore = actions.add_parser(
        "explore", help="let a simulated robot explore a house by its camera, without a map"
    )
    explore.add_argument("house", metavar="FILE_OR_NAME")
    explore.add_argument("-o", "--output", type=Path, metavar="PNG", help="draws the built map")

    export = actions.add_parser("export", help="write a house in a simulator's own format")
    export.add_argument(
        "format",
        choices=("habitat", "mujoco"),
        help="habitat: a scene dataset; mujoco: an MJCF file",
    )
    export.add_argument("house", metavar="FILE_OR_NAME")
    export.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="where the files go"
    )
    export.add_argument(
        "--scenes",
        type=Path,
        metavar="DIR",
        help="habitat: the scene data set that it was read from, whose own meshes are shown",
    )

    add_import_arguments(
        actions.add_parser("import", help="read scenes of a downloaded HSSD as houses")
    )

    play = actions.add_parser(
        "play", help="play VirtualHome's programs and compare with their final graphs"
    )
    play.add_argument(
        "folder", type=Path, metavar="DIR", help="with executable_programs, init_and_final_graphs"
    )

    actions.add_parser("list", help="the shipped houses")
    actions.add_parser("ship", help="rebuild the shipped houses from their recipes")


Exporter = Callable[[House, Path, Path | None], str]
"""Writes a house into a folder, with a downloaded HSSD if given; returns what it wrote."""


Explorer = Callable[[House, Path | None], str]
"""Explores a house, draws the built map into a file if given, and returns what it came to."""


Player = Callable[[Path], bool]
"""Plays the programs under a folder and prints what became of them; whether all came out."""


def run(
    args: argparse.Namespace,
    exporters: Mapping[str, Exporter],
    explorer: Explorer,
    player: Player,
) -> int:
    """Runs one action and returns the exit status; `exporters` by the format's name."""
    if args.action == "play":
        return 0 if player(args.folder) else 1
    if args.action == "explore":
        print(explorer(load_house(args.house), args.output))
        return 0
    if args.action == "export":
        print(exporters[args.format](load_house(args.house), args.output, args.scenes))
        return 0
    return _ACTIONS[args.action](args)


def _generate(args: argparse.Namespace) -> int:
    if args.room and args.rooms is not None:
        raise PlannerError("give either --rooms or --room, not both")
    rooms = _room_counts(args.room) if args.room else args.rooms
    name = args.name or f"house_{args.seed}"
    house = generate_house(name, args.seed, rooms=rooms, objects=args.objects)
    if args.output is None:
        sys.stdout.write(house_json(house))
        return 0
    write_or_refuse(args.output, partial(write_house, house))
    print(f"{args.output}: {summary(house)}")
    return 0


def _room_counts(words: list[str]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        cls, _, number = word.partition("=")
        known = default_catalogue().room_name(cls)
        if known is None or not number.isdecimal():
            raise PlannerError(f"--room {word!r} is not of the form CLASS=N with a known class")
        counts[known] = counts.get(known, 0) + int(number)
    return counts


def _check(args: argparse.Namespace) -> int:
    wrong = False
    for word in args.houses:
        try:
            path = find_house(word)
            house = read_house(path)
        except FileError as error:
            print(error)
            wrong = True
            continue
        findings = check_house(house, default_catalogue())
        for finding in findings:
            print(f"{path}: {finding}")
        if not findings:
            print(f"{path}: sound, {summary(house)}")
        wrong = wrong or bool(findings)
    return 1 if wrong else 0


def _draw(args: argparse.Namespace) -> int:
    if not 10 <= args.scale <= 400:
        raise PlannerError(f"--scale {args.scale}: from 10 to 400 pixels per metre")
    house = read_house(find_house(args.house))
    layers = PlanLayers(object_names=args.object_names)
    picture = draw_floor_plan(house, pixels_per_m=args.scale, layers=layers)
    output = args.output or Path(f"{house.name}.png")
    write_or_refuse(output, lambda path: picture.save(path, format="PNG"))
    print(f"{output}: {picture.width} x {picture.height} pixels")
    return 0


def _list(_: argparse.Namespace) -> int:
    for path in shipped_houses():
        house = load_house(path)
        print(f"{house.name:<16} {house.split:<8} {summary(house)}")
    return 0


def _ship(_: argparse.Namespace) -> int:
    for recipe in recipes():
        recipe.path.parent.mkdir(parents=True, exist_ok=True)
        house = recipe.make()
        write_or_refuse(recipe.path, partial(write_house, house))
        print(f"{recipe.path}: {summary(house)}")
    return 0


_ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "generate": _generate,
    "check": _check,
    "draw": _draw,
    "import": run_import,
    "list": _list,
    "ship": _ship,
}
