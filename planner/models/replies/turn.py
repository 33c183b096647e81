"""Turns of a dialogue: skill calls, for one agent or a team, with or without a thought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.models.replies.turn_grammar import END_OF_TURN, Naming, TurnForm, TurnGrammar
from planner.models.replies.turn_parser import Turn, read_turn
from planner.world.belief import Belief
from planner.world.skill import SkillCall

# A character may take four tokens in a tokenizer that falls back to bytes, in the worst case each
# one of a thought; a typical thought has a tenth of that.
_MAX_TOKENS = {
    TurnForm.CALL: 128,
    TurnForm.BARE: 128,
    TurnForm.THOUGHT: 640,
    TurnForm.TEAM: 768,
}


def allow(_call: SkillCall) -> None:
    """Accepts every call."""


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The form of one turn; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        of: its grammar.
        belief: resolves names in the reply.
        naming: how calls name entities.
        check: rejects what no grammar can, with a `CallError`.
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
        """The end-of-turn marker, if the form has one."""
        return () if self.of.form is TurnForm.BARE else (END_OF_TURN,)

    @property
    def max_tokens(self) -> int:
        """For the longest turn."""
        return _MAX_TOKENS[self.of.form]

    def read(self, text: str, *, ended: bool) -> Turn:
        """Parses the turn.

        Raises:
            CallError: if a call is missing, invalid, or not possible now.
        """
        # Servers remove the stop string: only a reply that ran out of tokens lacks it.
        turn = read_turn(text, self.of, self.belief, self.naming, cut=ended)
        for call in turn.calls.values():
            self.check(call)
        return turn
