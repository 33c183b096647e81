"""`planner houses`: generate, check, draw, list and export houses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from planner.houses.drawing import PlanLayers, draw_floor_plan
from planner.houses.generator import generate_house
from planner.houses.hssd.dataset import HssdDataset
from planner.houses.hssd.scene import read_scene
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
        help="habitat: a downloaded HSSD, whose own meshes a house of it is shown with",
    )

    hssd = actions.add_parser("import", help="read a scene of a downloaded HSSD as a house")
    hssd.add_argument("folder", type=Path, metavar="DIR", help="of the data set hssd-hab")
    hssd.add_argument("scene", nargs="?", help="default: list the scenes")
    hssd.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: hssd-SCENE.json")

    actions.add_parser("list", help="the shipped houses")
    actions.add_parser("ship", help="rebuild the shipped houses from their recipes")


Exporter = Callable[[House, Path, Path | None], str]
"""Writes a house into a folder, with a downloaded HSSD if given; returns what it wrote."""


Explorer = Callable[[House, Path | None], str]
"""Explores a house, draws the built map into a file if given, and returns what it came to."""


def run(args: argparse.Namespace, exporters: Mapping[str, Exporter], explorer: Explorer) -> int:
    """Runs one action and returns the exit status; `exporters` by the format's name."""
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
    _write(args.output, partial(write_house, house))
    print(f"{args.output}: {_summary(house)}")
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
            print(f"{path}: sound, {_summary(house)}")
        wrong = wrong or bool(findings)
    return 1 if wrong else 0


def _draw(args: argparse.Namespace) -> int:
    if not 10 <= args.scale <= 400:
        raise PlannerError(f"--scale {args.scale}: from 10 to 400 pixels per metre")
    house = read_house(find_house(args.house))
    layers = PlanLayers(object_names=args.object_names)
    picture = draw_floor_plan(house, pixels_per_m=args.scale, layers=layers)
    output = args.output or Path(f"{house.name}.png")
    _write(output, lambda path: picture.save(path, format="PNG"))
    print(f"{output}: {picture.width} x {picture.height} pixels")
    return 0


def _import(args: argparse.Namespace) -> int:
    dataset = HssdDataset(args.folder)
    if args.scene is None:
        print("\n".join(sorted(dataset.scenes)))
        return 0
    scene = read_scene(dataset, args.scene, default_catalogue())
    output = args.output or Path(f"{scene.house.name}.json")
    _write(output, partial(write_house, scene.house))
    print(f"{output}: {_summary(scene.house)}")
    for sentence in scene.left_out:
        print(f"  {sentence}")
    return 0


def _list(_: argparse.Namespace) -> int:
    for path in shipped_houses():
        house = load_house(path)
        print(f"{house.name:<16} {house.split:<8} {_summary(house)}")
    return 0


def _ship(_: argparse.Namespace) -> int:
    for recipe in recipes():
        recipe.path.parent.mkdir(parents=True, exist_ok=True)
        house = recipe.make()
        _write(recipe.path, partial(write_house, house))
        print(f"{recipe.path}: {_summary(house)}")
    return 0


def _summary(house: House) -> str:
    area = sum(room.shape.area for room in house.rooms)
    return (
        f"{len(house.rooms)} rooms, {area:.0f} m2, {len(house.furniture)} pieces of furniture, "
        f"{len(house.objects)} things"
    )


def _write(path: Path, write: Callable[[Path], object]) -> None:
    try:
        write(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None


_ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "generate": _generate,
    "check": _check,
    "draw": _draw,
    "import": _import,
    "list": _list,
    "ship": _ship,
}
