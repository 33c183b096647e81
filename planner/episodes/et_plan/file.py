"""ET-Plan-Bench's JSON-lines tasks, in the published layout and in that of ETPLAN-2.1.

Published: `task`, `task_completion_criterion` (a text such as `(CLOSE, robot, apple)(INSIDE,
apple, fridge)`, two of them after `STEP_1:` and `STEP_2:`), `env_id`, `ground_truth_plan` (script
lines). ETPLAN-2.1: `objects` by letter, `intermediate` and
`success` as triples, `gt` as lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from planner.episodes.foreign.file import json_lines, read_foreign
from planner.episodes.partnr.instruction_file import Fault
from planner.world.errors import FileError
from planner.world.files import parse_model

PUTS = frozenset({"PUT", "PUTIN", "PUTBACK"})
RELATIONS = ("CLOSE", "INSIDE", "ON", "FACING")
ROBOT_WORDS = frozenset({"robot", "character", "char0"})
MAX_TRIPLES = 50
# Suffix of a class that a criterion relates to itself, such as a towel on a towel.
SECOND = " (2)"
MAX_STEPS = 500

Word = Annotated[str, Field(min_length=1, max_length=60)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$")]
_TRIPLE = re.compile(r"\(([^()]*)\)")
_STEPS = re.compile(r"^\s*STEP_1\s*:(?P<first>.*?)STEP_2\s*:(?P<second>.*)$", re.DOTALL)
_LINE = re.compile(r"^\s*<char\d+>\s*\[(?P<verb>\w{1,20})\](?P<rest>.*)$")
_ARGUMENT = re.compile(r"<([^<>]{1,60})>\s*\((\d{1,9})\)")


class _Foreign(BaseModel):
    # Additional fields of the task generators are noted, not refused.
    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """The fields of the record that are not read."""
        return tuple(
            f"the field {name[:60]!r} is not known" for name in sorted(self.model_extra or {})
        )


class _Published(_Foreign):
    task: Annotated[str, Field(min_length=1, max_length=2000)]
    task_completion_criterion: Annotated[str, Field(min_length=1, max_length=4000)]
    env_id: Annotated[int, Field(ge=0, le=10_000)]
    ground_truth_plan: Annotated[tuple[Word | str, ...], Field(max_length=MAX_STEPS)] = ()


class _Entity(_Foreign):
    class_: Annotated[Word, Field(alias="class")]
    id: Annotated[int, Field(ge=0)] | None = None


class _Specified(_Foreign):
    id: Identifier
    category: Word
    scene: Annotated[int, Field(ge=0, le=10_000)]
    split: Word = "none"
    task: Annotated[str, Field(min_length=1, max_length=2000)]
    objects: Annotated[dict[Word, _Entity], Field(max_length=MAX_TRIPLES)]
    intermediate: Annotated[tuple[tuple[Word, Word, Word], ...], Field(max_length=MAX_TRIPLES)] = ()
    success: Annotated[
        tuple[tuple[Word, Word, Word], ...], Field(min_length=1, max_length=MAX_TRIPLES)
    ]
    prior: Word = "P"
    arms: Literal[1, 2] | None = None
    init: object = None
    variants: object = None
    environment: object = None
    gt: Annotated[tuple[tuple[Word | int, ...], ...], Field(max_length=MAX_STEPS)] = ()


@dataclass(frozen=True, slots=True)
class EtStep:
    """A step of the data set's own plan: verb, then (class, id) of each argument."""

    verb: str
    arguments: tuple[tuple[str, int], ...]


EtTriple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class EtTask:
    """A task; triples refer to variables, `classes` and `numbers` give the class and id of each.

    `arms` is how many things may be carried at a time: the record's, or else as many as its plan
    carries. `unknown_fields` of its record are noted and not read.
    """

    file: str
    task_id: str
    environment: int
    category: str
    text: str
    classes: dict[str, str]
    intermediate: tuple[EtTriple, ...]
    success: tuple[EtTriple, ...]
    plan: tuple[EtStep, ...]
    numbers: dict[str, int] = field(default_factory=dict)
    arms: Literal[1, 2] = 1
    unknown_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EtFile:
    """A file's readable tasks and the fault of each other line."""

    path: Path
    sha256: str
    tasks: tuple[EtTask, ...]
    faults: tuple[Fault, ...]


def read_et_file(path: Path) -> EtFile:
    """Reads a JSON-lines file.

    Raises:
        FileError: if it cannot be read; a single bad line is a `Fault`.
    """
    file = read_foreign(path)
    tasks: list[EtTask] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    for number, document in json_lines(file):
        try:
            if isinstance(document, FileError):
                raise document
            task = _task(path, number, document)
            if task.task_id in seen:
                raise FileError(path, f"line {number}.id", f"{task.task_id} is used twice")
        except FileError as error:
            faults.append(Fault(path.name, f"line {number}", f"{error.field}: {error.reason}"))
            continue
        seen.add(task.task_id)
        tasks.append(task)
    return EtFile(path, file.sha256, tuple(tasks), tuple(faults))


def _task(path: Path, number: int, document: object) -> EtTask:
    if isinstance(document, dict) and "success" in document:
        return _specified(path, parse_model(document, _Specified, path))
    return _published(path, number, parse_model(document, _Published, path))


def _published(path: Path, number: int, raw: _Published) -> EtTask:
    field = "task_completion_criterion"
    steps = _STEPS.match(raw.task_completion_criterion)
    plan = tuple(_line(path, i, line) for i, line in enumerate(raw.ground_truth_plan))
    first = tuple(_triples(path, field, steps["first"])) if steps else ()
    last = tuple(_triples(path, field, steps["second"] if steps else raw.task_completion_criterion))
    return EtTask(
        file=path.name,
        task_id=str(number),
        environment=raw.env_id,
        category=path.name.split(".")[0],
        text=" ".join(raw.task.split()),
        classes={
            word: word.removesuffix(SECOND) for triple in (*first, *last) for word in triple[1:]
        },
        intermediate=first,
        success=last,
        plan=plan,
        arms=_arms(plan),
        unknown_fields=raw.unknown_fields,
    )


def _arms(plan: Sequence[EtStep]) -> Literal[1, 2]:
    """How many things a plan carries at a time; the benchmark's characters have two hands."""
    held = most = 0
    for step in plan:
        held += (step.verb == "GRAB") - (step.verb in PUTS)
        most = max(most, held)
    return 1 if most < 2 else 2


def _triples(path: Path, field: str, text: str) -> Iterator[EtTriple]:
    found = _TRIPLE.findall(text)
    if _TRIPLE.sub("", text).strip():
        raise FileError(path, field, "has text outside of its triples")
    if not 0 < len(found) <= MAX_TRIPLES:
        raise FileError(path, field, f"has {len(found)} triples, not 1 to {MAX_TRIPLES}")
    for triple in dict.fromkeys(found):
        words = tuple(word.strip() for word in triple.split(","))
        relation, one, other = _checked(path, field, words)
        yield relation, one, other + SECOND if one == other else other


def _checked(path: Path, field: str, words: Sequence[str]) -> EtTriple:
    if len(words) != 3 or not all(words):
        raise FileError(path, field, f"({', '.join(words)[:60]}) is not a triple")
    relation, one, other = words
    if relation not in RELATIONS:
        raise FileError(path, field, f"{relation[:30]!r} is not one of {', '.join(RELATIONS)}")
    return relation, _robot(one), _robot(other)


def _robot(word: str) -> str:
    return "robot" if word.lower() in ROBOT_WORDS else word


def _line(path: Path, index: int, line: str) -> EtStep:
    match = _LINE.match(line[:300])
    if match is None:
        raise FileError(path, f"ground_truth_plan.{index}", f"{line[:40]!r} is not a script line")
    arguments = tuple(
        (name.strip(), int(number)) for name, number in _ARGUMENT.findall(match["rest"])
    )
    return EtStep(match["verb"].upper(), arguments)


def _specified(path: Path, raw: _Specified) -> EtTask:
    def triples(field: str, items: Sequence[Sequence[str]]) -> tuple[EtTriple, ...]:
        made = tuple(_checked(path, field, item) for item in items)
        for triple in made:
            for word in triple[1:]:
                if word != "robot" and word not in raw.objects:
                    raise FileError(path, field, f"{word!r} is not among the objects")
        return made

    plan = tuple(_gt(path, i, step) for i, step in enumerate(raw.gt))
    return EtTask(
        file=path.name,
        task_id=raw.id,
        environment=raw.scene,
        category=raw.category,
        text=" ".join(raw.task.split()),
        classes={name: entity.class_ for name, entity in raw.objects.items()},
        intermediate=triples("intermediate", raw.intermediate),
        success=triples("success", raw.success),
        plan=plan,
        numbers={n: e.id for n, e in raw.objects.items() if e.id is not None},
        arms=raw.arms or _arms(plan),
        unknown_fields=raw.unknown_fields,
    )


def _gt(path: Path, index: int, step: Sequence[str | int]) -> EtStep:
    verb, *rest = step if step else ("",)
    pairs = list(zip(rest[::2], rest[1::2], strict=False))
    if (
        not isinstance(verb, str)
        or len(rest) % 2
        or not all(isinstance(name, str) and isinstance(number, int) for name, number in pairs)
    ):
        raise FileError(
            path, f"gt.{index}", "is not a verb with a class and an id for each argument"
        )
    return EtStep(verb.upper(), tuple((str(name), int(number)) for name, number in pairs))
