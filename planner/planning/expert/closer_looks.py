"""Things that may be what is missing, by the memory's second guesses.

Where nothing of a class is known, what was taken for another class but may be of this one is looked
at from near before the house is searched, as near looks say more. What still may be the missing
thing is taken for it as soon as it is likelier than that one of the places left would show another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from planner.planning.expert.facts import Facts
from planner.planning.expert.notes import Notes
from planner.world.belief import BeliefNode
from planner.world.second_guess import score_of
from planner.world.skill import SkillName
from planner.world.vocabulary import EntityKind

# At most so many things are walked to for one missing thing: each walk takes time, and the further
# ones are seldom it.
MAX_CLOSER_LOOKS: Final = 3


def may_be(facts: Facts, missing: str, taken: Collection[str]) -> list[BeliefNode]:
    """The things that may be a missing one, likeliest first.

    Args:
        facts: what is believed.
        missing: a name whose class nothing known has.
        taken: names of things that stand for others already.
    """
    class_name = missing.rpartition("_")[0]
    found = [
        (score, node)
        for node in facts.belief.of_kind(EntityKind.OBJECT)
        if (score := score_of(node.maybe, class_name))
        and node.name not in taken
        and facts.base_spot(node.name) is not None
    ]
    found.sort(key=lambda pair: (-pair[0], pair[1].name))
    return [node for _, node in found]


def to_look_at(
    facts: Facts, notes: Notes, missing: Iterable[str], taken: Collection[str]
) -> list[str]:
    """The things to be looked at from near for all that is missing, likeliest first."""
    found: dict[str, float] = {}
    for name in missing:
        class_name = name.rpartition("_")[0]
        for node in may_be(facts, name, taken)[:MAX_CLOSER_LOOKS]:
            if _is_left(node.name, notes):
                score = score_of(node.maybe, class_name)
                found[node.name] = max(score, found.get(node.name, 0.0))
    return sorted(found, key=lambda name: (-found[name], name))


def to_take(
    facts: Facts, notes: Notes, missing: str, taken: Collection[str], left: float
) -> BeliefNode | None:
    """What to take for a missing thing; None if nothing is likely enough.

    Args:
        facts: what is believed.
        notes: what was tried.
        missing: a name whose class nothing known has.
        taken: names of things that stand for others already.
        left: how likely the thing is at one of the places that were not looked at yet.
    """
    class_name = missing.rpartition("_")[0]
    for node in may_be(facts, missing, taken):
        usable = not notes.unusable(node.name, SkillName.NAVIGATE, SkillName.PICK)
        was_near = node.name in notes.looked_closer or not left
        likely = score_of(node.maybe, class_name) >= left
        if likely and was_near and usable and node.name not in notes.gone:
            return node
    return None


def _is_left(name: str, notes: Notes) -> bool:
    return (
        name not in notes.looked_closer
        and name not in notes.gone
        and not notes.unusable(name, SkillName.NAVIGATE)
    )
