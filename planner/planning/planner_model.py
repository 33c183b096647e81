"""A planner's calls of its language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planner.models.caller import Caller, Remark
from planner.models.chat import ChatModel, Message
from planner.models.markup import plain
from planner.models.reference import Reference
from planner.models.replies.turn import TurnReply, allow
from planner.models.replies.turn_grammar import END_OF_TURN, Naming, TurnGrammar
from planner.models.replies.turn_parser import Turn
from planner.models.role import Role
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes
from planner.planning.planner import Task
from planner.planning.prompts.partnr_state import TOKEN
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.skill import CallError, SkillCall


@dataclass(frozen=True, slots=True)
class DialogueOptions:
    """Limits and options of a planner's dialogues.

    Attributes:
        max_cycles: planning cycles of one dialogue; 0 = the paper's.
        max_tokens: of one reply; 0 = enough for the longest turn that the grammar allows.
        deadline_s: wall seconds for one reply.
        constrained: whether the model gets the grammar; replies are checked against it anyway.
        max_questions: questions to the person in one dialogue; 0 = none.
        show_states: whether summaries include the states of objects and furniture (PARTNR-D41).
    """

    max_cycles: int = 0
    max_tokens: int = 0
    deadline_s: float = 60.0
    constrained: bool = True
    max_questions: int = 0
    show_states: bool = False


@dataclass(frozen=True, slots=True)
class CheckedTurn:
    """A reply: the parsed turn, or why it was refused."""

    turn: Turn
    reply_text: str
    error: PlannerError | CallError | None = None


@dataclass(frozen=True)
class PlannerModel:
    """The language model of one planner."""

    planner: str
    task: Task
    model: ChatModel
    naming: Naming
    axes: Axes
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call

    @cached_property
    def _caller(self) -> Caller:
        return Caller(
            self.planner,
            self.model,
            Role.PLANNER,
            seed=self.task.seed,
            deadline_s=self.options.deadline_s,
            constrained=self.options.constrained,
            parameters={"exact": "false", **self.axes.as_parameters()},
            on_call=self.on_call,
        )

    async def ask(
        self,
        messages: tuple[Message, ...],
        grammar: TurnGrammar,
        belief: Belief,
        cycle: int,
        notes: Mapping[str, str] | None = None,
        check: Callable[[SkillCall], None] = allow,
        reference: Reference | None = None,
    ) -> CheckedTurn:
        """One checked reply of the model; refused replies are traced, too.

        Args:
            messages: the whole prompt.
            grammar: of the turn.
            belief: resolves the names in the reply.
            cycle: of this dialogue, starting at 1.
            notes: further parameters for the trace.
            check: raises `CallError` for what the grammar cannot exclude.
            reference: the right reply, for privileged models.

        Raises:
            ModelError: if there is no reply.
        """
        form = TurnReply(grammar, belief, self.naming, check)
        agents = tuple(grammar.call_rules)
        max_tokens = self.options.max_tokens or form.max_tokens
        reply = await self._caller.ask(
            plain(messages, TOKEN),
            form,
            agents=agents,
            cycle=cycle,
            max_tokens=max_tokens,
            parameters=notes,
            remark=lambda turn: _remark(turn, agents),
            reference=reference,
        )
        reply_text = reply.completion.text.partition(END_OF_TURN)[0].strip()[: max_tokens * 8]
        return CheckedTurn(reply.value or Turn(), reply_text, reply.error)


def _remark(turn: Turn, agents: tuple[str, ...]) -> Remark:
    parameters = {"exact": str(turn.exact).lower()}
    if turn.question:
        parameters["question"] = turn.question
    return Remark(
        tuple(str(turn.calls[a]) if a in turn.calls else "" for a in agents),
        "" if turn.ended else f"no {END_OF_TURN}",
        parameters,
    )
