"""`planner houses import`: reads scenes of a downloaded data set as houses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from planner.houses.hssd.dataset import HssdDataset
from planner.houses.hssd.scene import HssdScene, read_scene
from planner.houses.reporting import summary, write_or_refuse
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.house import write_house

_LAYOUTS = ("hssd", "scenes")


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner houses import`."""
    parser.add_argument(
        "what",
        nargs="+",
        metavar="[hssd|scenes] DIR [SCENE]",
        help="the folder of the data set hssd-hab (branch partnr), or with `scenes` of any scene "
        "data set for Habitat, such as ReplicaCAD; and a scene of it; default: list the scenes",
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
    folder, scene_id, is_partnr = _words(args.what)
    dataset = HssdDataset(folder, is_partnr=is_partnr)
    if args.all:
        if scene_id is not None or args.storey is not None:
            raise PlannerError("--all reads every scene and storey: name neither")
        return _import_all(dataset, args.output)
    if scene_id is None:
        print("\n".join(sorted(dataset.scenes)))
        return 0
    scene = read_scene(dataset, scene_id, default_catalogue(), args.storey)
    output = args.output or Path(f"{scene.house.name}.json")
    write_or_refuse(output, partial(write_house, scene.house))
    print(f"{output}: {summary(scene.house)}")
    for sentence in scene.left_out:
        print(f"  {sentence}")
    return 0


def _words(what: list[str]) -> tuple[Path, str | None, bool]:
    words = what[1:] if what[0] in _LAYOUTS and len(what) > 1 else what
    if len(words) > 2:
        raise PlannerError(f"expected a folder and a scene, got {' '.join(words)}")
    is_partnr = words is what or what[0] == _LAYOUTS[0]
    return Path(words[0]), words[1] if len(words) == 2 else None, is_partnr


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A row of the table: one storey of a scene, or a scene that is refused."""

    name: str
    read: str
    size: str
    notes: tuple[str, ...]


def _import_all(dataset: HssdDataset, output: Path | None) -> int:
    catalogue = default_catalogue()
    rows: list[_Outcome] = []
    for scene_id in sorted(dataset.scenes):
        for row in _outcomes(dataset, scene_id, catalogue, output):
            print(f"{row.name:<28} {row.read:<8} {row.size}")
            for note in row.notes:
                print(f"{'':<28} {'':<8} - {note}")
            rows.append(row)
    counts = {
        word: sum(row.read == word for row in rows) for word in ("whole", "in part", "refused")
    }
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    print(f"{len(dataset.scenes)} scenes, {len(rows)} houses: {told}")
    return int(counts["refused"] > 0 or not rows)


def _outcomes(
    dataset: HssdDataset, scene_id: str, catalogue: Catalogue, output: Path | None
) -> Iterator[_Outcome]:
    """The storeys of a scene, the main one first."""
    try:
        main = read_scene(dataset, scene_id, catalogue)
    except FileError as error:
        yield _Outcome(scene_id, "refused", "", (str(error),))
        return
    yield _written(main, output)
    storey = main.regions.storey
    for number in range(storey.count):
        if number == storey.number:
            continue
        try:
            yield _written(read_scene(dataset, scene_id, catalogue, number), output)
        except FileError as error:
            yield _Outcome(f"{scene_id}, storey {number}", "refused", "", (str(error),))


def _written(scene: HssdScene, output: Path | None) -> _Outcome:
    if output is not None:
        write_or_refuse(output, lambda folder: folder.mkdir(parents=True, exist_ok=True))
        file = output / f"{scene.house.name}.json"
        write_or_refuse(file, partial(write_house, scene.house))
    read = "in part" if scene.left_out else "whole"
    return _Outcome(scene.house.name, read, summary(scene.house), scene.left_out)
