"""Asking a model for a turn: grammar, call, reading of the reply, trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.models.chat import ChatModel, Completion, Message, transcript
from planner.models.markup import plain
from planner.models.replies.turn_grammar import END_OF_TURN, Naming, TurnForm, TurnGrammar
from planner.models.replies.turn_parser import Turn, read_turn
from planner.models.trace import ModelCall, Tell, tell_nobody
from planner.planning.axes import Axes
from planner.planning.planner import Task
from planner.planning.prompts.partnr_state import TOKEN
from planner.world.belief import Belief
from planner.world.skill import CallError, SkillCall


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How a model is asked.

    Attributes:
        most_cycles: planning cycles of one dialogue; 0 = the paper's.
        max_tokens: of one answer; 0 = enough for the longest turn that the grammar allows.
        deadline_s: wall seconds for one answer.
        constrained: whether the model is given the grammar. Replies are checked by it anyway.
        most_questions: how often a dialogue may ask the person; 0 = never.
        show_states: whether a summary tells the states of things (PARTNR-D41).
    """

    most_cycles: int = 0
    max_tokens: int = 0
    deadline_s: float = 60.0
    constrained: bool = True
    most_questions: int = 0
    show_states: bool = False


# A character may take four tokens of a tokenizer that falls back to bytes, a thought at worst
# all of its characters; usual ones have a tenth of it.
_MAX_TOKENS = {
    TurnForm.CALL: 128,
    TurnForm.BARE: 128,
    TurnForm.THOUGHT: 640,
    TurnForm.TEAM: 768,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A reply: the turn it makes, or why it was refused."""

    turn: Turn
    said: str
    error: CallError | None = None


def allow(_call: SkillCall) -> None:
    """Refuses nothing."""


@dataclass(frozen=True)
class Asker:
    """One planner's way to its model."""

    planner: str
    task: Task
    model: ChatModel
    naming: Naming
    axes: Axes
    options: AskOptions = field(default_factory=AskOptions)
    tell: Tell = tell_nobody

    async def ask(
        self,
        messages: tuple[Message, ...],
        grammar: TurnGrammar,
        belief: Belief,
        cycle: int,
        notes: Mapping[str, str] | None = None,
        check: Callable[[SkillCall], None] = allow,
    ) -> Asked:
        """One reply of the model, checked; every reply is traced, a refused one too.

        Args:
            messages: the whole prompt.
            grammar: of the turn.
            belief: what the names of the reply are looked up in.
            cycle: of this dialogue, from 1.
            notes: what else the trace should keep.
            check: refuses what no grammar can, with a `CallError`.

        Raises:
            ModelError: where there is no reply.
        """
        messages = plain(messages, TOKEN)
        ends = grammar.form is not TurnForm.BARE
        max_tokens = self.options.max_tokens or _MAX_TOKENS[grammar.form]
        answer = await self.model.complete(
            messages,
            grammar=grammar.text if self.options.constrained else "",
            stop=(END_OF_TURN,) if ends else (),
            max_tokens=max_tokens,
            seed=self.task.seed,
            deadline_s=self.options.deadline_s,
        )
        said = answer.text.partition(END_OF_TURN)[0].strip()[: max_tokens * 8]
        cut = answer.finish == "stop"
        try:
            turn = read_turn(answer.text, grammar, belief, self.naming, cut=cut)
            for call in turn.calls.values():
                check(call)
        except CallError as error:
            self._trace(messages, grammar, answer, cycle, None, str(error), notes)
            return Asked(Turn(), said, error)
        # A server cuts the stop string off: only an answer that ran out of tokens lacks it.
        note = "" if turn.ended else f"no {END_OF_TURN}"
        self._trace(messages, grammar, answer, cycle, turn, note, notes)
        return Asked(turn, said)

    def _trace(
        self,
        messages: tuple[Message, ...],
        grammar: TurnGrammar,
        answer: Completion,
        cycle: int,
        turn: Turn | None,
        error: str,
        notes: Mapping[str, str] | None,
    ) -> None:
        agents = tuple(grammar.call_rules)
        calls = turn.calls if turn is not None else {}
        more = {
            "seed": str(self.task.seed),
            "grammar_hash": grammar.content_hash,
            "constrained": str(self.options.constrained).lower(),
            "exact": str(turn is not None and turn.exact).lower(),
            **self.axes.as_parameters(),
            **(notes or {}),
        }
        if answer.cost:
            more["cost"] = f"{answer.cost:.6f}"
        if turn is not None and turn.question:
            more["question"] = turn.question
        self.tell(
            ModelCall(
                planner=self.planner,
                model=self.model.name,
                agents=agents,
                cycle=cycle,
                prompt=transcript(messages),
                grammar=grammar.text if self.options.constrained else "",
                reply=answer.text,
                calls=tuple(str(calls[a]) if a in calls else "" for a in agents),
                error=error,
                usage=answer.usage,
                timings=answer.timings,
                parameters=more,
            )
        )
