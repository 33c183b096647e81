"""Takes out of a derived evaluation what is said twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from planner.episodes.partnr.goal_propositions import NEAR, Proposition, list_of

_ORDER_WORDS = frozenset({"then", "after", "next", "finally", "before", "later", "first", "once"})


def is_ordered(words: Sequence[str]) -> bool:
    """Whether some word of an instruction says that one thing comes after another."""
    return not _ORDER_WORDS.isdisjoint(words)


def repeats(items: Sequence[Proposition], words: Sequence[str]) -> set[int]:
    """The propositions that say nothing new.

    "Bring the toys to the table. Place the doll on the table" names the doll twice. "Move them to
    the shelf. Place them next to each other on the shelf" has one step, unless a word says that
    one is after the other.
    """
    found: set[int] = set()
    for item in items:
        for later in items[item.index + 1 :]:
            if not _is_same(item, later) or {item.index, later.index} & found:
                continue
            if item.step == later.step:
                found.add(later.index)
            elif _goes_on(item, later, items) and not is_ordered(words):
                found.add(item.index)
    return found


def _is_same(one: Proposition, other: Proposition) -> bool:
    """Whether both ask for the same of one thing."""
    if one.function != other.function or len(one.names) != 1 or len(other.names) != 1:
        return False
    pairs = [(one.names, one.second), (other.names, other.second)]
    if one.function in NEAR:
        pairs = [(min(pair), max(pair)) for pair in pairs]
    return pairs[0] == pairs[1]


def _goes_on(one: Proposition, other: Proposition, items: Sequence[Proposition]) -> bool:
    """Whether the next step only adds how the things lie there."""
    follows = one.step is not None and other.step == one.step + 1
    arranged = [i for i in items if i.step == other.step and i.function in NEAR]
    return follows and any(set(one.names) & {*i.names, *i.second} for i in arranged)


def without(
    dropped: set[int], evaluation: Mapping[str, JsonValue], items: Sequence[Proposition]
) -> tuple[dict[str, JsonValue], list[Proposition]]:
    """The evaluation and its propositions without some, and with new indices."""
    left = [item for item in items if item.index not in dropped]
    new = {item.index: k for k, item in enumerate(left)}

    def renumbered(indices: JsonValue) -> list[JsonValue]:
        return [new[i] for i in list_of(indices) if isinstance(i, int) and i in new]

    propositions = list_of(evaluation["propositions"])
    constraints: list[JsonValue] = []
    for constraint in list_of(evaluation["constraints"]):
        if not isinstance(constraint, dict):
            continue
        if "groups" in constraint:
            groups: list[JsonValue] = [
                group for group in map(renumbered, list_of(constraint["groups"])) if group
            ]
            if len(groups) > 1:
                constraints.append({**constraint, "groups": groups})
            continue
        changed = {**constraint, "proposition_indices": renumbered(constraint["proposition_indices"])}
        if "arg_indices" in constraint:
            pairs = zip(
                list_of(constraint["proposition_indices"]),
                list_of(constraint["arg_indices"]),
                strict=True,
            )
            changed["arg_indices"] = [a for i, a in pairs if i in new]
            if len(list_of(changed["arg_indices"])) < 2:  # noqa: PLR2004 a tie has two ends
                continue
        constraints.append(changed)
    dependencies: list[JsonValue] = []
    for gate in list_of(evaluation["dependencies"]):
        if not isinstance(gate, dict):
            continue
        about, on = renumbered(gate["proposition_indices"]), renumbered(gate["depends_on"])
        if about and on:
            dependencies.append({**gate, "proposition_indices": about, "depends_on": on})
    return {
        **evaluation,
        "propositions": [propositions[item.index] for item in left],
        "constraints": constraints,
        "dependencies": dependencies,
    }, [replace(item, index=new[item.index]) for item in left]
