"""The grammar of EPM's answers as GBNF, made for the entities of the moment.

Plain GBNF only (literals, alternatives, groups, stars), which vLLM, llama.cpp and llguidance all
read. It lets through what the strict parser reads and what the entity list would not refuse for
its number; whether a pixel has depth the list finds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.memory.operations import GRID_CELLS, NO_UPDATES, CoordinateFrame
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
