"""GBNF of programs: what a model cannot write cannot be refused (HELPER-D3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from planner.models.gbnf import quoted
from planner.planning.programs.parsing import MAX_STATEMENTS
from planner.planning.programs.program import ATTRIBUTES, WITH_ARGUMENT, Corrective, Method

_WORD = "[a-z] [a-z0-9_]{0,39}"
# Only the parser checks what a grammar cannot: that variables are bound, and to what.
_MAX_LINES = MAX_STATEMENTS // 2


def program_grammar(classes: Sequence[str], *, corrective: bool = False) -> str:
    """The grammar of programs that name these classes.

    Args:
        classes: the names of the vocabulary that may be used, such as those of the house.
        corrective: whether it is a repair, which may move the agent and do nothing.

    Returns:
        GBNF in the subset that `planner.models.gbnf` reads, with the rule `root`. The other rules
        are `line`, `instance`, `call`, `comment`, `word`, `class`, `attribute`.
    """
    return _grammar(tuple(dict.fromkeys(classes)), corrective)


@lru_cache(maxsize=32)
def _grammar(classes: tuple[str, ...], corrective: bool) -> str:
    plain = " | ".join(quoted(f".{one}()") for one in Method if one not in WITH_ARGUMENT)
    taking = " | ".join(quoted(f".{one}(") for one in Method if one in WITH_ARGUMENT)
    forms = ["instance", "call", "comment"]
    repair = ""
    if corrective:
        forms += ["mover", "move", quoted("do_nothing()")]
        moves = " | ".join(quoted(f".{one}()") for one in Corrective)
        repair = f'mover ::= word " = AgentCorrective()"\nmove ::= word ({moves})\n'
    return (
        f'root ::= line ("\\n" line){{0,{_MAX_LINES - 1}}} "\\n"?\n'
        f"line ::= {' | '.join(forms)}\n"
        'instance ::= word " = InteractionObject(\\"" class "\\"" '
        '(", landmark=\\"" class "\\"")? '
        '(", attributes=[" attribute (", " attribute){0,2} "]")? ")"\n'
        f'call ::= word ({plain}) | word ({taking}) word ")"\n'
        f"{repair}"
        'comment ::= "# " [ -~]{1,160}\n'
        f"word ::= {_WORD}\n"
        f"class ::= {' | '.join(map(quoted, classes))}\n"
        f"attribute ::= {' | '.join(quoted(chr(34) + one + chr(34)) for one in ATTRIBUTES)}\n"
    )
