"""The arguments and results of running a part over a bag."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from planner.evaluation.progress import MODES, Mode
from planner.memory.memory import UPDATE_PERIOD
from planner.memory.part import MODEL_OPTIONS, UPDATERS, UpdaterModel
from planner.memory.sightings import VISIBILITY
from planner.models.chat import MODEL_DEADLINE
from planner.models.model_choice import ModelChoice
from planner.parts.option import Option, OptionError, OptionValue, read_options
from planner.planning.part import PLANNERS, PlannerChoice
from planner.planning.planner_model import (
    CONTROL,
    MEMORY_SOURCE,
    SHOW_STATES,
    Axes,
    Control,
    DialogueOptions,
    MemorySource,
)
from planner.world.errors import FileError, PlannerError

MEMORY, PLANNER, EVALUATOR = "memory", "planner", "evaluator"
NO_UPDATER = "none"
_OF_PLANNERS = (CONTROL, MEMORY_SOURCE, MODEL_DEADLINE, SHOW_STATES)


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A memory; the arguments are the memory node's parameters.

    Attributes:
        updater: in the catalog of updaters, or `none`.
        visibility: what counts as seen, for `privileged`.
        period_s: minimum time between two pictures of one camera.
        options: of the updater.
    """

    updater: str
    model: UpdaterModel
    visibility: str
    period_s: float
    options: Mapping[str, OptionValue]


@dataclass(frozen=True, slots=True)
class PlannerRequest:
    """A planner; the arguments are the task planner's parameters.

    Attributes:
        seed: of the task; None = as recorded.
    """

    choice: PlannerChoice
    model: ModelChoice = field(default_factory=ModelChoice)
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class EvaluatorRequest:
    """An evaluator; `mode` None = by the recorded one's rules."""

    mode: Mode | None = None


Request: TypeAlias = MemoryRequest | PlannerRequest | EvaluatorRequest


def read_request(words: Sequence[str]) -> tuple[Request, Mapping[str, str]]:
    """The request, and the arguments by name.

    Raises:
        PlannerError: for an invalid argument.
    """
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not separator and name != EVALUATOR:
            raise PlannerError(f"--through {word}: expected NAME:=VALUE or {EVALUATOR}")
        if name in given:
            raise PlannerError(f"--through {name}: is given twice")
        given[name] = value
    parts = [part for part in (MEMORY, PLANNER, EVALUATOR) if part in given]
    if len(parts) != 1:
        raise PlannerError(
            "--through: name one part: memory:=UPDATER, planner:=NAME or evaluator"
            + (f", not {' and '.join(parts)}" if parts else "")
        )
    return _Words(parts[0], dict(given)).request(), given


class _Words:
    """The arguments of one part, consumed one by one; unused ones are an error."""

    def __init__(self, part: str, words: dict[str, str]) -> None:
        self._part, self._words = part, words

    def request(self) -> Request:
        made: Mapping[str, Callable[[], Request]] = {
            MEMORY: self._memory,
            PLANNER: self._planner,
            EVALUATOR: self._evaluator,
        }
        request = made[self._part]()
        if self._words:
            name = next(iter(self._words))
            raise PlannerError(f"--through {name}: is not an option of {self._part}")
        return request

    def _memory(self) -> MemoryRequest:
        updater = self._choice(MEMORY, (NO_UPDATER, *UPDATERS.names()), "")
        declared = () if updater == NO_UPDATER else UPDATERS.get(updater).options
        ours = read_options((UPDATE_PERIOD, VISIBILITY), self._options((UPDATE_PERIOD, VISIBILITY)))
        return MemoryRequest(
            updater,
            UpdaterModel.of(self._options(MODEL_OPTIONS)),
            str(ours[VISIBILITY.name]),
            float(ours[UPDATE_PERIOD.name]),
            self._options(declared),
        )

    def _planner(self) -> PlannerRequest:
        name = self._choice(PLANNER, PLANNERS.names(), "")
        options = self._options(PLANNERS.get(name).options)
        seed = self._text("seed")
        if seed and not (seed.isascii() and seed.isdigit()):
            raise PlannerError(f"--through seed:={seed}: expected a whole number of 0 or greater")
        ours = read_options(_OF_PLANNERS, self._options(_OF_PLANNERS))
        return PlannerRequest(
            PlannerChoice(
                name,
                Axes(
                    control=Control(str(ours[CONTROL.name])),
                    memory_source=MemorySource(str(ours[MEMORY_SOURCE.name])),
                ),
                DialogueOptions(
                    deadline_s=float(ours[MODEL_DEADLINE.name]),
                    show_states=bool(ours[SHOW_STATES.name]),
                ),
                options,
            ),
            model=self._model(),
            seed=int(seed) if seed else None,
        )

    def _model(self) -> ModelChoice:
        choice = ModelChoice(
            self._text("model"), self._text("model_url"), record=self._text("record_model")
        )
        if not choice.model:
            return choice
        return replace(choice, options=self._options(choice.part.options))

    def _evaluator(self) -> EvaluatorRequest:
        value = self._words.pop(EVALUATOR)
        if value:
            raise PlannerError(f"--through {EVALUATOR}:={value}: takes no value")
        mode = self._choice("scoring", ("", *MODES), "")
        return EvaluatorRequest(MODES[mode] if mode else None)

    def _options(self, options: Sequence[Option]) -> dict[str, OptionValue]:
        """Those of the options that are given."""
        given = {o: self._words.pop(o.name) for o in options if o.name in self._words}
        try:
            return {option.name: option.read(text) for option, text in given.items()}
        except OptionError as error:
            raise PlannerError(f"--through {error.name}: {error.reason}") from None

    def _text(self, name: str, default: str = "") -> str:
        return self._words.pop(name, default)

    def _choice(self, name: str, choices: Sequence[str], default: str) -> str:
        value = self._text(name, default)
        if value not in choices:
            there = ", ".join(choice for choice in choices if choice)
            raise PlannerError(f"--through {name}:={value}: expected one of {there}")
        return value


# Results of running a part over a bag: records for machines, lines for people.

VERSION = 1
DIFFERENCES, SUMMARY = "differences.jsonl", "summary.json"
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that is printed and saved.

    Attributes:
        records: one for each step, for `differences.jsonl`.
        summary: for `summary.json`.
        lines: the steps that differ, then the summary, for the terminal.
    """

    records: Sequence[Mapping[str, JsonValue]]
    summary: Mapping[str, JsonValue]
    lines: Sequence[str]


def save(findings: Findings, folder: Path) -> None:
    """Writes both files into a new folder.

    Raises:
        FileError: if it exists already or cannot be written.
    """
    try:
        folder.mkdir(parents=True)
        with (folder / DIFFERENCES).open("w", encoding="utf-8") as stream:
            for record in findings.records:
                stream.write(_text(record) + "\n")
        text = json.dumps(_rounded(dict(findings.summary)), indent=2, ensure_ascii=False)
        (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
    except FileExistsError:
        raise FileError(folder, "", "exists already, nothing is overwritten") from None
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error.strerror}") from None


def _text(record: Mapping[str, JsonValue]) -> str:
    return json.dumps(_rounded(dict(record)), ensure_ascii=False)


def _rounded(value: JsonValue) -> JsonValue:
    """Rounds floats to six decimals; NaN and infinities become null."""
    if isinstance(value, float):
        return round(value, _DIGITS) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value


def plain(text: str, limit: int = 160) -> str:
    """Text of a bag on one line, without control characters."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def share(value: float | None) -> str:
    """A rate as text."""
    return "-" if value is None else f"{value:.3f}"
