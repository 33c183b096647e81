"""The task-planner node's parameters that choose the planner and its model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from planner.models.chat import MODEL_DEADLINE, MODEL_WAIT
from planner.models.ledger import Account, Prices
from planner.models.model_choice import ModelChoice, RetryingModel, make_model, model_forms
from planner.planning.part import PLANNERS, PlannerChoice
from planner.planning.planner_model import (
    CONTROL,
    MEMORY_SOURCE,
    SHOW_STATES,
    Axes,
    Control,
    DialogueOptions,
    MemorySource,
    Observability,
    Privilege,
)
from planner.ros import parameters
from planner.ros.parameters import builds_map, declare_options
from planner.skills.kind import SkillKind


@dataclass
class Settings:
    """The node's settings.

    Attributes:
        model: waits for its server, if it has one; None = no model.
        run: total cost of all instructions of this node.
        answer_wait_s: how long to wait for the answer to a question.
    """

    choice: PlannerChoice
    model: RetryingModel | None
    prices: Prices
    answer_wait_s: float
    run: Account = field(default_factory=Account)

    @property
    def wants_pictures(self) -> bool:
        """Whether the planner reads pictures of the agents' cameras."""
        return self.choice.part.reads_pictures(self.choice.options)

    def choice_for(self, max_cycles: int) -> PlannerChoice:
        """The planner of one instruction; 0 = the planner's own limit."""
        return replace(self.choice, dialogue=replace(self.choice.dialogue, max_cycles=max_cycles))


def declare(node: Any) -> Settings:
    """Declares the parameters and makes the model.

    Raises:
        PlannerError: for an invalid parameter, or a model that cannot be used.
    """
    name = parameters.text(
        node, "planner", "expert", "planner to use", choices=list(PLANNERS.names())
    )
    choice = PlannerChoice(
        name=name,
        axes=_axes(node),
        dialogue=DialogueOptions(
            deadline_s=parameters.declare(node, MODEL_DEADLINE),
            max_questions=parameters.whole(
                node, "max_questions", 0, "questions to the person in a task; 0 = none", min_value=0
            ),
            show_states=parameters.declare(node, SHOW_STATES),
        ),
        options=declare_options(node, PLANNERS.get(name).options),
        explores_first=builds_map(node),
    )
    return Settings(
        choice,
        _model(node),
        Prices(
            _price(node, "price_prompt"), _price(node, "price_cached"), _price(node, "price_reply")
        ),
        parameters.number(
            node,
            "answer_wait",
            30.0,
            "seconds to wait for an answer",
            min_value=0.0,
            max_value=3600.0,
        ),
    )


def _axes(node: Any) -> Axes:
    return Axes(
        control=Control(parameters.declare(node, CONTROL)),
        observability=Observability(
            _word(node, "observability", Observability.PARTIAL, "recorded only: observability")
        ),
        skills=SkillKind(
            _word(node, "skill_kind", SkillKind.ORACLE, "recorded only: kind of skills")
        ),
        privilege=Privilege(
            _word(node, "privilege", Privilege.PERCEPTION, "recorded only: privileged information")
        ),
        memory_source=MemorySource(parameters.declare(node, MEMORY_SOURCE)),
    )


def _word(node: Any, name: str, default: StrEnum, description: str) -> str:
    choices = [word.value for word in type(default)]
    return parameters.text(node, name, default.value, description, choices=choices)


def _price(node: Any, name: str) -> float:
    return parameters.number(node, name, 0.0, "price of a million tokens", min_value=0.0)


def _model(node: Any) -> RetryingModel | None:
    model = parameters.text(node, "model", "", f"the language model: {model_forms()}")
    choice = ModelChoice(
        model,
        parameters.text(node, "model_url", "", "address of the model's server, .../v1"),
        record=parameters.text(
            node, "record_model", "", "file that records every model call; empty = none"
        ),
        wait_s=parameters.declare(node, MODEL_WAIT),
    )
    if model:
        choice = replace(choice, options=declare_options(node, choice.part.options))
    return make_model(choice)
