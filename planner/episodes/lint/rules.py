"""The lint rules, each with an id and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """An error makes an episode unusable; a warning should be reviewed."""

    ERROR = "error"
    WARNING = "warning"


class Rule(StrEnum):
    """The ids; they are part of the machine-readable output and never change."""

    UNREADABLE = "unreadable"
    VERSION = "version"
    SCHEMA = "schema"
    NEEDS_SCENE = "needs-scene"
    HOUSE = "house"
    PLACEMENT = "placement"
    UNKNOWN_ENTITY = "unknown-entity"
    WRONG_KIND = "wrong-kind"
    MISSING_AFFORDANCE = "missing-affordance"
    NO_INSTRUCTION = "no-instruction"
    NO_EVALUATION = "no-evaluation"
    EVALUATION = "evaluation"
    CRITERIA = "criteria"
    CHECKLIST = "checklist"
    INDEX = "index"
    CYCLE = "cycle"
    NUMBER = "number"
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    ALREADY_SATISFIED = "already-satisfied"
    STATE_AT_START = "state-at-start"
    TRUE_AT_START = "true-at-start"
    UNGATED = "ungated"
    LOST_HEAD = "lost-head"
    UNSOLVABLE = "unsolvable"
    TASK_TYPES = "task-types"
    REFERENCE_PLAN = "reference-plan"
    UNSOLVED = "unsolved"


WARNINGS = frozenset(
    {
        Rule.NEEDS_SCENE,
        Rule.NO_INSTRUCTION,
        Rule.NO_EVALUATION,
        Rule.TRUE_AT_START,
        Rule.UNGATED,
        Rule.LOST_HEAD,
        Rule.REFERENCE_PLAN,
    }
)

SENTENCES: dict[Rule, str] = {
    Rule.UNREADABLE: "The file cannot be read, or is not JSON.",
    Rule.VERSION: "The file has a version that this planner does not read.",
    Rule.SCHEMA: "A field is missing, unknown or malformed.",
    Rule.NEEDS_SCENE: "The house is another dataset's scene, which is not here.",
    Rule.HOUSE: "The house cannot be found, or is itself invalid.",
    Rule.PLACEMENT: "An object, an agent or a changed piece does not fit into the house.",
    Rule.UNKNOWN_ENTITY: "Something is named that neither house, episode nor catalogue has.",
    Rule.WRONG_KIND: "An argument of a proposition is an entity of the wrong kind.",
    Rule.MISSING_AFFORDANCE: "A state is required of something that cannot have it.",
    Rule.NO_INSTRUCTION: "The instruction is empty.",
    Rule.NO_EVALUATION: "There is no evaluation; only criteria are judged.",
    Rule.EVALUATION: "The evaluation is malformed.",
    Rule.CRITERIA: "The criteria leave no choice of entities, or too many.",
    Rule.CHECKLIST: "The checklist does not fit the entities, or leaves out what the goal needs.",
    Rule.INDEX: "A proposition or an argument is named that does not exist.",
    Rule.CYCLE: "Propositions wait for each other in a cycle.",
    Rule.NUMBER: "More entities are asked for than are listed.",
    Rule.DUPLICATE: "Two propositions ask the same at the same time, and count twice.",
    Rule.CONTRADICTION: "Propositions or constraints can never hold together.",
    Rule.ALREADY_SATISFIED: "The task is solved before anybody does anything.",
    Rule.STATE_AT_START: "A thing has a state that is asked for before anybody does anything.",
    Rule.TRUE_AT_START: "A proposition about places, or a history's work, holds at the start.",
    Rule.UNGATED: "A later goal of a thing is true at the start and not gated by the earlier one.",
    Rule.LOST_HEAD: "A goal that must last depends on one that need not.",
    Rule.UNSOLVABLE: "No agent of the episode has the ability, or no place the room.",
    Rule.TASK_TYPES: "The task types are not those that follow from the evaluation.",
    Rule.REFERENCE_PLAN: "The data set's own plan does not meet the criteria.",
    Rule.UNSOLVED: "The planner expert was run on it and did not succeed (only with --solve).",
}


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One problem: the rule, the field in the file, and what is wrong."""

    rule: Rule
    field: str
    reason: str

    @property
    def severity(self) -> Severity:
        """Whether the episode is unusable because of it."""
        return Severity.WARNING if self.rule in WARNINGS else Severity.ERROR

    def __str__(self) -> str:
        where = f"{self.field}: " if self.field else ""
        return f"{self.severity} {self.rule}: {where}{self.reason}"
