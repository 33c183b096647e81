"""EPM's answers as a form of reply: the grammar for the entities of the moment, and the parser.

Plain GBNF only (literals, alternatives, groups, stars), which vLLM, llama.cpp and llguidance all
read. It lets through what the strict parser reads and what the entity list would not refuse for
its number; whether a pixel has depth the list finds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.memory.operations import GRID_CELLS, NO_UPDATES, CoordinateFrame, Parsed, parse
from planner.models.replies.form import ReplyError
from planner.world.entity import Entity

# From 0 to one less than the model's picture is wide.
_BELOW_384 = '([0-9] | [1-9] [0-9] | [1-2] [0-9] [0-9] | "3" [0-7] [0-9] | "38" [0-3])'
_DIGIT = "[0-9]"
_COORDINATE = {
    CoordinateFrame.PIXEL_384: _BELOW_384,
    CoordinateFrame.NORMALIZED: f'("0." {_DIGIT} {_DIGIT} {_DIGIT})',
    CoordinateFrame.GRID_8: f"[0-{GRID_CELLS - 1}]",
}


def operation_grammar(
    entities: Sequence[Entity], frame: CoordinateFrame = CoordinateFrame.PIXEL_384
) -> str:
    """GBNF of `No updates` or lines of Add, Update and Remove (EPM-2.3)."""
    removable = [e.entity_id for e in entities if not e.is_furniture and not e.picked]
    kinds = ["add"]
    rules = ['add ::= "Add " point ":" text']
    if entities:
        kinds.append("update")
        rules.append('update ::= "Update " known " " point ":" text')
        rules.append(f"known ::= {_one_of(e.entity_id for e in entities)}")
    if removable:
        kinds.append("remove")
        rules.append('remove ::= "Remove " gone')
        rules.append(f"gone ::= {_one_of(removable)}")
    rules += [
        'point ::= "(" number ", " number ")"',
        f"number ::= {_COORDINATE[frame]}",
        'text ::= word (" " word)*',
        "word ::= [A-Za-z] [A-Za-z0-9.'-]*",
    ]
    head = [f'root ::= "{NO_UPDATES}" | op ("\\n" op)*', f"op ::= {' | '.join(kinds)}"]
    return "\n".join([*head, *rules]) + "\n"


def _one_of(numbers: Iterable[int]) -> str:
    return " | ".join(f'"{number}"' for number in numbers)


@dataclass(frozen=True)
class OperationsReply:
    """A `planner.models.replies.form.ReplyForm` for these entities."""

    entities: tuple[Entity, ...]
    frame: CoordinateFrame = CoordinateFrame.PIXEL_384
    max_tokens: int = 512
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of the moment."""
        return operation_grammar(self.entities, self.frame)

    def read(self, text: str, *, ended: bool) -> Parsed:
        """The operations; an answer that was cut off ends after its last whole one.

        Raises:
            ReplyError: where there is none.
        """
        whole = text if ended else text.rpartition("\n")[0]
        if not whole.strip():
            raise ReplyError("gave no whole operation")
        return parse(whole)
