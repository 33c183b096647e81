"""`planner houses`: generate, import, check, draw, list and export houses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from planner.houses.drawing import PlanLayers, draw_floor_plan
from planner.houses.generator import generate_house, recipes, shipped_houses
from planner.houses.part import (
    HOUSE_FORMATS,
    HouseFormat,
    HouseSource,
    ReadHouse,
    summary,
    write_or_refuse,
)
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.house import House, house_json, write_house
from planner.world.house_checks import check_house, find_house, load_house, read_house

# `planner houses import`: reads scenes of a downloaded data set as houses.


def _readable() -> dict[str, HouseFormat]:
    """The formats that can be read; a data set is of the first unless one is named."""
    return {name: part for name, part in HOUSE_FORMATS.usable().items() if part.read is not None}


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner houses import`."""
    formats = _readable()
    known = "; ".join(f"{name}: {part.summary}" for name, part in formats.items())
    parser.add_argument(
        "what",
        nargs="+",
        metavar=f"[{'|'.join(formats)}] DIR [SCENE]",
        help=f"what a data set is, by default the first ({known}); its folder; and a scene of it, "
        "by default a list of all",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="read every scene and print a table: whole, in part with what is left out, or refused",
    )
    parser.add_argument(
        "--storey", type=int, metavar="N", help="0 = the lowest; default: the one with most floor"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="default: NAME.json; with --all a folder for all houses, by default none",
    )


def run_import(args: argparse.Namespace) -> int:
    """Reads what is asked for; 1 if a scene of `--all` is refused.

    Raises:
        PlannerError: for a data set or scene that cannot be read.
    """
    source, scene = _words(args.what)
    if args.all:
        if scene is not None or args.storey is not None:
            raise PlannerError("--all reads every scene and storey: name neither")
        return _import_all(source, args.output)
    if scene is None:
        print("\n".join(source.scenes))
        return 0
    found = source.read(scene, args.storey)
    output = args.output or Path(f"{found.house.name}.json")
    write_or_refuse(output, partial(write_house, found.house))
    print(f"{output}: {summary(found.house)}")
    for sentence in _notes(found):
        print(f"  {sentence}")
    return 0


def _notes(found: ReadHouse) -> tuple[str, ...]:
    """What was left out, and what `planner houses check` finds in the rest."""
    findings = check_house(found.house, default_catalogue())
    return (*found.left_out, *(f"{finding.field}: {finding.reason}" for finding in findings))


def _words(what: list[str]) -> tuple[HouseSource, str | None]:
    formats = _readable()
    named = what[0] in formats and len(what) > 1
    words = what[1:] if named else what
    if len(words) > 2:
        raise PlannerError(f"expected a folder and a scene, got {' '.join(words)}")
    read = formats[what[0]].read if named else next((p.read for p in formats.values()), None)
    if read is None:
        raise PlannerError("no format is installed from which houses can be read")
    return read(Path(words[0])), words[1] if len(words) == 2 else None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A row of the table: one storey of a scene, or a scene that is refused."""

    name: str
    read: str
    size: str
    notes: tuple[str, ...]


def _import_all(source: HouseSource, output: Path | None) -> int:
    rows: list[_Outcome] = []
    for scene in source.scenes:
        for row in _outcomes(source, scene, output):
            print(f"{row.name:<28} {row.read:<8} {row.size}")
            for note in row.notes:
                print(f"{'':<28} {'':<8} - {note}")
            rows.append(row)
    counts = {
        word: sum(row.read == word for row in rows) for word in ("whole", "in part", "refused")
    }
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    print(f"{len(source.scenes)} scenes, {len(rows)} houses: {told}")
    return int(counts["refused"] > 0 or not rows)


def _outcomes(source: HouseSource, scene: str, output: Path | None) -> Iterator[_Outcome]:
    """The storeys of a scene, the main one first."""
    try:
        main = source.read(scene, None)
    except FileError as error:
        yield _Outcome(scene, "refused", "", (str(error),))
        return
    yield _written(main, output)
    for number in range(main.storeys):
        if number == main.storey:
            continue
        try:
            yield _written(source.read(scene, number), output)
        except FileError as error:
            yield _Outcome(f"{scene}, storey {number}", "refused", "", (str(error),))


def _written(found: ReadHouse, output: Path | None) -> _Outcome:
    if output is not None:
        write_or_refuse(output, lambda folder: folder.mkdir(parents=True, exist_ok=True))
        file = output / f"{found.house.name}.json"
        write_or_refuse(file, partial(write_house, found.house))
    read = "in part" if found.left_out else "whole"
    return _Outcome(found.house.name, read, summary(found.house), _notes(found))


# `planner houses export`: writes a house in a simulator's own format.


def _writable() -> dict[str, HouseFormat]:
    return {name: part for name, part in HOUSE_FORMATS.usable().items() if part.write is not None}


def _add_export_arguments(parser: argparse.ArgumentParser) -> None:
    formats = _writable()
    parser.add_argument(
        "format",
        choices=tuple(formats),
        help="; ".join(f"{name}: {part.summary}" for name, part in formats.items()),
    )
    parser.add_argument("house", metavar="FILE_OR_NAME")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="where the files go"
    )
    showing = ", ".join(name for name, part in formats.items() if part.takes_scenes)
    parser.add_argument(
        "--scenes",
        type=Path,
        metavar="DIR",
        help=f"{showing}: the scene data set that it was read from, whose own meshes are shown",
    )


def _export(args: argparse.Namespace) -> int:
    part = HOUSE_FORMATS.get(args.format)
    if part.write is None or (args.scenes is not None and not part.takes_scenes):
        raise PlannerError(f"--scenes: {args.format} shows the house by our recipes only")
    print(part.write(load_house(args.house), args.output, args.scenes))
    return 0


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

    _add_export_arguments(
        actions.add_parser("export", help="write a house in a simulator's own format")
    )
    add_import_arguments(
        actions.add_parser("import", help="read scenes of a downloaded data set as houses")
    )

    play = actions.add_parser(
        "play", help="play programs in graphs and compare with their final graphs"
    )
    play.add_argument(
        "folder", type=Path, metavar="DIR", help="with executable_programs, init_and_final_graphs"
    )

    actions.add_parser("list", help="the shipped houses")
    actions.add_parser("ship", help="rebuild the shipped houses from their recipes")


Explorer = Callable[[House, Path | None], str]
"""Explores a house, draws the built map into a file if given, and returns what it came to."""


Player = Callable[[Path], bool]
"""Plays the programs under a folder and prints what became of them; whether all came out."""


def run(args: argparse.Namespace, explorer: Explorer, player: Player) -> int:
    """Runs one action and returns the exit status."""
    if args.action == "play":
        return 0 if player(args.folder) else 1
    if args.action == "explore":
        print(explorer(load_house(args.house), args.output))
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
    "export": _export,
    "import": run_import,
    "list": _list,
    "ship": _ship,
}
