"""Takes out of a derived evaluation what is said twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from planner.episodes.partnr.goal_propositions import NEAR, Proposition, list_of

_ORDER_WORDS = frozenset({"then", "after", "next", "finally", "before", "later", "first", "once"})


def is_ordered(words: list[str]) -> bool:
    """Whether some word of an instruction says that one thing comes after another."""
    beside = [words[k : k + 2] == ["next", "to"] for k in range(len(words))]
    return any(
        word in _ORDER_WORDS and not is_beside
        for word, is_beside in zip(words, beside, strict=True)
    )


def repeats(items: Sequence[Proposition], words: list[str]) -> set[int]:
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
            elif item.step is not None and later.step == item.step + 1 and not is_ordered(words):
                found.add((item if _arranged(later, items) else later).index)
            elif item.placing and _arranged(later, items) and _stays(item, later, items):
                found.add(later.index)
    return found


def _is_same(one: Proposition, other: Proposition) -> bool:
    """Whether both ask for the same of one thing."""
    if one.function != other.function or len(one.names) != 1 or len(other.names) != 1:
        return False
    mine, theirs = (one.names, one.second), (other.names, other.second)
    return mine == theirs or (one.function in NEAR and mine == theirs[::-1])


def _stays(item: Proposition, later: Proposition, items: Sequence[Proposition]) -> bool:
    """Whether a thing is not moved away between two steps that put it at the same place."""
    if item.step is None or later.step is None:
        return False
    return not any(
        set(other.names) & set(item.names)
        for other in items
        if other.placing and other.step is not None and item.step < other.step < later.step
    )


def _arranged(placed: Proposition, items: Sequence[Proposition]) -> bool:
    """Whether its step also says how the things lie there."""
    near = [item for item in items if item.step == placed.step and item.function in NEAR]
    return any(set(placed.names) & {*item.names, *item.second} for item in near)


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
        changed = {
            **constraint,
            "proposition_indices": renumbered(constraint["proposition_indices"]),
        }
        if "arg_indices" in constraint:
            pairs = zip(
                list_of(constraint["proposition_indices"]),
                list_of(constraint["arg_indices"]),
                strict=True,
            )
            changed["arg_indices"] = [a for i, a in pairs if i in new]
            if len(list_of(changed["arg_indices"])) < 2:
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
