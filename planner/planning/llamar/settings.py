"""What the options of LLaMAR and its baselines choose."""

from __future__ import annotations

from pathlib import Path

from planner.planning.llamar.acting import make_acting
from planner.planning.llamar.acting_role import Style
from planner.planning.llamar.actions import Repertoire
from planner.planning.llamar.asking import Asking
from planner.planning.llamar.encoder_translator import make_translator
from planner.planning.llamar.joint_planner import JointPlanner
from planner.planning.llamar.llamar import LlamarOptions
from planner.planning.llamar.options import CAMERA_PICTURES, ROBOT, VERIFIER
from planner.planning.llamar.state import (
    HORIZON,
    STEPS_PER_ACTION,
    Correction,
    VerifiedBy,
)
from planner.planning.llamar.team import ActionOptions
from planner.planning.llamar.translator import Translator
from planner.planning.part import PlannerRequest


def actions_of(request: PlannerRequest) -> ActionOptions:
    """What agents are offered."""
    return ActionOptions(
        exploration=request.flag("exploration"),
        small_steps=request.flag("small_steps"),
        per_robot=request.options.get("known_by") == ROBOT,
        pictures=request.flag(CAMERA_PICTURES),
        repertoire=Repertoire(request.text("actions")),
    )


def horizon_of(request: PlannerRequest) -> int:
    """The limit of joint steps; one of the whole instruction comes first, then the option.

    Without either it follows from how many actions a task allows, else it is the paper's.
    """
    terms = request.task.terms
    allowed = terms.max_actions if terms is not None else None
    own = HORIZON if allowed is None else max(HORIZON, STEPS_PER_ACTION * allowed)
    return request.dialogue.max_cycles or request.whole("horizon") or own


def llamar_options(request: PlannerRequest) -> LlamarOptions:
    """How the roles work together."""
    return LlamarOptions(
        correction=Correction(request.text("corrector")),
        verified_by=VerifiedBy(request.text(VERIFIER)),
        skip_on_success=request.flag("skip_on_success"),
        confirm_empty=request.flag("confirm_empty_with_planner"),
        confirm_done=request.flag("confirm_done_with_subtasks"),
        listed_actions=request.flag("listed_actions"),
        horizon=horizon_of(request),
        actions=actions_of(request),
    )


def translator_of(request: PlannerRequest) -> Translator:
    """Reads what the model writes for each agent.

    Raises:
        PlannerError: for a folder that is not an encoder.
    """
    folder = request.text("translator")
    least = request.number("understood_from")
    return make_translator(Path(folder) if folder else None, least or None)


def acting_planner(style: Style, request: PlannerRequest) -> JointPlanner:
    """The baseline of a style for one task.

    Raises:
        PlannerError: without a model, or for a team that is too large.
    """
    return make_acting(
        style,
        request.task,
        Asking.of(request),
        translator_of(request),
        actions_of(request),
        horizon=horizon_of(request),
        listed_actions=request.flag("listed_actions"),
    )
