"""LLaMAR's public task list: its files."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.episodes.importing.foreign import parse_foreign, read_foreign
from planner.episodes.importing.importer import Fault
from planner.world.episode import Act, Subtask, parse_subtask
from planner.world.errors import FileError, from_validation

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
    document = parse_foreign(file.text, path)
    try:
        config = _Config.model_validate(document)
    except ValidationError as error:
        raise from_validation(path, error) from None
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
