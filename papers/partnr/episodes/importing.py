"""PARTNR's instructions as episodes in generated houses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from papers.partnr.episodes.goals import derive
from papers.partnr.episodes.houses import build_scene_house
from papers.partnr.episodes.instruction_file import Entry, read_instructions
from papers.partnr.episodes.placement import (
    PlacedEntry,
    furniture_changes,
    in_other_states,
    place_entry,
)
from planner.episodes.arrangement import why_unplaceable
from planner.episodes.importing.importer import (
    AGENTS,
    REPORT_VERSION,
    Fault,
    Imported,
    ImporterPart,
    Underived,
    UnplaceableError,
    split_of,
)
from planner.episodes.importing.scene_house import SceneHouse
from planner.episodes.lint.goal import Severity
from planner.episodes.lint.linting import Linter
from planner.episodes.start_state import start_entities
from planner.episodes.wording import Lexicon, build_lexicon
from planner.grounding.scene import Scene, scene_of_state
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Episode, Source
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.state import WorldState

DATASET = "partnr-instructions"
_ARRANGEMENTS_TRIED = 20


@dataclass(frozen=True)
class ImportedInstructions(Imported):
    """An import of instructions; `scenes` has the names of each scene in its house, by its id."""

    scenes: Mapping[str, SceneHouse] = field(default_factory=dict)

    @property
    def report(self) -> dict[str, object]:
        """The report, as in `import_report.json`."""
        return {
            "version": REPORT_VERSION,
            "dataset": self.dataset,
            "files": self.read,
            "episodes": len(self.episodes),
            "with_goal": len(self.episodes) - len(self.without_goal),
            "unplaced": [asdict(fault) for fault in self.left_out],
            "without_goal": [asdict(item) for item in self.without_goal],
            "scenes": {scene_id: _names(scene) for scene_id, scene in sorted(self.scenes.items())},
        }

    @property
    def summary(self) -> str:
        """The report as text: the figures, then a line for each instruction left out."""
        total, placed = sum(self.read.values()), len(self.episodes)
        goals = placed - len(self.without_goal)
        share = f" ({100 * placed / total:.1f} %)" if total else ""
        lines = [
            f"read {total} instructions from {len(self.read)} files",
            f"placed {placed}{share} in {len(self.houses)} houses; {goals} have a derived goal",
        ]
        if self.left_out:
            lines += [f"not placed: {len(self.left_out)}", *self.faults]
        return "\n".join(lines)


def import_instructions(paths: Sequence[Path], seed: int) -> ImportedInstructions:
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
    return ImportedInstructions(
        DATASET,
        read,
        tuple(episodes),
        tuple(unplaced),
        {scene.house.name: scene.house for scene in houses.values()},
        tuple(underived),
        houses,
    )


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


def _names(scene: SceneHouse) -> Mapping[str, object]:
    return {
        "house": scene.house.name,
        "rooms": scene.rooms,
        "furniture": scene.furniture,
        "unknown": scene.unknown,
    }


IMPORTER = ImporterPart(
    summary="PARTNR's instruction files: lists of instructions in JSON",
    read=lambda args: import_instructions(args.files, args.seed),
)
