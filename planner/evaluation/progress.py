"""The evaluator's results: the status of each proposition, percent complete, and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.evaluation.predicates import Variant
from planner.world.record import record

_AS_UNDERSTOOD = ", as understood"


class Mode(StrEnum):
    """The rules by which a result was computed; every result names them.

    STRICT: as the paper defines them. PARTNR_V0: as the published code implements them, with its
    DEFECT-D1, DEFECT-D2 and DEFECT-D4, for comparison with published numbers.
    """

    STRICT = "strict"
    PARTNR_V0 = "partnr_v0"


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
