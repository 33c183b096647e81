"""PARTNR's own validation split, imported once, and `planner bench partnr-val` over it."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from papers.partnr import episodes
from papers.partnr.claims import table_lines
from papers.partnr.episodes.episodes import import_partnr_episodes
from planner.bench.runs import run_cli
from planner.bench.runs.paper import Run
from planner.episodes.episode_file import REPORT_NAME, episodes_in
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_bytes, read_document, read_text, writing
from planner.world.house_checks import load_house
from planner.world.vocabulary import AgentKind
from sim_bridge.backend import BACKENDS
from sim_bridge.habitat import hssd
from sim_bridge.habitat.hssd.dataset import HssdDataset
from sim_bridge.habitat.hssd.urdf import Movables
from sim_bridge.habitat.hssd_export import export_once, index_models, write_index

GET = (
    "get HSSD (hssd/hssd-hab, branch partnr) for --scenes, the movable objects "
    "(ai-habitat/OVMM_objects) for --objects and PARTNR's episodes (val.json.gz of "
    "ai-habitat/partnr_episodes) for --episodes; docs/habitat.md says how"
)


EPISODES, _NOTE = "episodes", "summary.txt"


@dataclass(frozen=True, slots=True)
class Split:
    """A split that is ready to run.

    Attributes:
        folder: with `EPISODES`, which has houses as well, and what is exported of them.
        read: episodes in the file.
        taken: of these, those that could be imported.
        note: the report of the import.
    """

    folder: Path
    read: int
    taken: int
    note: str


def import_split(
    file: Path | None, scenes: Path | None, objects: Sequence[Path], cache: Path
) -> Split:
    """Imports a file of episodes with its scenes, unless that was done before.

    It is in the cache whole or not at all, by everything that it was made of.

    Raises:
        PlannerError: if something was not named or is not there; says what to get.
        FileError: if it cannot be read or written.
    """
    if file is None or scenes is None or not objects:
        missing = [
            flag
            for flag, given in (("--scenes", scenes), ("--objects", objects), ("--episodes", file))
            if not given
        ]
        raise PlannerError(f"PARTNR's data set is needed: {', '.join(missing)} missing; {GET}")
    try:
        dataset = HssdDataset(scenes)
        Movables(objects)
        digest = hashlib.sha256(read_bytes(file))
        digest.update(read_bytes(dataset.path))
    except PlannerError as error:
        raise PlannerError(f"{error}; {GET}") from None
    for folder in (scenes, *objects):
        digest.update(f"\n{folder.resolve()}".encode())
    digest.update(reader_digest().encode())
    folder = cache / f"{file.name.split('.')[0]}-{digest.hexdigest()[:16]}"
    if not (folder / EPISODES / REPORT_NAME).is_file():
        _import(file, scenes, objects, folder)
    report = json.loads(read_text(folder / EPISODES / REPORT_NAME))
    note = (folder / _NOTE).read_text("utf-8")
    return Split(folder, sum(report["files"].values()), int(report["episodes"]), note)


def _import(file: Path, scenes: Path, objects: Sequence[Path], folder: Path) -> None:
    result = import_partnr_episodes([file], 0, scenes=scenes, objects=objects)
    # Nothing could be judged of the others; the report counts them.
    judged = tuple(e for e in result.episodes if e.evaluation is not None)
    result = replace(result, episodes=judged)
    if not judged:
        raise PlannerError(f"{file}: no episode could be imported: {result.summary}")
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        result.write(draft / EPISODES)
        (draft / _NOTE).write_text(result.summary + "\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def export_scenes(
    split: Split,
    scenes: Path,
    objects: Sequence[Path],
    backend: str,
    settings: str,
    say: Callable[[str], None],
    bodies: Mapping[AgentKind, Path],
) -> str:
    """Has a backend show the data set's own meshes, where it can; returns its settings file.

    Args:
        split: the imported episodes.
        scenes: the downloaded HSSD.
        objects: folders of the movable models.
        backend: its name.
        settings: its settings file; "" = the shipped one.
        say: called with a line for each house that is exported now, and for each model that is
            left out.
        bodies: URDFs of kinds of agents.

    Raises:
        PlannerError: if a scene cannot be exported.
    """
    if not BACKENDS.get(backend).shows_datasets:
        return settings
    folder = split.folder / "datasets"
    for path in sorted((split.folder / EPISODES / "houses").glob("*.json")):
        house = load_house(path)
        if export_once(house, scenes, folder):
            say(f"exported {house.name}")
    own = read_document(Path(settings)) if settings else {"version": 1}
    if not isinstance(own, dict):
        raise FileError(settings, "", "is not a settings file")
    if own.get("dataset"):
        return settings
    if not own.get("models"):
        found = index_models(_classes(split), scenes, objects, bodies)
        for reason in found.left_out:
            say(f"left out: {reason}")
        own["models"] = str(write_index(found.models, split.folder))
    text = yaml.safe_dump({**own, "dataset": str(folder)})
    file = split.folder / f"{backend}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def _classes(split: Split) -> set[str]:
    """The classes of all things of the episodes."""
    found: set[str] = set()
    for _, episode in episodes_in([split.folder / EPISODES]):
        if isinstance(episode, FileError):
            raise episode
        found |= {item.class_name for item in episode.objects or ()}
    return found


def default_cache() -> Path:
    """The folder of imported splits of this user."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(home) / "planner" / "partnr"


def reader_digest() -> str:
    """A digest of the code that reads scenes and episodes: newer code imports anew."""
    files = [path for package in (episodes, hssd) for path in Path(*package.__path__).glob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(read_bytes(path))
    return digest.hexdigest()


# `planner bench partnr-val`: PARTNR's own validation split, with the paper's table beside it.

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
    ours = Run.read(str(args.out))
    meshes = sorted({row.evidence["meshes"] for row in ours.rows if "meshes" in row.evidence})
    world = (
        f"{len(ours.judged)} of {len(ours.rows)} episodes have a verdict; {split.taken} of the "
        f"{split.read} episodes of the file could be imported; run on {args.backend}; "
        f"meshes: {'; '.join(meshes) if meshes else 'ours'}"
    )
    print("\n".join(["", *table_lines([ours], {}), world]))
    return status
