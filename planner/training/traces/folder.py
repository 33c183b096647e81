"""A folder of traces as shards with a manifest; held-out episodes stay out of it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from planner.houses.generator import shipped_houses
from planner.training.traces.record import Trace
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.files import FileModel, parse_json, read_lines, read_model, replacing, writing
from planner.world.house import House
from planner.world.share import config_dir

# Keeps what planners are evaluated on out of their training.

_SPLITS = ("val", "test")


class LeakError(PlannerError):
    """Something that is for evaluation was about to be trained on."""


def check_is_training(episode: Episode, house: House) -> None:
    """Refuses an episode that planners are evaluated on, or one like it.

    Raises:
        LeakError: naming the house, the episode, or the wording.
    """
    what = f"{episode.episode_id}: cannot be trained on:"
    if episode.split in _SPLITS:
        raise LeakError(f"{what} its split is {episode.split}")
    houses, episodes, wordings = evaluated()
    if house.name in houses:
        raise LeakError(f"{what} planners are evaluated in the house {house.name}")
    if episode.episode_id in episodes:
        raise LeakError(f"{what} it is an episode of a suite for evaluation")
    if wording(episode.instruction) in wordings:
        raise LeakError(f"{what} its instruction is one of a suite for evaluation")


def check_words(what: str, house: str, instruction: str) -> None:
    """Refuses an instruction of no episode, where planners are evaluated on it or in the house.

    Raises:
        LeakError: naming the house or the wording.
    """
    houses, _, wordings = evaluated()
    if house in houses:
        raise LeakError(
            f"{what}: cannot be trained on: planners are evaluated in the house {house}"
        )
    if wording(instruction) in wordings:
        raise LeakError(
            f"{what}: cannot be trained on: its instruction is one of a suite for evaluation"
        )


def wording(instruction: str) -> str:
    """An instruction without what does not matter: case, blanks, marks."""
    return " ".join("".join(c if c.isalnum() else " " for c in instruction.lower()).split())


@lru_cache(maxsize=1)
def evaluated() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Houses, episodes and wordings of the shipped suites for evaluation."""
    houses = {path.stem for path in shipped_houses() if path.parent.name == "heldout"}
    shipped = sorted((config_dir() / "episodes" / "heldout").glob("*.json"))
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in shipped]
    for path in sorted((config_dir() / "suites").glob("partnr_*.json.gz")):
        # Shipped files, so they need no check, which takes seconds for thousands of episodes.
        pack = json.loads(gzip.decompress(path.read_bytes()))
        houses |= {house["name"] for house in pack["houses"]}
        documents += pack["episodes"]
    episodes = {document["episode_id"]: document["instruction"] for document in documents}
    return frozenset(houses), frozenset(episodes), frozenset(map(wording, episodes.values()))


MANIFEST_FILE = "manifest.json"
Count = Annotated[int, Field(ge=0)]


class TraceManifest(FileModel):
    """What a folder of traces contains.

    Attributes:
        recipe: what was asked for; a folder is only continued with an equal one.
        shards: how many there are when it is complete.
        complete: whether all of them are there; the counts are 0 before.
        counts: traces by source, and by `solved`.
    """

    version: Literal[1] = 1
    kind: Literal["traces"] = "traces"
    recipe: dict[str, str | int | float | bool]
    shards: Count
    complete: bool = False
    traces: Count = 0
    turns: Count = 0
    counts: dict[str, int] = Field(default_factory=dict)


class TraceFolder:
    """A folder that is being written."""

    def __init__(
        self, path: Path, recipe: dict[str, str | int | float | bool], shards: int
    ) -> None:
        """Opens a folder; `missing` tells what is left to do.

        Raises:
            FileError: if it cannot be written, has other files, or was begun with another recipe.
        """
        self.path, self._shards = path, shards
        self._manifest = TraceManifest(recipe=recipe, shards=shards)
        file = path / MANIFEST_FILE
        if file.exists():
            found = read_model(file, TraceManifest)
            if (found.recipe, found.shards) != (recipe, shards):
                raise FileError(file, "recipe", "is of other traces: name an empty folder")
            return
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            # What was cut off while the manifest was written is none.
            others = [found for found in path.iterdir() if found.name != f"{MANIFEST_FILE}.part"]
        if others:
            reason = f"has files but no {MANIFEST_FILE}: name an empty folder"
            raise FileError(path, "", reason)
        _write(file, self._manifest.model_dump_json(indent=1) + "\n")

    def missing(self) -> list[int]:
        """The shards that are not there yet."""
        return [n for n in range(self._shards) if not shard_file(self.path, n).exists()]

    def write(self, number: int, traces: Iterable[Trace]) -> None:
        """Writes a shard; an empty one means that there was nothing to keep.

        Raises:
            FileError: if it cannot be written.
        """
        text = "".join(f"{trace.model_dump_json(exclude_defaults=True)}\n" for trace in traces)
        _write(shard_file(self.path, number), text)

    def finish(self) -> TraceManifest:
        """Counts all traces and completes the manifest.

        Raises:
            FileError: for a shard that is missing or cannot be read.
        """
        counts: Counter[str] = Counter()
        turns = 0
        for number in range(self._shards):
            for trace in read_shard(shard_file(self.path, number)):
                counts["traces"] += 1
                counts[f"source {trace.provenance.source}"] += 1
                counts["solved"] += trace.reward
                turns += len(trace.turns)
        traces = counts.pop("traces", 0)
        update = {"complete": True, "traces": traces, "turns": turns, "counts": dict(counts)}
        done = self._manifest.model_copy(update=update)
        _write(self.path / MANIFEST_FILE, done.model_dump_json(indent=1) + "\n")
        return done


def shard_file(folder: Path, number: int) -> Path:
    """The path of a shard."""
    return folder / f"shard-{number:05d}.jsonl"


def learnable_path(start: Path) -> Path:
    """The traces of one episode of a run, whose files' names begin with `start`."""
    return start.with_name(f"{start.name}.learnable.jsonl")


def read_traces(folders: Path | Sequence[Path]) -> Iterator[Trace]:
    """All traces of complete folders, in order.

    Raises:
        FileError: for a folder that is not complete, or the first line that is not a trace.
    """
    for folder in [folders] if isinstance(folders, Path) else folders:
        manifest = read_manifest(folder)
        for number in range(manifest.shards):
            yield from read_shard(shard_file(folder, number))


def read_manifest(folder: Path) -> TraceManifest:
    """The manifest of a complete folder.

    Raises:
        FileError: if there is none, or shards are missing.
    """
    manifest = read_model(folder / MANIFEST_FILE, TraceManifest)
    if not manifest.complete:
        there = sum(shard_file(folder, n).exists() for n in range(manifest.shards))
        reason = f"has {there} of {manifest.shards} shards: the same command goes on"
        raise FileError(folder, "", reason)
    return manifest


def read_shard(file: Path) -> Iterator[Trace]:
    """The traces of one shard.

    Raises:
        FileError: naming the line, the field and the reason.
    """
    for number, line in enumerate(read_lines(file), start=1):
        try:
            text = line.decode("utf-8")
            yield Trace.model_validate(parse_json(text, file, f"line {number}"))
        except ValidationError as error:
            plain = from_validation(file, error)
            where = f"line {number}" + (f".{plain.field}" if plain.field else "")
            raise FileError(file, where, plain.reason) from None
        except UnicodeDecodeError as error:
            raise FileError(file, "", f"cannot be read: {error}") from None


def _write(file: Path, text: str) -> None:
    with replacing(file) as aside:
        aside.write_text(text, encoding="utf-8")
