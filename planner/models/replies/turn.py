"""Turns of a dialogue: skill calls, for one agent or a team, with a thought or without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.models.replies.turn_grammar import END_OF_TURN, Naming, TurnForm, TurnGrammar
from planner.models.replies.turn_parser import Turn, read_turn
from planner.world.belief import Belief
from planner.world.skill import SkillCall

# A character may take four tokens of a tokenizer that falls back to bytes, a thought at worst
# all of its characters; usual ones have a tenth of it.
_MAX_TOKENS = {
    TurnForm.CALL: 128,
    TurnForm.BARE: 128,
    TurnForm.THOUGHT: 640,
    TurnForm.TEAM: 768,
}


def allow(_call: SkillCall) -> None:
    """Refuses nothing."""


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The form of one turn; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        of: its grammar.
        belief: what the names of the reply are looked up in.
        naming: how calls name entities.
        check: refuses what no grammar can, with a `CallError`.
    """

    of: TurnGrammar
    belief: Belief
    naming: Naming
    check: Callable[[SkillCall], None] = allow

    @property
    def grammar(self) -> str:
        """GBNF of this turn."""
        return self.of.text

    @property
    def stop(self) -> tuple[str, ...]:
        """The end of a turn, where the form has one."""
        return () if self.of.form is TurnForm.BARE else (END_OF_TURN,)

    @property
    def max_tokens(self) -> int:
        """Of the longest turn."""
        return _MAX_TOKENS[self.of.form]

    def read(self, text: str, *, ended: bool) -> Turn:
        """The turn.

        Raises:
            CallError: where a call is missing, is none, or is not possible now.
        """
        # A server cuts the stop string off: only an answer that ran out of tokens lacks it.
        turn = read_turn(text, self.of, self.belief, self.naming, cut=ended)
        for call in turn.calls.values():
            self.check(call)
        return turn
