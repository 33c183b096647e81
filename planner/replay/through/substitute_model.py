"""A model whose replies can be replaced by recorded ones, so that a dialogue can be continued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from planner.models.chat import (
    ChatModel,
    Completion,
    ModelError,
    Request,
    WrappedModel,
    cut_at,
)
from planner.models.replies.turn_grammar import THOUGHT, Naming, agent_label, word_of
from planner.parts.calls import takes_text
from planner.planning.axes import Control
from planner.planning.planner import Context
from planner.planning.planner_choice import PlannerChoice
from planner.replay.through.decisions import RecordedDecision
from planner.world.belief import Belief
from planner.world.skill import SkillCall, SkillName


class SubstituteModel(WrappedModel):
    """Passes calls on to a model, except those whose reply is given in advance."""

    def __init__(self, model: ChatModel) -> None:
        """Takes the model."""
        super().__init__(model)
        self._replies: list[str] | None = None

    def __deepcopy__(self, _memo: object) -> SubstituteModel:
        """Copies of a planner share the model."""
        return self

    @contextmanager
    def replying(self, texts: Sequence[str]) -> Iterator[None]:
        """Answers the next calls with these texts, and refuses any further one."""
        self._replies = list(reversed(texts))
        try:
            yield
        finally:
            self._replies = None

    async def complete(self, request: Request) -> Completion:
        """See `ChatModel`.

        Raises:
            ModelError: if the given reply was rejected and the planner asks again.
        """
        if self._replies is None:
            return await self._model.complete(request)
        if not self._replies:
            raise ModelError("the last given answer was not accepted")
        return Completion(cut_at(self._replies.pop(), request.stop))


def rendered_turn(
    choice: PlannerChoice, context: Context, recorded: RecordedDecision
) -> list[tuple[tuple[str, ...], list[str]]]:
    """What a planner's model would have to reply for the recorded calls: agents and texts.

    If the same planner was recorded, it is what its model said, rejected replies included.

    Raises:
        ModelError: if this planner cannot express the calls.
    """
    own: dict[tuple[str, ...], list[str]] = {}
    for reply in recorded.replies:
        if reply.model and reply.planner == choice.name:
            own.setdefault(reply.agents, []).append(reply.text)
    team = own.get(context.task.agents)
    if team and len(context.task.agents) > 1:
        # Of a planner that decides for all at once, whatever its axes say.
        return [(context.idle, team)]
    if choice.axes.control is Control.CENTRALIZED and not choice.part.bare_replies:
        said = own.get(context.task.agents) or [_team_turn(context, recorded)]
        return [(context.idle, said)]
    return [
        ((agent,), own.get((agent,)) or [_own_turn(choice, call, context.belief)])
        for agent, call in recorded.calls.items()
    ]


def _own_turn(choice: PlannerChoice, call: SkillCall, belief: Belief) -> str:
    text = str(_named(call, belief, choice.part.naming))
    return text if choice.part.bare_replies else f"{THOUGHT}\n{text}"


def _team_turn(context: Context, recorded: RecordedDecision) -> str:
    calls = {**recorded.running, **recorded.calls}
    if all(call.name == SkillName.DONE for call in calls.values()):
        return f"{THOUGHT}\n{SkillName.DONE.value}[]"
    lines = [THOUGHT]
    for number, agent in enumerate(context.task.agents):
        if agent not in calls:
            raise ModelError(f"{agent} was given no call, which a team's turn cannot say")
        lines.append(f"{agent_label(number)}: {_named(calls[agent], context.belief, Naming.NAMES)}")
    return "\n".join(lines)


def _named(call: SkillCall, belief: Belief, naming: Naming) -> SkillCall:
    if takes_text(call.name):
        return call
    words = []
    for word in call.arguments:
        node = belief.find(word) if word is not None else None
        words.append(word if node is None else word_of(node, naming) or word)
    return SkillCall(call.name, tuple(words))
