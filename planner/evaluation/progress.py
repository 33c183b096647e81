"""The evaluator's results, their copy on disk, and what a person says about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from planner.evaluation.predicates import Variant
from planner.evaluation.task import PersonPredicate, Predicate, Proposition, asked_open, asked_word
from planner.language.lexicon import plural_of
from planner.world.errors import FileError
from planner.world.files import FileModel, read_model, replacing
from planner.world.geometry import record
from planner.world.vocabulary import floor_name

_AS_UNDERSTOOD = ", as understood"


class Mode(StrEnum):
    """The rules by which a result was computed; every result names them.

    STRICT: as the paper defines them. PUBLISHED: as the published code implements them, with its
    DEFECT-D1, DEFECT-D2 and DEFECT-D4, for comparison with published numbers.
    """

    STRICT = "strict"
    PUBLISHED = "partnr_v0"


# What users write for them.
MODES = {"strict": Mode.STRICT, "compat": Mode.PUBLISHED, Mode.PUBLISHED.value: Mode.PUBLISHED}


class Reason(StrEnum):
    """Why a proposition does not count (PARTNR-D29)."""

    NEVER = "never"
    GATE_CLOSED = "gate_closed"
    OUT_OF_ORDER = "out_of_order"
    NOT_TERMINAL = "not_terminal"
    ARG_NOT_SAME = "arg_not_same"
    ARG_NOT_DIFFERENT = "arg_not_different"
    NOT_ALWAYS = "not_always"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class PropositionProgress:
    """The status of one proposition.

    Attributes:
        index: in the evaluation's list.
        text: the proposition as text.
        holds: true in this state, ignoring dependencies.
        satisfied: counts if the episode ends now (PARTNR-D26, PARTNR-D28).
        first_step: simulation step at which it first counted; None = never.
        reason: None if it is satisfied.
        detail: the reason as a sentence; "" if it is satisfied.
    """

    index: int
    text: str
    holds: bool
    satisfied: bool
    first_step: int | None
    reason: Reason | None
    detail: str


@dataclass(frozen=True, slots=True)
class CriteriaProgress:
    """The status of ET-Plan-Bench's criteria (`planner.evaluation.criteria`).

    Attributes:
        success: the success criteria hold, and the intermediate ones did in time.
        share: satisfied share of the success criteria plus, as one, the intermediate ones.
        entities: the entity of each variable in the best binding.
        first_step: simulation step at which everything was first met; None = never.
        explanation: one sentence per cause; "" on success.
    """

    success: bool
    share: float
    entities: tuple[tuple[str, str], ...]
    first_step: int | None
    explanation: str


@record
class Progress:
    """The progress after a state, judged as if the episode ended there (PARTNR-D28).

    Attributes:
        percent_complete: share of the propositions that count, 0 to 1; share of the criteria if
            there are no propositions.
        success: whether all count.
        sim_steps: simulation step of the state.
        explanation: one sentence for each proposition that does not count; "" on success.
        criteria: ET-Plan-Bench's, if the episode has any.
        understood: judged by the goal as understood from words, not by the episode's.
    """

    percent_complete: float
    success: bool
    sim_steps: int
    propositions: tuple[PropositionProgress, ...]
    explanation: str
    mode: Mode
    variant: Variant
    criteria: CriteriaProgress | None = None
    understood: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of an episode; fields as in `Progress`, except `sim_steps`.

    Attributes:
        sim_steps: simulation steps from the instruction, or from the load of the world if there was
            none, to the last state.
    """

    episode_id: str
    percent_complete: float
    success: bool
    sim_steps: int
    propositions: tuple[PropositionProgress, ...]
    explanation: str
    mode: Mode
    variant: Variant
    criteria: CriteriaProgress | None = None
    understood: bool = False


def variant_text(result: Progress | Verdict) -> str:
    """How and by which goal it was judged: "boxes", or "boxes, as understood"."""
    return f"{result.variant}{_AS_UNDERSTOOD}" if result.understood else str(result.variant)


def is_understood(variant: str) -> bool:
    """Whether a `variant_text` is of a goal as understood."""
    return variant.endswith(_AS_UNDERSTOOD)


def criteria_word(criteria: CriteriaProgress | None) -> str:
    """The status of criteria in one or two words; "" if there are none."""
    if criteria is None:
        return ""
    return "met" if criteria.success else "not met"


# Stores latches on disk, so that an evaluator that is killed keeps what was achieved.


class Latched(FileModel):
    """One evaluator's latches.

    Attributes:
        step: of the last state that changed them.
        evaluation: the task that they belong to, as in the episode.
        latches: `Evaluator.latches`.
    """

    version: Literal[2] = 2
    episode_id: str
    mode: Mode
    step: Annotated[int, Field(ge=0)]
    evaluation: JsonValue
    latches: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class LatchFile:
    """One episode's file in a folder."""

    folder: Path
    episode_id: str

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / f"{self.episode_id}.json"

    def write(self, latched: Latched) -> None:
        """Writes the file atomically.

        Raises:
            FileError: if the file cannot be written.
        """
        with replacing(self.path, make_folder=True) as aside:
            aside.write_text(json.dumps(latched.model_dump(mode="json")), encoding="utf-8")

    def read(self, mode: Mode, step: int, evaluation: JsonValue) -> Latched | None:
        """The latches of this task up to a step; None if there are none.

        Raises:
            FileError: if the file is invalid.
        """
        if not self.path.exists():
            return None
        latched = read_model(self.path, Latched)
        same = (latched.mode, latched.evaluation) == (mode, evaluation)
        # Latches from a later step belong to an earlier run of the same episode.
        return latched if same and latched.step <= step else None

    def remove(self) -> None:
        """Deletes the file of an episode whose verdict has been given.

        Raises:
            FileError: if it cannot be deleted.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(self.path, "", f"cannot be removed: {error}") from None


# What a person says who looks at the result: "done", or what is not as wanted (HELPER-D83).

DONE = "done"
_RELATIONS: Mapping[str, tuple[str, str, str]] = {
    Predicate.IS_ON_TOP: ("put", "on", "on"),
    Predicate.IS_INSIDE: ("put", "into", "in"),
    Predicate.IS_IN_ROOM: ("bring", "into", "in"),
    Predicate.IS_NEXT_TO: ("put", "next to", "next to"),
    PersonPredicate.IS_TOLD: ("tell", "about", "told about"),
    PersonPredicate.IS_GUIDED: ("guide", "to", "guided to"),
    PersonPredicate.IS_FOLLOWED: ("follow", "to", "followed to"),
    PersonPredicate.IS_HANDED_OVER: ("hand over", "to", "handed over to"),
    PersonPredicate.IS_NEAR_PERSON: ("bring", "to", "near"),
}


def feedback(propositions: Sequence[Proposition], satisfied: Sequence[bool]) -> str:
    """Says "done" if everything counts, else one sentence for each proposition that does not.

    Args:
        propositions: of the task.
        satisfied: for each, whether it counts if the episode ends now.

    Raises:
        ValueError: if their numbers differ.
    """
    unmet = [p for p, met in zip(propositions, satisfied, strict=True) if not met]
    return " ".join(map(complaint, unmet)) or DONE


def complaint(proposition: Proposition) -> str:
    """The subtask that failed, the thing, and its wanted state, by the names of classes."""
    things = [_class_word(name) for name in proposition.lists[0]]
    subtask, state = _subtask_and_state(proposition)
    thing = _choice(things)
    return f'The subtask "{subtask}" failed: the {thing} should be {state}.'


def _subtask_and_state(proposition: Proposition) -> tuple[str, str]:
    words = [_class_word(name) for name in proposition.lists[0]]
    things = f"the {_choice(words)}"
    if proposition.number > 1:
        things = f"{proposition.number} of the {_choice([plural_of(word) for word in words])}"
    if proposition.predicate == PersonPredicate.IS_MET:
        return f"greet {things}", "greeted"
    word = asked_word(proposition.predicate)
    if word:
        verb = "get" if asked_open(proposition.predicate) is not None else "make"
        return f"{verb} {things} {word}", word
    if proposition.predicate is Predicate.IS_ON_FLOOR:
        return f"put {things} on the floor", "on the floor"
    if proposition.predicate is Predicate.IS_CLUSTERED:
        others = [_choice([_class_word(n) for n in names]) for names in proposition.lists[1:]]
        return f"put {things} and the {' and the '.join(others)} together", "close to the others"
    verb, into, where = _RELATIONS[proposition.predicate]
    places = list(proposition.lists[1])
    if proposition.predicate is Predicate.IS_ON_TOP:
        # Of a room's floor its room is said; a floor lamp is a thing.
        places = [name.removeprefix(floor_name("")) for name in places]
    place = f"the {_choice([_class_word(name) for name in places])}"
    return f"{verb} {things} {into} {place}", f"{where} {place}"


def _class_word(name: str) -> str:
    """The class of an entity as people say it: they do not know its number."""
    head, _, number = name.rpartition("_")
    return (head if number.isdigit() else name).replace("_", " ")


def _choice(words: Sequence[str]) -> str:
    return " or ".join(dict.fromkeys(words))
