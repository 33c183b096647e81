"""LLaMAR's public task list: its files."""

from __future__ import annotations

import argparse
import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from papers.llamar.tasks import equals
from planner.episodes.importing.foreign import parse_foreign, read_foreign
from planner.episodes.importing.importer import Fault, Imported, ImporterPart, UnplaceableError
from planner.episodes.importing.simulator_words import scene_seed, thor_class, thor_room
from planner.episodes.lint.linting import Linter
from planner.episodes.recipes.build import build
from planner.episodes.recipes.file import Recipe
from planner.houses.generator import generate_house
from planner.world.catalogue import Catalogue, FurnitureClass, ObjectClass, default_catalogue
from planner.world.episode import Act, Checklist, Episode, Source, Subtask, parse_subtask
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.files import parse_model
from planner.world.house import House
from planner.world.house_checks import check_house
from planner.world.vocabulary import AgentKind

# LLaMAR's public task list: its files.

MAX_CHECKER_BYTES = 200_000
CHECKER_NAME = "checker.py"
# Checkers spell these in several ways, of which the simulator knows only the first.
_SPELLINGS = {
    "PickObject": Act.PICK_UP,
    "PickUpObject": Act.PICK_UP,
    "ToggleOn": Act.TOGGLE_ON,
    "ToggleOff": Act.TOGGLE_OFF,
}
_ACT = re.compile(r"^\s*([A-Za-z]+)\s*\(\s*(.*?)\s*\)\s*$")
_NUMBER = re.compile(r"_\d+$")

Word = Annotated[str, Field(min_length=1, max_length=200)]


class _Task(BaseModel):
    """One task as it is written; other fields are counted as not taken."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    task_name: Annotated[str, Field(pattern=r"^[1-4]_[A-Za-z0-9_]{1,100}$")]
    task_description: Annotated[str, Field(min_length=1, max_length=1000)]
    task_floorplans: Annotated[list[Word], Field(min_length=1, max_length=200)]
    task_checklist: Annotated[list[Word], Field(max_length=200)] = []


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    tasks: list[object]


@dataclass(frozen=True, slots=True)
class PublicTask:
    """One task on one floor plan.

    Attributes:
        file: the name of its configuration.
        ambiguity: its type, 1 to 4.
        subtasks: about classes of AI2-THOR.
        not_taken: what the file says that an episode has no place for.
    """

    file: str
    name: str
    ambiguity: int
    instruction: str
    floor_plan: str
    subtasks: tuple[Subtask, ...]
    not_taken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A configuration: `count` is the number of its tasks on floor plans, with the faulty ones."""

    sha256: str
    tasks: tuple[PublicTask, ...]
    faults: tuple[Fault, ...]
    count: int


def read_public(path: Path, checkers: Path | None) -> PublicFile:
    """Reads a configuration.

    Args:
        path: the file.
        checkers: the folder of the tasks' own folders; None: only checklists of the file.

    Raises:
        FileError: if it is not a configuration at all; a bad task is a `Fault`.
    """
    file = read_foreign(path)
    config = parse_model(parse_foreign(file.text, path), _Config, path)
    tasks: list[PublicTask] = []
    faults: list[Fault] = []
    for number, entry in enumerate(config.tasks):
        try:
            task = _Task.model_validate(entry)
        except ValidationError as error:
            plain = from_validation(path, error)
            faults.append(Fault(path.name, f"tasks.{number}", f"{plain.field}: {plain.reason}"))
            continue
        try:
            tasks += _on_floor_plans(path, task, checkers)
        except FileError as error:
            faults += [
                Fault(path.name, f"{task.task_name}-{plan}", f"{error.field}: {error.reason}")
                for plan in dict.fromkeys(task.task_floorplans)
            ]
    return PublicFile(file.sha256, tuple(tasks), tuple(faults), len(tasks) + len(faults))


def _on_floor_plans(path: Path, task: _Task, checkers: Path | None) -> Iterator[PublicTask]:
    items = list(task.task_checklist)
    field = "task_checklist"
    if not items and checkers is not None:
        field = f"{task.task_name}/{CHECKER_NAME}"
        items = _checker_list(checkers / task.task_name / CHECKER_NAME)
    if not items:
        raise FileError(path, field, "there is no checklist, and no checker in --checkers")
    # The same class is written in several ways, such as Keychain and KeyChain.
    spelling: dict[str, str] = {}
    subtasks = tuple(_subtask(path, f"{field}.{i}", t, spelling) for i, t in enumerate(items))
    extra: Mapping[str, object] = task.model_extra or {}
    for plan in dict.fromkeys(task.task_floorplans):
        yield PublicTask(
            path.name,
            task.task_name,
            int(task.task_name[0]),
            task.task_description,
            plan,
            subtasks,
            tuple(f"{name}: {value}" for name, value in extra.items() if name != "task_id"),
        )


def _subtask(path: Path, field: str, text: str, spelling: dict[str, str]) -> Subtask:
    """A subtask with one spelling of each act and class, and without numbers."""
    match = _ACT.match(text)
    if match is None:
        raise FileError(path, field, f"{text[:80]!r} is not of the form Act(Object)")
    if "|" in text:
        raise FileError(path, field, f"{text[:80]!r} has alternatives, which the list has not")
    act = _SPELLINGS.get(match[1], match[1])
    given = (_NUMBER.sub("", word.strip()) for word in match[2].split(","))
    words = [spelling.setdefault(word.lower(), word) for word in given]
    try:
        return parse_subtask(f"{act}({', '.join(words)})")
    except ValueError as error:
        raise FileError(path, field, str(error)) from None


def _checker_list(path: Path) -> list[str]:
    """The list `subtasks` of a checker, which is text and nothing more.

    Raises:
        FileError: if it cannot be read or has no such list of strings.
    """
    if not path.is_file():
        raise FileError(path, f"{path.parent.name}/{path.name}", "there is no such file")
    file = read_foreign(path, MAX_CHECKER_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise FileError(path, "", f"cannot be parsed: {error}") from None
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id="subtasks") | ast.Attribute(attr="subtasks")],
                value=ast.List(elts=elements),
            ):
                return [_text(path, element) for element in elements]
    raise FileError(path, "subtasks", "there is no list of this name")


def _text(path: Path, node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
    raise FileError(path, "subtasks", f"line {node.lineno}: is not a text")


# A task of LLaMAR's public list as a recipe, and its checklist in the names of the episode.

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Of what the words leave open, how many there are.
_FEW = (2, 3)
# The predicate that an act brings about, and the state before it.
_STATES: Mapping[Act, tuple[str, dict[str, bool]]] = {
    Act.CLEAN: ("is_clean", {"clean": False}),
    Act.TOGGLE_ON: ("is_powered_on", {"powered_on": False}),
    Act.TOGGLE_OFF: ("is_powered_off", {"powered_on": True}),
    Act.SLICE: ("is_sliced", {}),
}
_KNIFE = "needed_knife"
# What "all the drawers" and "all the stove knobs" are for; of other furniture one is enough.
_EACH = frozenset({Act.OPEN, Act.TOGGLE_ON, Act.TOGGLE_OFF})
# "OpenObject(Drawer, Fork)" is an entry of the fork's, but a door is open whatever is held.
_WITH_IT = frozenset({Act.NAVIGATE, Act.PUT})


class PublicRecipe:
    """What a task needs, derived from its checklist."""

    def __init__(self, task: PublicTask, catalogue: Catalogue, rng: np.random.Generator) -> None:
        """Finds our classes for the words.

        Raises:
            UnplaceableError: if one has none.
        """
        self.task = task
        self._catalogue, self._rng = catalogue, rng
        words = dict.fromkeys(w for s in task.subtasks for w in (*s.entities, *s.held))
        self._items: dict[str, ObjectClass] = {}
        self._pieces: dict[str, FurnitureClass] = {}
        for word in words:
            meaning = thor_class(word, catalogue)
            if isinstance(meaning, ObjectClass):
                self._items[word] = meaning
            else:
                self._pieces[word] = meaning
        for subtask in task.subtasks:
            held = (*subtask.held, *(subtask.entities if subtask.act is Act.PICK_UP else ()))
            for word in held:
                if word in self._pieces:
                    raise UnplaceableError(f"{word!r} is furniture here and cannot be carried")
        if len(set(map(_label, words))) < len(words):
            raise UnplaceableError("two of its words differ only in how they are written")
        self._targets = {w for s in task.subtasks if s.act is Act.PUT for w in s.entities}
        few = task.ambiguity == 2
        self._counts = {w: int(rng.integers(_FEW[0], _FEW[1] + 1)) if few else 1 for w in words}
        for word in self._targets:
            self._counts[word] = 1

    @property
    def changes_states(self) -> bool:
        """Whether only people can do it."""
        return any(subtask.act in _STATES for subtask in self.task.subtasks)

    def furniture(self) -> dict[str, int]:
        """How many pieces of each class the house needs."""
        needed: dict[str, int] = {}
        for word, piece in self._pieces.items():
            acted = any(s.act in _EACH and word in s.entities for s in self.task.subtasks)
            count = self._counts[word] if acted else 1
            needed[piece.name] = max(needed.get(piece.name, 0), count)
        return needed

    def recipe(self, house: House) -> Recipe:
        """The recipe in a house that has the furniture.

        Raises:
            UnplaceableError: if a thing has no place to start at.
            ValidationError: if it is none.
        """
        things = {_label(w): self._thing(w, house) for w in self._items}
        slices = {}
        for subtask in self.task.subtasks:
            if subtask.act is Act.SLICE:
                (word,) = subtask.entities
                things[_KNIFE] = {"class_name": "knife", "on_top": self._surface("knife", house)}
                item = self._items.get(word)
                if item is not None and item.slices is not None:
                    slices[_label(word)] = f"{_label(word)}_slices"
        places = {
            _label(word): {"furniture": piece.name, "states": self._before(word)}
            for word, piece in self._pieces.items()
        }
        goal, last = self._goal(slices)
        return Recipe.model_validate(
            {
                "name": "task",
                "house": house.name,
                "instruction": self.task.instruction,
                "things": things,
                "slices": slices,
                "places": places,
                "no_clutter": self._kinds(),
                **({"steps": [goal, last]} if goal and last else {"goal": [*goal, *last]}),
            }
        )

    def checklist(self, episode: Episode, house: House) -> Checklist:
        """The task's own checklist, about each instance."""
        names = self._names(episode, house)
        found = [each for s in self.task.subtasks for each in self._expanded(s, names)]
        groups: dict[tuple[str, ...], None] = {}
        for word, called in names.items():
            one_of = word in self._targets or not self._is_goal(word)
            groups |= dict.fromkeys([called] if one_of else [(name,) for name in called])
        return Checklist.model_validate(
            {
                "ambiguity": self.task.ambiguity,
                "subtasks": tuple(map(str, found)),
                "targets": tuple(groups),
            }
        )

    def _thing(self, word: str, house: House) -> dict[str, object]:
        item = self._items[word]
        start = "floor" if word in self._targets else self._surface(item.name, house)
        return {
            "class_name": item.name,
            "count": self._counts[word],
            "on_top": start,
            "states": self._before(word),
        }

    def _before(self, word: str) -> dict[str, bool]:
        found: dict[str, bool] = {}
        for subtask in self.task.subtasks:
            if word in subtask.entities and subtask.act in _STATES:
                found |= _STATES[subtask.act][1]
        return found

    def _surface(self, name: str, house: House) -> str:
        """A class of furniture with a top, likely for the class, and no target."""
        taken = {piece.name for word, piece in self._pieces.items() if word in self._targets}
        tops = {p.class_name for p in house.furniture if p.surfaces} - taken
        likely = {place.furniture for place in self._catalogue.objects[name].places}
        fit = sorted(tops & likely) or sorted(tops)
        if not fit:
            raise UnplaceableError(f"{house.name} has nothing for {name} to be on")
        return fit[int(self._rng.integers(len(fit)))]

    def _kinds(self) -> tuple[str, ...]:
        """Where the words leave the things open, nothing else is of their kinds."""
        if self.task.ambiguity < 3:
            return ()
        return tuple(sorted({kind for item in self._items.values() for kind in item.groups}))

    def _goal(
        self, slices: Mapping[str, str]
    ) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """The goal, and what must hold after it."""
        goal: list[dict[str, object]] = []
        last: list[dict[str, object]] = []
        for subtask in self.task.subtasks:
            (word,) = subtask.entities
            label = _label(word)
            if subtask.act is Act.PUT:
                predicate = "is_inside" if self._goes_inside(word) else "is_on_top"
                thing = _label(subtask.held[0])
                goal.append({"predicate": predicate, "things": [thing], "at": [label]})
            elif subtask.act in _STATES:
                label = slices.get(label, label) if subtask.act is Act.SLICE else label
                goal.append({"predicate": _STATES[subtask.act][0], "things": [label]})
            elif subtask.act is Act.OPEN and word not in self._targets:
                goal.append({"predicate": "is_open", "things": [label]})
            elif subtask.act is Act.CLOSE:
                last.append({"predicate": "is_closed", "things": [label]})
        if not goal and not last:
            raise UnplaceableError("its checklist changes nothing")
        return goal, last

    def _goes_inside(self, word: str) -> bool:
        if word in self._items:
            return self._items[word].hollow is not None
        piece = self._pieces[word]
        opened = any(s.act is Act.OPEN and word in s.entities for s in self.task.subtasks)
        return bool(piece.interiors) and (opened or not piece.surfaces)

    def _is_goal(self, word: str) -> bool:
        """Whether each of a class has to be acted on, and not any one."""
        if word in self._items:
            return word not in self._targets
        return word not in self._targets and any(
            word in s.entities and s.act is not Act.NAVIGATE for s in self.task.subtasks
        )

    def _names(self, episode: Episode, house: House) -> dict[str, tuple[str, ...]]:
        """The episode's entities for each word; things come in the order of the recipe's labels."""
        names: dict[str, tuple[str, ...]] = {}
        at = 0
        for word in self._items:
            placed = episode.objects[at : at + self._counts[word]]
            names[word] = tuple(item.name for item in placed)
            at += self._counts[word]
        for word, piece in self._pieces.items():
            alike = (each for each in house.furniture if each.class_name == piece.name)
            names[word] = tuple(each.name for each in alike)
        return names

    def _expanded(self, subtask: Subtask, names: Mapping[str, Sequence[str]]) -> Iterator[Subtask]:
        (word,) = subtask.entities
        with_it = subtask.held if subtask.act in _WITH_IT else ()
        held = [(name,) for name in names[with_it[0]]] if with_it else [()]
        each = self._is_goal(word)
        for thing in held:
            for group in [(name,) for name in names[word]] if each else [tuple(names[word])]:
                yield Subtask(subtask.act, group, thing)


def _label(word: str) -> str:
    return "w_" + _CAPITAL.sub("_", word).lower().replace("-", "_")


DATASET = "llamar"
_SEEDS_TRIED = 24


def import_public(paths: Sequence[Path], seed: int, checkers: Path | None = None) -> Imported:
    """Makes an episode of each task on each of its floor plans.

    Args:
        paths: configurations.
        seed: determines rooms and places.
        checkers: see `read_public`.

    Raises:
        FileError: if a file is not a configuration, or two share a name.
    """
    made = _Importer(seed)
    for path in paths:
        made.read(path, checkers)
    return made.imported()


class _Importer:
    """The state of an import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._catalogue = default_catalogue()
        self._read: dict[str, int] = {}
        self._sha256: dict[str, str] = {}
        self._left_out: list[Fault] = []
        self._recipes: list[PublicRecipe] = []
        self._linter = Linter()

    def read(self, path: Path, checkers: Path | None) -> None:
        if path.name in self._read:
            raise FileError(path, "", "a file of this name was given already")
        file = read_public(path, checkers)
        self._read[path.name] = file.count
        self._sha256[path.name] = file.sha256
        self._left_out += file.faults
        for task in file.tasks:
            rng = np.random.default_rng(scene_seed(self._seed, task.name, task.floor_plan))
            try:
                thor_room(task.floor_plan)
                self._recipes.append(PublicRecipe(task, self._catalogue, rng))
            except UnplaceableError as error:
                self._leave_out(task, str(error))

    def imported(self) -> Imported:
        houses = self._houses()
        episodes: list[Episode] = []
        for recipe in self._recipes:
            task = recipe.task
            house = houses.get(task.floor_plan)
            if isinstance(house, str) or house is None:
                self._leave_out(task, house or "no room could be made")
                continue
            try:
                episode = self._episode(recipe, house)
            except ValidationError as error:
                plain = from_validation(task.file, error)
                self._leave_out(task, f"{plain.field}: {plain.reason}")
                continue
            except (UnplaceableError, PlannerError) as error:
                self._leave_out(task, str(error))
                continue
            if episode.episode_id in {known.episode_id for known in episodes}:
                self._leave_out(task, "another task gives the same name")
                continue
            episodes.append(episode)
        used = {episode.house for episode in episodes}
        found = {h.name: h for h in houses.values() if isinstance(h, House) and h.name in used}
        return Imported(DATASET, self._read, tuple(episodes), tuple(self._left_out), found)

    def _leave_out(self, task: PublicTask, reason: str) -> None:
        self._left_out.append(Fault(task.file, f"{task.name}-{task.floor_plan}", reason))

    def _houses(self) -> dict[str, House | str]:
        """One room per floor plan, with what its tasks need; or why there is none."""
        needed: dict[str, dict[str, int]] = {}
        for recipe in self._recipes:
            counts = needed.setdefault(recipe.task.floor_plan, {})
            for name, count in recipe.furniture().items():
                counts[name] = max(counts.get(name, 0), count)
        return {plan: self._house(plan, counts) for plan, counts in needed.items()}

    def _house(self, plan: str, required: dict[str, int]) -> House | str:
        room, name = thor_room(plan), f"llamar-{plan}"
        problem = ""
        for attempt in range(_SEEDS_TRIED):
            try:
                house = generate_house(
                    name,
                    scene_seed(self._seed, name) + attempt,
                    rooms={room: 1},
                    required={f"{room}_0": required},
                    objects=0,
                )
            except PlannerError as error:
                problem = str(error)
                continue
            findings = check_house(house, self._catalogue)
            if not findings:
                return house
            problem = str(findings[0])
        return f"no room has the furniture of its tasks: {problem}"

    def _episode(self, recipe: PublicRecipe, house: House) -> Episode:
        task = recipe.task
        built = build(recipe.recipe(house), house).episode
        kind = AgentKind.HUMAN if recipe.changes_states else AgentKind.ROBOT
        episode = built.model_copy(
            update={
                "episode_id": f"{task.name}-{task.floor_plan}",
                "seed": scene_seed(self._seed, task.name, task.floor_plan),
                "agents": equals(kind),
                "checklist": recipe.checklist(built, house),
                "source": Source(
                    dataset=DATASET,
                    file=task.file,
                    scene_id=task.floor_plan,
                    episode_id=task.name,
                    sha256=self._sha256[task.file],
                    fitted=True,
                    not_taken=task.not_taken,
                ),
            }
        )
        for finding in self._linter.errors(episode, house):
            raise FileError(task.file, finding.field, finding.reason)
        return episode


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checkers",
        type=Path,
        metavar="DIR",
        help="the tasks' folders, TASK/checker.py, for tasks without a checklist of their own",
    )


IMPORTER = ImporterPart(
    summary="LLaMAR's public task list, in rooms of ours",
    read=lambda args: import_public(args.files, args.seed, args.checkers),
    add_arguments=_add_arguments,
)
