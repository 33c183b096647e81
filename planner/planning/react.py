"""Planner `react`: one dialogue with a language model for each agent (spec/epm.md 2.5).

The entity list is told once, then only what changed; so every prompt begins with the one before
and a server's prefix cache holds it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from planner.planning.llm.chat import ChatModel, Completion, Message, Speaker, transcript
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.prompts.epm import SYSTEM, in_order, opening, result_turn
from planner.planning.prompts.epm_grammar import call_grammar
from planner.planning.reply_parser import END_OF_TURN, check_call, read_reply
from planner.planning.trace import ModelCall, Tell, tell_nobody
from planner.world.primitive import Capabilities, PrimitiveName
from planner.world.skill import FAILURE_PREFIX, CallError, SkillCall, SkillName

# spec/epm.md 1.1: an episode ends after this many calls.
MOST_CALLS = 50
DONE = SkillCall(SkillName.DONE)
_EVERYBODY = (
    SkillName.CLOSE,
    SkillName.EXPLORE_FURNITURE,
    SkillName.NAVIGATE,
    SkillName.OPEN,
    SkillName.PICK,
    SkillName.PLACE,
    SkillName.DONE,
)
_NEEDS = {
    SkillName.CLEAN: PrimitiveName.CLEAN,
    SkillName.FILL: PrimitiveName.FILL,
    SkillName.POUR: PrimitiveName.POUR,
    SkillName.POWER_ON: PrimitiveName.POWER_ON,
    SkillName.POWER_OFF: PrimitiveName.POWER_OFF,
}


@dataclass(frozen=True, slots=True)
class ReactOptions:
    """How the model is asked.

    Attributes:
        most_calls: of each agent's dialogue.
        max_tokens: of one answer.
        deadline_s: wall seconds for one answer.
        constrained: whether the model is given the grammar of the possible calls.
    """

    most_calls: int = MOST_CALLS
    max_tokens: int = 128
    deadline_s: float = 60.0
    constrained: bool = True


@dataclass
class _Dialogue:
    """One agent's dialogue. `sequence` is the memory's number up to which it was told."""

    agent: str
    verbs: tuple[SkillName, ...]
    messages: list[Message] = field(default_factory=list)
    sequence: int = 0
    calls: int = 0
    result: str | None = None
    exhausted: bool = False


class React:
    """One task of one team."""

    def __init__(
        self,
        task: Task,
        model: ChatModel,
        options: ReactOptions | None = None,
        tell: Tell = tell_nobody,
    ) -> None:
        """Takes the model and whoever wants to hear of each call of it."""
        self._task, self._model, self._tell = task, model, tell
        self._options = options or ReactOptions()
        self._dialogues: dict[str, _Dialogue] = {}

    @property
    def name(self) -> str:
        """As in the bring-up's argument `planner`."""
        return "react"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps how calls ended for the next turn."""
        for ended in results:
            dialogue = self._dialogues.get(ended.agent)
            if dialogue is not None:
                dialogue.result = ended.result.text

    async def decide(self, context: Context) -> Decision:
        """Asks the model for every idle agent.

        Raises:
            ModelError: where the model gives no usable answer in time.
        """
        for agent in context.idle:
            if agent not in self._dialogues:
                self._dialogues[agent] = self._begin(agent, context)
        asked = [self._dialogues[agent] for agent in context.idle]
        calls = await asyncio.gather(*(self._next(dialogue, context) for dialogue in asked))
        given = dict(zip(context.idle, calls, strict=True))
        over = [d for d in self._dialogues.values() if d.exhausted]
        if over and len(over) == len(context.task.agents):
            limit = self._options.most_calls
            return Decision(failure=f"planner limit: {limit} calls each without Done[]")
        thought = "; ".join(f"{agent}: {call}" for agent, call in given.items())
        return Decision(given, thought)

    def _begin(self, agent: str, context: Context) -> _Dialogue:
        verbs = verbs_of(context.capabilities.get(agent))
        dialogue = _Dialogue(agent, verbs, sequence=context.belief.sequence)
        first = opening(self._task.instruction, context.belief, verbs)
        dialogue.messages = [Message(Speaker.SYSTEM, SYSTEM), Message(Speaker.USER, first)]
        return dialogue

    async def _next(self, dialogue: _Dialogue, context: Context) -> SkillCall:
        """The next valid call; an invalid answer is told to the model and costs a call too."""
        if dialogue.result is not None:
            deltas = context.deltas(dialogue.sequence)
            dialogue.sequence = context.belief.sequence
            turn = result_turn(dialogue.result, deltas)
            dialogue.messages.append(Message(Speaker.USER, turn))
            dialogue.result = None
        while dialogue.calls < self._options.most_calls:
            call = await self._ask(dialogue, context)
            if call is not None:
                return call
        dialogue.exhausted = True
        return DONE

    async def _ask(self, dialogue: _Dialogue, context: Context) -> SkillCall | None:
        prompt = tuple(dialogue.messages)
        options = self._options
        grammar = call_grammar(context.belief, dialogue.verbs) if options.constrained else ""
        answer = await self._model.complete(
            prompt,
            grammar=grammar,
            stop=(END_OF_TURN,),
            max_tokens=options.max_tokens,
            seed=self._task.seed,
            deadline_s=options.deadline_s,
        )
        # Only now: a cancelled or failed call leaves the dialogue as it was.
        dialogue.calls += 1
        try:
            reply = read_reply(answer.text)
            check_call(reply.call, context.belief, [verb.value for verb in dialogue.verbs])
        except CallError as error:
            self._refuse(dialogue, answer, error, context)
            self._report(dialogue, prompt, grammar, answer, None, str(error))
            return None
        said = f"{reply.spoken}\n{END_OF_TURN}"
        dialogue.messages.append(Message(Speaker.ASSISTANT, said))
        # A server cuts the stop string off: only an answer that ran out of tokens lacks it.
        note = "" if reply.ended or answer.finish == "stop" else f"no {END_OF_TURN}"
        self._report(dialogue, prompt, grammar, answer, reply.call, note)
        return reply.call

    def _refuse(
        self, dialogue: _Dialogue, answer: Completion, error: CallError, context: Context
    ) -> None:
        said = answer.text.partition(END_OF_TURN)[0].strip()[: self._options.max_tokens * 8]
        deltas = context.deltas(dialogue.sequence)
        dialogue.sequence = context.belief.sequence
        dialogue.messages += [
            Message(Speaker.ASSISTANT, f"{said}\n{END_OF_TURN}"),
            Message(Speaker.USER, result_turn(f"{FAILURE_PREFIX}{error}.", deltas)),
        ]

    def _report(
        self,
        dialogue: _Dialogue,
        prompt: tuple[Message, ...],
        grammar: str,
        answer: Completion,
        call: SkillCall | None,
        error: str,
    ) -> None:
        parameters = {"seed": str(self._task.seed), "max_tokens": str(self._options.max_tokens)}
        self._tell(
            ModelCall(
                planner=self.name,
                model=self._model.name,
                agents=(dialogue.agent,),
                cycle=dialogue.calls,
                prompt=transcript(prompt),
                grammar=grammar,
                reply=answer.text,
                calls=(str(call) if call is not None else "",),
                error=error,
                usage=answer.usage,
                timings=answer.timings,
                parameters=parameters,
            )
        )


def verbs_of(capabilities: Capabilities | None) -> tuple[SkillName, ...]:
    """The actions of an agent's dialogue: what everybody can, and what its body adds."""
    primitives = capabilities.primitives if capabilities is not None else frozenset()
    more = [skill for skill, primitive in _NEEDS.items() if primitive in primitives]
    return tuple(in_order([*_EVERYBODY, *more]))
