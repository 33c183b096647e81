"""PARTNR's instructions as episodes in houses that are generated for them."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from papers.partnr.episodes.goals import derive
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
from planner.episodes.importing.simulator_words import (
    MAX_ROOMS_OF_A_CLASS,
    NUMBERED,
    HouseNeeds,
    LocatedNames,
    SceneHouse,
    name_order,
    needs_of,
    scene_house,
    scene_seed,
)
from planner.episodes.lint.goal import Severity
from planner.episodes.lint.linting import Linter
from planner.episodes.start_state import start_entities
from planner.episodes.wording import PLURAL_ONLY, Item, Lexicon, Noun, NounKind, Word, build_lexicon
from planner.grounding.scene import Scene, scene_of_state
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Episode, Source
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.state import WorldState

# One generated house per PARTNR scene: what its entries need, and how its names map.

# Where to put furniture that an instruction names without a room.
_USUAL_ROOM = {
    "bed": "bedroom", "nightstand": "bedroom", "wardrobe": "bedroom",
    "chest_of_drawers": "bedroom", "fridge": "kitchen", "oven": "kitchen", "counter": "kitchen",
    "cabinet": "kitchen", "sink": "kitchen", "dishwasher": "kitchen", "microwave": "kitchen",
    "toilet": "bathroom", "bathtub": "bathroom", "shower": "bathroom",
    "washer_dryer": "laundry_room",
}  # fmt: skip
# These are not moved to another room because of a sentence's context alone.
_BOUND_TO_ROOM = frozenset(_USUAL_ROOM) - {"chest_of_drawers", "counter", "cabinet"}


SENTENCE_ENDS = frozenset(".?!;")
OTHER_WORDS = frozenset({"another", "other", "new", "different"})


def build_scene_house(
    scene_id: str, entries: Sequence[Entry], seed: int, catalogue: Catalogue, lexicon: Lexicon
) -> SceneHouse:
    """The house in which all entries of a scene can be run.

    Raises:
        PlannerError: if no house with these rooms and pieces was found.
    """
    located = _locate(entries, catalogue)
    needs = needs_of(located)
    for entry in entries:
        _add_needs_of_states(needs, entry, located, catalogue)
        _add_needs_of_words(needs, entry, located, lexicon)
    name = f"partnr-{scene_id}"
    return scene_house(name, scene_seed(seed, scene_id), needs, located, catalogue)


# Initial states.


def _locate(entries: Sequence[Entry], catalogue: Catalogue) -> LocatedNames:
    """Finds each region's room and each furniture's class and room, by co-occurrence."""
    unknown: dict[str, str] = {}
    rooms: dict[str, str] = {}
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    maybe: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        for record in entry.things:
            for region in record.regions:
                _locate_region(region, rooms, unknown, catalogue)
            homes = sorted({rooms[region] for region in record.regions if region in rooms})
            for name in record.furniture_names:
                if name != "floor":
                    maybe[name].update(homes)
                    votes[name].update(homes if len(record.regions) == 1 else ())
        for states in entry.furniture:
            named = [region for region in states.regions if NUMBERED.match(region)]
            for region in named:
                _locate_region(region, rooms, unknown, catalogue)
            homes = sorted({rooms[region] for region in named if region in rooms})
            for name in states.names:
                maybe[name].update(homes)
                votes[name].update(homes if len(states.regions) == 1 else ())
    furniture: dict[str, tuple[str, str]] = {}
    # Furniture with a stated room first; the others fill the emptiest rooms.
    for name in sorted(maybe, key=lambda word: (not votes[word], name_order(word))):
        class_name = _class_of(name, catalogue)
        if class_name is None:
            unknown[name] = f"furniture {name!r} has no known class"
        elif votes[name]:
            max_count = max(votes[name].values())
            home = min(room for room, count in votes[name].items() if count == max_count)
            furniture[name] = (class_name, home)
        elif maybe[name]:
            load = Counter(room for _, room in furniture.values())
            home = min(maybe[name], key=lambda room: (load[room], room))
            furniture[name] = (class_name, home)
        else:
            unknown[name] = f"no entry of its scene says which room furniture {name!r} is in"
    return LocatedNames(rooms, furniture, unknown)


def _locate_region(
    region: str, rooms: dict[str, str], unknown: dict[str, str], catalogue: Catalogue
) -> None:
    match = NUMBERED.match(region)
    class_name = catalogue.room_name(match["stem"]) if match else None
    if match is None or class_name is None:
        unknown[region] = f"region {region!r} has no known class"
    elif int(match["index"]) >= MAX_ROOMS_OF_A_CLASS:
        unknown[region] = f"region {region!r}: a house has at most {MAX_ROOMS_OF_A_CLASS} of these"
    else:
        rooms[region] = f"{class_name}_{int(match['index'])}"


def _class_of(name: str, catalogue: Catalogue) -> str | None:
    match = NUMBERED.match(name)
    return catalogue.furniture_name(match["stem"]) if match else None


def _add_needs_of_states(
    needs: HouseNeeds, entry: Entry, located: LocatedNames, catalogue: Catalogue
) -> None:
    """Adds a piece, or as many as required, of furniture with an initial state in a room."""
    for record in entry.furniture:
        count = record.number[0] if record.number is not None else 1
        rooms = [located.rooms[region] for region in record.regions if region in located.rooms]
        classes = [catalogue.furniture_name(word) for word in record.classes]
        for room, class_name in itertools.product(rooms, classes):
            if class_name is not None:
                needs.require(room, class_name, count)


# Wording.


def _add_needs_of_words(
    needs: HouseNeeds, entry: Entry, located: LocatedNames, lexicon: Lexicon
) -> None:
    """Adds the rooms and furniture that an instruction mentions."""
    items = lexicon.items(entry.instruction)
    used = _used_at_start(entry, located)
    for at, item in enumerate(items):
        if isinstance(item, Noun) and item.kind is NounKind.ROOM:
            for class_name in item.classes:
                needs.room(class_name, 2 if _other_room(items, at) else 1)
    for at, item in enumerate(items):
        if isinstance(item, Noun) and item.kind is NounKind.FURNITURE:
            furniture = sorted(item.classes)[0]
            room_class = _room_meant(items, at, furniture)
            needs.room(room_class, 1)
            _add_piece(needs, room_class, furniture, used, other=_says_other(items, at))
            if item.plural and item.text not in PLURAL_ONLY:
                needs.require(_max_needed(needs, room_class, furniture), furniture, 2)


def _used_at_start(entry: Entry, located: LocatedNames) -> Counter[tuple[str, str]]:
    """How many pieces of each class in each room the entry's objects start from."""
    names = {name for record in entry.things for name in record.furniture_names}
    return Counter(located.furniture[name] for name in names if name in located.furniture)


def _add_piece(
    needs: HouseNeeds,
    room_class: str,
    furniture: str,
    used: Counter[tuple[str, str]],
    *,
    other: bool,
) -> None:
    rooms = needs.rooms_of(room_class)
    taken = [room for room in rooms if used[furniture, room]]
    if furniture not in _BOUND_TO_ROOM or other:
        for room in taken:
            # One more than those in use, so that there is something to move to.
            needs.require(room, furniture, used[furniture, room] + 1)
    if not taken and not any(needs.pieces[room][furniture] for room in rooms):
        # "Another" room of the class, hence the last one.
        needs.require(rooms[-1 if other else 0], furniture, 1)


def _max_needed(needs: HouseNeeds, room_class: str, furniture: str) -> str:
    """The room of a class that already has most pieces of a furniture class; first of equals."""
    return max(needs.rooms_of(room_class), key=lambda room: needs.pieces[room][furniture])


def _says_other(items: Sequence[Item], at: int) -> bool:
    before = items[max(0, at - 2) : at]
    return any(isinstance(item, Word) and item.text in OTHER_WORDS for item in before)


def _other_room(items: Sequence[Item], at: int) -> bool:
    """Whether "another" refers to the room: not in "another bedroom chair"."""
    after = items[at + 1] if at + 1 < len(items) else None
    of_furniture = isinstance(after, Noun) and after.kind is NounKind.FURNITURE
    return _says_other(items, at) and not of_furniture


def _room_meant(items: Sequence[Item], at: int, furniture: str) -> str:
    """The room class that a furniture word belongs to: stated, implied, or from context."""
    before, after = items[:at], items[at + 1 :]
    if before and isinstance(before[-1], Noun) and before[-1].kind is NounKind.ROOM:
        return _only(before[-1])
    if after and isinstance(after[0], Word) and after[0].text == "in":
        for item in after[1:4]:
            if isinstance(item, Noun):
                if item.kind is NounKind.ROOM:
                    return _only(item)
                break
            if item.text in SENTENCE_ENDS:
                break
    noun = items[at]
    if isinstance(noun, Noun) and noun.room_hint is not None:
        return noun.room_hint
    context = [i for i in before if isinstance(i, Noun) and i.kind is NounKind.ROOM]
    if context and furniture not in _BOUND_TO_ROOM:
        return _only(context[-1])
    return _USUAL_ROOM.get(furniture, "living_room")


def _only(noun: Noun) -> str:
    return sorted(noun.classes)[0]


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
