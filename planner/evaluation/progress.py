"""What the evaluator says: how each proposition stands, how much is done, and why not all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.evaluation.predicates import Variant
from planner.world.record import record


class Mode(StrEnum):
    """By whose rules a result was computed; no result comes without it.

    STRICT: as the paper defines it. PARTNR_V0: as the published code computes it, with its
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


@dataclass(frozen=True, slots=True)
class PropositionProgress:
    """How one proposition stands.

    Attributes:
        index: in the evaluation's list.
        text: the proposition in words.
        holds: true in this very state, whatever dependencies say.
        satisfied: counts, if the episode ended now (PARTNR-D26, PARTNR-D28).
        first_step: simulation step at which it first counted; None = never.
        reason: None where it is satisfied.
        detail: the reason as a sentence; "" where it is satisfied.
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
    """How ET-Plan-Bench's criteria stand (`planner.evaluation.criteria`).

    Attributes:
        success: the success criteria hold, and the intermediate ones did in time.
        share: of the success criteria and, as one more, the intermediate ones; 0 to 1.
        entities: what each variable stands for in the choice that comes nearest.
        first_step: simulation step at which all was first met; None = never.
        explanation: one sentence a cause; "" on success.
    """

    success: bool
    share: float
    entities: tuple[tuple[str, str], ...]
    first_step: int | None
    explanation: str


@record
class Progress:
    """How the task stands after a state, judged as if the episode ended there (PARTNR-D28).

    Attributes:
        percent_complete: share of the propositions that count, 0 to 1; of the criteria where
            there are no propositions.
        success: all of them.
        sim_steps: simulation step of the state.
        explanation: one sentence a proposition that does not count; "" on success.
        criteria: ET-Plan-Bench's, where the episode has some.
    """

    percent_complete: float
    success: bool
    sim_steps: int
    propositions: tuple[PropositionProgress, ...]
    explanation: str
    mode: Mode
    variant: Variant
    criteria: CriteriaProgress | None = None


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


def criteria_word(criteria: CriteriaProgress | None) -> str:
    """In one word or two how criteria stand; "" where there are none."""
    if criteria is None:
        return ""
    return "met" if criteria.success else "not met"
