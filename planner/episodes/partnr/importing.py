"""PARTNR's instructions as episodes in generated houses, and the report of every import."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from planner.episodes.arrangement import why_unplaceable
from planner.episodes.episode_file import REPORT_NAME, write_episode, write_text
from planner.episodes.lint.goal import Severity
from planner.episodes.lint.linting import Linter
from planner.episodes.partnr.goals import derive
from planner.episodes.partnr.houses import SceneHouse, build_scene_house
from planner.episodes.partnr.instruction_file import Entry, Fault, read_instructions
from planner.episodes.partnr.placement import (
    PlacedEntry,
    UnplaceableError,
    furniture_changes,
    in_other_states,
    place_entry,
)
from planner.episodes.start_state import start_entities
from planner.episodes.wording import Lexicon, build_lexicon
from planner.grounding.scene import Scene, scene_of_state
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import AgentPlacement, Episode, Source, Split
from planner.world.errors import FileError, PlannerError
from planner.world.house import House, write_house
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind

DATASET = "partnr-instructions"
REPORT_VERSION = 1
_ARRANGEMENTS_TRIED = 20

AGENTS = (
    AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT),
    AgentPlacement(uid="agent_1", kind=AgentKind.HUMAN),
)


@dataclass(frozen=True, slots=True)
class Underived:
    """An episode without a structured goal, and why none could be derived."""

    episode_id: str
    reason: str


@dataclass(frozen=True)
class Import:
    """The result of an import: episodes, their houses, and what is missing."""

    episodes: tuple[Episode, ...]
    houses: dict[str, SceneHouse]
    unplaced: tuple[Fault, ...]
    underived: tuple[Underived, ...]
    read: dict[str, int] = field(default_factory=dict)


def import_instructions(paths: Sequence[Path], seed: int) -> Import:
    """Makes an episode of every instruction that can be placed.

    Equal files and seed give equal episodes; an additional file changes only the houses of its own
    scenes.

    Raises:
        FileError: if a file is not a list of instructions, or two share a name.
    """
    catalogue = default_catalogue()
    lexicon = build_lexicon(catalogue)
    entries, unplaced, read = _read(paths)
    scenes: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        scenes[entry.scene_id].append(entry)
    houses: dict[str, SceneHouse] = {}
    for scene_id in sorted(scenes):
        try:
            houses[scene_id] = build_scene_house(
                scene_id, scenes[scene_id], seed, catalogue, lexicon
            )
        except PlannerError as error:
            unplaced += [Fault(e.file, e.episode_id, str(error)) for e in scenes[scene_id]]
    linter = Linter()
    episodes: list[Episode] = []
    underived: list[Underived] = []
    for entry in entries:
        scene = houses.get(entry.scene_id)
        if scene is None:
            continue
        try:
            episode, reason = _episode(entry, scene, seed, catalogue, lexicon, linter)
        except UnplaceableError as error:
            unplaced.append(Fault(entry.file, entry.episode_id, str(error)))
            continue
        episodes.append(episode)
        if episode.evaluation is None:
            underived.append(Underived(episode.episode_id, reason))
    return Import(tuple(episodes), houses, tuple(unplaced), tuple(underived), read)


def _read(paths: Sequence[Path]) -> tuple[list[Entry], list[Fault], dict[str, int]]:
    entries: list[Entry] = []
    faults: list[Fault] = []
    read: dict[str, int] = {}
    for path in paths:
        if path.name in read:
            raise FileError(path, "", "a file of this name was given already")
        found = read_instructions(path)
        entries += found.entries
        faults += found.faults
        read[path.name] = len(found.entries) + len(found.faults)
    return entries, faults, read


def _episode(
    entry: Entry,
    scene: SceneHouse,
    seed: int,
    catalogue: Catalogue,
    lexicon: Lexicon,
    linter: Linter,
) -> tuple[Episode, str]:
    """The episode of an entry, and why it has no goal, if it has none.

    The things are arranged otherwise if they have no room where they shall go, or are there, or
    next to each other, by chance.
    """
    found = _arranged(entry, scene, seed, catalogue, lexicon, linter, 0)
    for attempt in range(1, _ARRANGEMENTS_TRIED):
        if not found.by_chance:
            break
        try:
            again = _arranged(entry, scene, seed, catalogue, lexicon, linter, attempt)
        except UnplaceableError:
            # Not in this arrangement; there is one already.
            continue
        found = again if again.is_better(found) else found
    return found.episode, found.reason


@dataclass(frozen=True, slots=True)
class _Arranged:
    """An entry's episode with its things arranged in one way.

    Attributes:
        reason: why it has no goal; "" if it has one.
        by_chance: how much is true already that may not be in another arrangement.
    """

    episode: Episode
    reason: str
    by_chance: int

    def is_better(self, other: _Arranged) -> bool:
        """Whether it has a goal and the other has none, or has less chance in it."""
        mine, theirs = bool(self.reason), bool(other.reason)
        return (mine, self.by_chance) < (theirs, other.by_chance)


def _arranged(
    entry: Entry,
    scene: SceneHouse,
    seed: int,
    catalogue: Catalogue,
    lexicon: Lexicon,
    linter: Linter,
    attempt: int,
) -> _Arranged:
    placed = place_entry(entry, scene, seed, catalogue, lexicon, attempt)
    bare = _bare(entry, scene, placed, catalogue)
    derivation = derive(entry.instruction, scene_at_start(bare, scene.house, catalogue))
    evaluation = derivation.evaluation
    if evaluation is None:
        return _Arranged(bare, derivation.reason, by_chance=0)
    if want := why_unplaceable(bare, scene.house, evaluation):
        return _Arranged(bare, want, by_chance=1)
    goal = {"evaluation": evaluation, "task_types": derivation.task_types}
    episode = in_other_states(bare, evaluation).model_copy(update=goal)
    findings = linter.findings(episode, scene.house)
    for finding in findings:
        if finding.severity is Severity.ERROR:
            return _Arranged(bare, finding.reason, by_chance=1)
    return _Arranged(episode, "", by_chance=len(findings))


def _bare(entry: Entry, scene: SceneHouse, placed: PlacedEntry, catalogue: Catalogue) -> Episode:
    """The episode without a goal."""
    stem = Path(entry.file).stem
    return Episode(
        version=1,
        episode_id=f"{stem}-{entry.episode_id}",
        house=scene.house.name,
        split=split_of(stem),
        instruction=entry.instruction,
        seed=placed.seed,
        agents=AGENTS,
        objects=placed.objects,
        furniture=furniture_changes(entry, scene, placed.seed, catalogue),
        initial_state=placed.records,
        source=Source(
            dataset=DATASET,
            file=entry.file,
            scene_id=entry.scene_id,
            episode_id=entry.episode_id,
            not_taken=entry.not_taken,
        ),
    )


def scene_at_start(episode: Episode, house: House, catalogue: Catalogue) -> Scene:
    """The start of an episode, as the words of its instruction are bound to it."""
    entities = start_entities(episode, house, catalogue)
    return scene_of_state(WorldState(0.0, 0, 0, house.name, episode.episode_id, entities), house)


def split_of(stem: str) -> Split:
    """The split according to a file's name."""
    words = stem.lower().split("_")
    splits: tuple[Split, ...] = ("train", "val", "test")
    return next((split for split in splits if split in words), "none")


def write_import(result: Import, folder: Path) -> None:
    """Writes episodes, houses and the report under a folder.

    Raises:
        FileError: if something cannot be written.
    """
    houses = folder / "houses"
    try:
        houses.mkdir(parents=True, exist_ok=True)
        for scene in result.houses.values():
            write_house(scene.house, houses / f"{scene.house.name}.json")
    except OSError as error:
        raise FileError(houses, "", f"cannot be written: {error}") from None
    for episode in result.episodes:
        write_episode(episode, folder)
    write_text(folder / REPORT_NAME, json.dumps(report(result), indent=1) + "\n")


def report(result: Import) -> dict[str, object]:
    """The report of an import, as in `import_report.json`."""
    return {
        "version": REPORT_VERSION,
        "dataset": DATASET,
        "files": result.read,
        "episodes": len(result.episodes),
        "with_goal": sum(episode.evaluation is not None for episode in result.episodes),
        "unplaced": [asdict(fault) for fault in result.unplaced],
        "without_goal": [asdict(item) for item in result.underived],
        "scenes": {scene_id: _names(scene) for scene_id, scene in sorted(result.houses.items())},
    }


def _names(scene: SceneHouse) -> Mapping[str, object]:
    return {
        "house": scene.house.name,
        "rooms": scene.rooms,
        "furniture": scene.furniture,
        "unknown": scene.unknown,
    }


def houses_of(result: Import) -> dict[str, House]:
    """The houses by name."""
    return {scene.house.name: scene.house for scene in result.houses.values()}


# The result of an import and its report: every task read is in exactly one list.


@dataclass(frozen=True)
class Imported:
    """An import: `read` counts the tasks in each file, `left_out` says why some are missing.

    Attributes:
        dataset: the format's name on the command line.
        read: by file name; the sum equals the number of episodes and tasks left out.
        houses: generated houses, by name.
        without_goal: episodes that cannot be evaluated, and why.
    """

    dataset: str
    read: Mapping[str, int]
    episodes: tuple[Episode, ...]
    left_out: tuple[Fault, ...]
    houses: Mapping[str, House] = field(default_factory=dict)
    without_goal: tuple[Underived, ...] = ()

    @property
    def report(self) -> dict[str, object]:
        """The report, as in `import_report.json`."""
        waiting = [e for e in self.episodes if e.source is not None and e.source.needs_scene]
        return {
            "version": REPORT_VERSION,
            "dataset": self.dataset,
            "files": dict(self.read),
            "episodes": len(self.episodes),
            "with_goal": sum(episode.evaluation is not None for episode in self.episodes),
            "left_out": [asdict(fault) for fault in self.left_out],
            "without_goal": [asdict(item) for item in self.without_goal],
            "needs_scene": _by_scene(waiting),
            "not_taken": {
                episode.episode_id: list(episode.source.not_taken)
                for episode in self.episodes
                if episode.source is not None and episode.source.not_taken
            },
        }


def _by_scene(episodes: Sequence[Episode]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for episode in episodes:
        if episode.source is not None:
            found.setdefault(episode.source.scene_id, []).append(episode.episode_id)
    return dict(sorted(found.items()))


def write_imported(result: Imported, folder: Path) -> None:
    """Writes episodes, houses and the report under a folder.

    Raises:
        FileError: if something cannot be written.
    """
    houses = folder / "houses"
    try:
        (houses if result.houses else folder).mkdir(parents=True, exist_ok=True)
        for house in result.houses.values():
            write_house(house, houses / f"{house.name}.json")
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error}") from None
    for episode in result.episodes:
        write_episode(episode, folder)
    write_text(folder / REPORT_NAME, json.dumps(result.report, indent=1) + "\n")


def summary(result: Imported) -> str:
    """The report as text: the figures, then a line for each task left out."""
    total, taken = sum(result.read.values()), len(result.episodes)
    goals = sum(
        episode.evaluation is not None or episode.criteria is not None
        for episode in result.episodes
    )
    lines = [
        f"read {total} tasks from {len(result.read)} files",
        f"imported {taken}, of which {goals} can be judged; {len(result.houses)} houses made",
    ]
    waiting = sum(e.source is not None and e.source.needs_scene for e in result.episodes)
    if waiting:
        lines.append(f"{waiting} need a scene that is not here (--fit makes a house instead)")
    if result.left_out:
        lines.append(f"left out: {len(result.left_out)}")
        lines += [f"  {f.file}  {f.episode_id}  {f.reason}" for f in result.left_out]
    return "\n".join(lines)
