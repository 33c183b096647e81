"""The calls that are possible now, as GBNF, for models that can be held to a grammar."""

from __future__ import annotations

from collections.abc import Collection

from planner.planning.prompts.epm import in_order, numbered
from planner.planning.reply_parser import END_OF_TURN
from planner.world.belief import Belief
from planner.world.skill import ARGUMENT_ROLES, Role, SkillName
from planner.world.vocabulary import EntityKind

_RULE = {
    Role.OBJECT: "thing",
    Role.FURNITURE: "furniture",
    Role.OBJECT_OR_FURNITURE: "entity",
    Role.TARGET: "entity",
    Role.RELATION: '("on" | "within")',
}


def call_grammar(belief: Belief, verbs: Collection[SkillName]) -> str:
    """The grammar of one turn: a call whose arguments are known, and the end of the turn.

    Rebuilt before each call (spec/partnr.md 7.4): a rule without entities is left out with the
    calls that would need it (D-53).
    """
    nodes = numbered(belief)
    names: dict[str, list[str]] = {"thing": [], "furniture": []}
    for node in nodes:
        kind = "thing" if node.kind is EntityKind.OBJECT else "furniture"
        names[kind].append(f'"Object.{node.entity_id}"')
    known = {rule for rule, found in names.items() if found}
    calls = {verb: _call(verb, known) for verb in in_order(verbs)}
    usable = {verb.value.lower(): body for verb, body in calls.items() if body}
    lines = [f'root ::= ({" | ".join(usable)}) "\\n{END_OF_TURN}"']
    lines += [f"{rule} ::= {body}" for rule, body in usable.items()]
    lines.append(f"entity ::= {' | '.join(sorted(known))}")
    lines += [f"{rule} ::= {' | '.join(names[rule])}" for rule in sorted(known)]
    return "\n".join(lines) + "\n"


def _call(verb: SkillName, known: set[str]) -> str:
    """The right side of a verb's rule, or "" where nothing can be its argument."""
    if verb is SkillName.PLACE:
        if not known >= {"thing", "furniture"}:
            return ""
        return (
            '"Place[" thing ", " ("on" | "within") ", " furniture ", " '
            '("None, None" | "next_to, " entity) "]"'
        )
    rules = [_RULE[role] for role in ARGUMENT_ROLES[verb]]
    if any(rule in ("thing", "furniture") and rule not in known for rule in rules):
        return ""
    return " ".join([f'"{verb.value}["', *rules, '"]"'])
