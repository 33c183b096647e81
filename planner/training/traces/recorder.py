"""Records what any planner does as traces, one for each agent of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from planner.planning.planner import AgentResult, Context, Decision, Planner
from planner.planning.prompts.epm import entity_line, numbered, offered
from planner.training.traces.record import Point, Provenance, Trace, TraceTurn
from planner.world.belief import Belief
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import EntityKind

WAIT = SkillCall(SkillName.WAIT)


@dataclass
class _Dialogue:
    """One agent's dialogue as it grows."""

    verbs: tuple[str, ...]
    entities: tuple[str, ...]
    positions_m: dict[int, Point]
    sequence: int
    turns: list[TraceTurn] = field(default_factory=list)
    share: float = 0.0
    open: bool = False
    result: str = ""


class TraceRecorder:
    """A planner that passes everything on to another one, and keeps it."""

    def __init__(
        self,
        planner: Planner,
        team: Sequence[str],
        share: Callable[[], float],
        is_learned: Callable[[str, SkillCall], bool] = lambda _agent, _call: True,
        shown: Callable[[str], SkillCall | None] = lambda _agent: None,
    ) -> None:
        """Wraps a planner.

        Args:
            planner: decides.
            team: all agents of the task.
            share: of the goal that holds now, 0 to 1.
            is_learned: whether a call of an agent is to be imitated.
            shown: what an agent should have called in the last decision; None = not known.
        """
        self._planner, self._team = planner, tuple(team)
        self._share, self._is_learned = share, is_learned
        self._shown = shown
        self._dialogues: dict[str, _Dialogue] = {}
        self._instruction = ""

    @property
    def name(self) -> str:
        """The other planner's."""
        return self._planner.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps the results, and passes them on."""
        for ended in results:
            dialogue = self._dialogues.get(ended.agent)
            if dialogue is not None and dialogue.open:
                dialogue.result = ended.result.text
        self._planner.observe(results)

    async def decide(self, context: Context) -> Decision:
        """The other planner's decision."""
        self._instruction = context.task.instruction
        for agent in context.idle:
            self._catch_up(agent, context)
        decision = await self._planner.decide(context)
        for agent in context.idle:
            call = decision.calls.get(agent)
            if call is not None:
                self._begin_turn(agent, call, context)
            elif context.running and not self._waits(agent):
                self._begin_turn(agent, WAIT, context)
        return decision

    def traces(
        self, provenance: Provenance, *, reward: bool, percent_complete: float
    ) -> list[Trace]:
        """The traces of the run, which has ended."""
        found = []
        for agent, dialogue in self._dialogues.items():
            self._close(dialogue, ())
            found.append(
                Trace(
                    instruction=self._instruction,
                    agent=agent,
                    team=self._team,
                    verbs=dialogue.verbs,
                    entities=dialogue.entities,
                    positions_m=dialogue.positions_m,
                    turns=tuple(dialogue.turns),
                    reward=1 if reward else 0,
                    percent_complete=percent_complete,
                    provenance=provenance,
                )
            )
        return found

    def _waits(self, agent: str) -> bool:
        turns = self._dialogues[agent].turns
        return bool(turns) and turns[-1].call == str(WAIT)

    def _catch_up(self, agent: str, context: Context) -> None:
        dialogue = self._dialogues.get(agent)
        belief = context.belief
        if dialogue is None:
            self._dialogues[agent] = _Dialogue(
                offered(context.capabilities.get(agent)),
                tuple(entity_line(node) for node in numbered(belief)),
                positions_of(belief),
                belief.sequence,
                share=self._share(),
            )
            return
        if self._waits(agent) and not dialogue.result:
            # Waiting goes on: what is told meanwhile belongs to the same turn.
            more = context.deltas(dialogue.sequence)
            last = dialogue.turns[-1]
            dialogue.turns[-1] = last.model_copy(update={"deltas": (*last.deltas, *more)})
            dialogue.sequence = belief.sequence
            return
        self._close(dialogue, context.deltas(dialogue.sequence))
        dialogue.sequence = belief.sequence

    def _close(self, dialogue: _Dialogue, deltas: Sequence[str]) -> None:
        if not dialogue.open:
            return
        share = self._share()
        gain = max(-1.0, min(1.0, round(share - dialogue.share, 6)))
        update = {"result": dialogue.result, "deltas": tuple(deltas), "gain": gain}
        dialogue.turns[-1] = dialogue.turns[-1].model_copy(update=update)
        dialogue.share, dialogue.open, dialogue.result = share, False, ""

    def _begin_turn(self, agent: str, call: SkillCall, context: Context) -> None:
        dialogue = self._dialogues[agent]
        said, is_said = with_numbers(call, context.belief)
        others = {
            other: str(with_numbers(running, context.belief)[0])
            for other, running in context.running.items()
        }
        should = self._shown(agent)
        shown, is_shown = (
            with_numbers(should, context.belief) if should is not None else ("", False)
        )
        dialogue.turns.append(
            TraceTurn(
                call=str(said),
                others=others,
                learned=is_said and self._is_learned(agent, call),
                shown=str(shown) if is_shown else "",
            )
        )
        dialogue.open = call != WAIT or agent not in context.running
        if call == WAIT:
            dialogue.open = False


def with_numbers(call: SkillCall, belief: Belief) -> tuple[SkillCall, bool]:
    """The call with `Object.N` for names, and whether all of its entities have a number."""
    words: list[str | None] = []
    is_said = True
    for word in call.arguments:
        node = belief.find(word) if word is not None else None
        if node is not None and node.entity_id is not None:
            words.append(f"Object.{node.entity_id}")
            continue
        words.append(word)
        is_said = is_said and node is None
    return SkillCall(call.name, tuple(words)), is_said


def positions_of(belief: Belief) -> dict[int, Point]:
    """The middles of the furniture in `map` by number, metres to a decimetre."""
    return {
        node.entity_id: (round(node.position_m[0], 1), round(node.position_m[1], 1))
        for node in belief.nodes.values()
        if node.kind is EntityKind.FURNITURE and node.entity_id is not None
    }
