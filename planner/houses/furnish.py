"""Chooses furniture for a room and places it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.houses.groups import Group, GroupMaker, Member
from planner.houses.room_floor import RoomFloor
from planner.houses.room_program import Place, RoomRule

# Floor area per area of the groups: passages, doors, corners that stay empty.
_SPARE_ESSENTIAL = 1.5
_SPARE_OTHER = 0.6
_DOORS_M2 = 2.0


@dataclass(frozen=True, slots=True)
class Furnishing:
    """The furniture groups for one room, in the order in which they are placed."""

    groups: tuple[Group, ...]

    @property
    def area_m2(self) -> float:
        """The floor area that the groups are likely to need."""
        needs = (
            g.floor_m2 * (_SPARE_ESSENTIAL if g.essential else _SPARE_OTHER) for g in self.groups
        )
        return _DOORS_M2 + sum(needs)


def draw_furnishing(
    rule: RoomRule, required: Mapping[str, int], maker: GroupMaker, rng: np.random.Generator
) -> Furnishing:
    """Draws a room's furniture by its rules; `required` (class to number) is essential."""
    groups: list[Group] = []
    for group_rule in rule.groups:
        number = int(rng.integers(group_rule.count[0], group_rule.count[1] + 1))
        groups += [
            maker.make(group_rule)
            for _ in range(number)
            if group_rule.essential or rng.random() < group_rule.chance
        ]
    missing = Counter(dict(required))
    for index, group in enumerate(groups):
        held = Counter(member.class_name for member in group.members)
        if any(missing[name] > 0 for name in held):
            groups[index] = replace(group, core=len(group.members), essential=True)
            missing -= held
        elif group.essential:
            missing -= Counter(m.class_name for m in group.members[: group.core])
    for class_name, number in missing.items():
        groups += [maker.single(class_name) for _ in range(number)]
    # Large and essential groups first; the others fill the gaps.
    groups.sort(key=lambda group: (not group.essential, -group.floor_m2))
    return Furnishing(tuple(groups))


def furnish(
    floor: RoomFloor, furnishing: Furnishing, maker: GroupMaker, rng: np.random.Generator
) -> tuple[Member, ...] | None:
    """Places the groups; non-essential ones are left out if they do not fit.

    Returns:
        The pieces in the map frame, or None if an essential group does not fit.
    """
    placed: list[Member] = []
    for group in furnishing.groups:
        for part in _place(floor, group, maker, rng):
            if part is None:
                return None
            placed += part
    return tuple(placed)


def _place(
    floor: RoomFloor, group: Group, maker: GroupMaker, rng: np.random.Generator
) -> Sequence[Sequence[Member] | None]:
    members = floor.place(group, rng)
    if members is not None:
        return [members]
    if group.is_run:
        return [part for half in maker.split(group) for part in _place(floor, half, maker, rng)]
    if group.place is not Place.WALL:
        members = floor.place(group.at_wall(), rng)
        if members is not None:
            return [members]
    return [None] if group.essential else []
