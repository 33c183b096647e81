"""From actions to skill calls, and from their results to the paper's failures (LLAMAR-3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from planner.planning.llamar.actions import Action, Repertoire, Verb, fits
from planner.planning.llamar.known import KnownThing
from planner.skills.view_exploring import SUBTASK_SEPARATOR
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import Relation

# The skills that have the paper's preconditions: none walks to what it handles (LLAMAR-D21).
_SKILLS = {
    Verb.MOVE: "Move",
    Verb.ROTATE: "Rotate",
    Verb.LOOK_UP: "LookUp",
    Verb.LOOK_DOWN: "LookDown",
    Verb.NAVIGATE_TO: "NavigateTo",
    Verb.PICKUP: "PickupObject",
    Verb.PUT: "PutObject",
    Verb.OPEN: "OpenObject",
    Verb.CLOSE: "CloseObject",
    Verb.SLICE: "SliceObject",
    Verb.CLEAN: "CleanObject",
    Verb.TOGGLE_ON: "ToggleObjectOn",
    Verb.TOGGLE_OFF: "ToggleObjectOff",
    Verb.EXPLORE: "ExploreByView",
    Verb.IDLE: SkillName.WAIT.value,
    Verb.DONE: SkillName.DONE.value,
    Verb.GET_SAND: "TakeSand",
    Verb.GET_WATER: "TakeWater",
    Verb.USE_SAND: "UseSand",
    Verb.USE_WATER: "UseWater",
    Verb.STORE_SUPPLY: "StoreSupplies",
    Verb.CLEAR_INVENTORY: "DiscardSupplies",
    Verb.CARRY: "Carry",
    Verb.DROP_OFF: "DropOff",
}
_MAX_SUBTASK_CHARACTERS = 1500


class Failure(StrEnum):
    """Why an action failed, in the words that models read."""

    UNKNOWN_OBJECT = "unknown object"
    NO_PATH = "no path"
    NOT_INTERACTABLE = "reached but not interactable"
    TOO_FAR = "too far"
    NOT_VISIBLE = "not visible"
    HAND_FULL = "hand full"
    NOTHING_HELD = "nothing held"
    CLOSED = "receptacle closed"
    NO_SPACE = "no space"
    WRONG_STATE = "wrong state"
    BLOCKED = "blocked"
    COLLISION = "collision"
    NOT_APPLICABLE = "not applicable"
    NOT_UNDERSTOOD = "not understood"
    OUT_OF_TIME = "took too long"
    FAULT = "fault"


class RefusedActionError(PlannerError):
    """An action that is not a call: nobody moves, and the agent gets `result` as for a failure."""

    def __init__(self, result: SkillResult) -> None:
        self.result = result
        super().__init__(result.text)


def call_for(
    action: Action,
    known: Mapping[str, KnownThing],
    held: Sequence[str] = (),
    subtasks: Sequence[str] = (),
    repertoire: Repertoire = Repertoire.HOUSEHOLD,
) -> SkillCall:
    """The skill call of an action.

    Args:
        action: of one agent.
        known: what it may name: the team's things, or those that this robot has seen.
        held: the memory's names of what the agent holds.
        subtasks: the open ones, which exploration looks for.
        repertoire: of the team; rescuers explore at random.

    Raises:
        RefusedActionError: for an unknown thing, or one of another kind, and for putting down with
            an empty hand.
    """
    skill = _SKILLS[action.verb]
    if action.verb is Verb.EXPLORE and repertoire is Repertoire.RESCUE:
        return SkillCall("Scout")
    if action.verb is Verb.EXPLORE:
        return SkillCall(skill, (_subtask_text(subtasks),))
    if action.verb.values:
        return SkillCall(skill, (action.argument,))
    if not action.verb.takes_thing:
        return SkillCall(skill)
    thing = known.get(action.argument)
    if thing is None:
        raise _refused(SkillCode.UNKNOWN_ENTITY, f"{action.argument} was never seen.")
    if not fits(action.verb, thing):
        sentence = f"{action.verb} cannot be done to {action.argument}."
        raise _refused(SkillCode.NO_AFFORDANCE, sentence)
    if action.verb is not Verb.PUT:
        return SkillCall(skill, (thing.entity,))
    if not held:
        raise _refused(SkillCode.NOT_HOLDING, "The agent is not holding anything.")
    relation = action.relation or thing.puts or Relation.ON
    return SkillCall(skill, (held[0], relation.value, thing.entity, None, None))


def _refused(code: SkillCode, sentence: str) -> RefusedActionError:
    return RefusedActionError(SkillResult.failure(code, sentence))


def _subtask_text(subtasks: Sequence[str]) -> str:
    """All open subtasks in one argument; brackets and separators in them become spaces."""
    plain = (" ".join(text.translate(_PLAIN).split()) for text in subtasks)
    return SUBTASK_SEPARATOR.join(text for text in plain if text)[:_MAX_SUBTASK_CHARACTERS]


_PLAIN = str.maketrans(dict.fromkeys("[];\n\r", " "))


def failure_of(action: Action, result: SkillResult) -> Failure | None:
    """The paper's class of a failure; None for a success."""
    if result.succeeded:
        return None
    special = _BY_VERB.get((action.verb, result.code))
    return special or _BY_CODE.get(result.code, Failure.FAULT)


_BY_CODE = {
    SkillCode.UNKNOWN_ENTITY: Failure.UNKNOWN_OBJECT,
    SkillCode.NOT_GROUNDED: Failure.UNKNOWN_OBJECT,
    SkillCode.UNPARSABLE: Failure.NOT_UNDERSTOOD,
    SkillCode.UNREACHABLE: Failure.NO_PATH,
    SkillCode.TOO_FAR: Failure.TOO_FAR,
    SkillCode.NOT_VISIBLE: Failure.NOT_VISIBLE,
    SkillCode.ALREADY_HOLDING: Failure.HAND_FULL,
    SkillCode.NOT_HOLDING: Failure.NOTHING_HELD,
    SkillCode.FURNITURE_CLOSED: Failure.CLOSED,
    SkillCode.NO_PLACEMENT: Failure.NO_SPACE,
    SkillCode.NEED_UNMET: Failure.NOT_APPLICABLE,
    SkillCode.BLOCKED: Failure.BLOCKED,
    SkillCode.HELD_BY_OTHER: Failure.BLOCKED,
    SkillCode.NOT_ABLE: Failure.NOT_APPLICABLE,
    SkillCode.NO_AFFORDANCE: Failure.NOT_APPLICABLE,
    SkillCode.NOT_ARTICULATED: Failure.NOT_APPLICABLE,
    SkillCode.WRONG_ROLE: Failure.NOT_APPLICABLE,
    SkillCode.TIMED_OUT: Failure.OUT_OF_TIME,
}
_BY_VERB = {
    (Verb.NAVIGATE_TO, SkillCode.TOO_FAR): Failure.NOT_INTERACTABLE,
    (Verb.NAVIGATE_TO, SkillCode.BLOCKED): Failure.NOT_INTERACTABLE,
    (Verb.MOVE, SkillCode.BLOCKED): Failure.COLLISION,
    (Verb.MOVE, SkillCode.UNREACHABLE): Failure.COLLISION,
    (Verb.OPEN, SkillCode.NEED_UNMET): Failure.WRONG_STATE,
    (Verb.CLOSE, SkillCode.NEED_UNMET): Failure.WRONG_STATE,
}


def outcome_words(action: Action, result: SkillResult) -> str:
    """What was tried and whether it worked, as a model reads it in the next step."""
    failed = failure_of(action, result)
    if failed is None:
        return f"{action.words}: success"
    reason = result.text.rpartition(" - ")[2]
    return f"{action.words}: failed ({failed}). {reason}"


def not_understood(raw: str) -> SkillResult:
    """The result of a reply that no admissible action is near to; the agent idles."""
    shown = " ".join(raw.split())[:120]
    return SkillResult.failure(SkillCode.UNPARSABLE, f"not understood: {shown!r}.")
