"""`planner bench partnr-val`: PARTNR's own validation split, with the paper's table beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.bench.partnr_split import EPISODES, default_cache, export_scenes, import_split
from planner.bench.runs import run_cli
from planner.bench.runs.llamar_tables import Run
from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.partnr_tables import table_lines
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.world.vocabulary import AgentKind

_DEFAULT_BACKEND = "embedded"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments: the data, then those of every run."""
    data = parser.add_argument_group("the data, which a user has to get")
    data.add_argument("--scenes", type=Path, metavar="HSSD", help="a downloaded hssd-hab")
    data.add_argument(
        "--objects",
        type=Path,
        action="append",
        default=[],
        metavar="OVMM",
        help="a folder of its movable objects (repeatable)",
    )
    data.add_argument(
        "--episodes", dest="file", type=Path, metavar="FILE", help="PARTNR's val.json.gz"
    )
    for kind, what in (("robot", "Spot's"), ("human", "a humanoid's")):
        data.add_argument(
            f"--{kind}-urdf", type=Path, metavar="FILE", help=f"{what}, to draw it; default: ours"
        )
    data.add_argument(
        "--cache", type=Path, metavar="DIR", help="for imported houses; default: one for this user"
    )
    # Every run's --episodes is a number.
    run_cli.add_arguments(parser, count_flag="--count")


def run(args: argparse.Namespace) -> int:
    """As `run_cli.run`; prints the paper's table after it.

    Raises:
        PlannerError: if data are missing; says what to get.
    """
    cache = args.cache or default_cache()
    split = import_split(args.file, args.scenes, args.objects, cache)
    print(split.note, end="", flush=True)
    bodies = {AgentKind.ROBOT: args.robot_urdf, AgentKind.HUMAN: args.human_urdf}
    args.backend = args.backend or _DEFAULT_BACKEND
    args.backend_config = export_scenes(
        split,
        args.scenes,
        args.objects,
        args.backend,
        args.backend_config,
        lambda line: print(line, flush=True),
        {kind: path for kind, path in bodies.items() if path is not None},
    )
    args.suite = str(split.folder / EPISODES)
    status = run_cli.run(args)
    rows = tuple(newest_rows(args.out / ROWS_NAME).values())
    manifest = read_manifest(args.out)
    ours = Run(str(args.out), manifest.suite, manifest.settings, rows)
    meshes = sorted({row.evidence["meshes"] for row in rows if "meshes" in row.evidence})
    world = (
        f"{len(ours.judged)} of {len(rows)} episodes have a verdict; {split.taken} of the "
        f"{split.read} episodes of the file could be imported; run on {args.backend}; "
        f"meshes: {'; '.join(meshes) if meshes else 'ours'}"
    )
    print("\n".join(["", *table_lines([ours], {}), world]))
    return status
