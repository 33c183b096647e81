"""Occlusion: the fifth of a category's tasks with the smallest, or the farthest, targets.

Size is the volume of the target's box, distance is on the floor plane from the robot's start to the
target (ETPLAN-4.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.episodes.et_generation.categories import Variant
from planner.episodes.et_generation.house_facts import HouseFacts
from planner.world.episode import Criteria, Episode

_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Target:
    """What a task's target is like.

    Attributes:
        volume_m3: of its box.
        distance_m: from the robot at the start.
    """

    volume_m3: float
    distance_m: float


def target_of(episode: Episode, facts: HouseFacts) -> Target:
    """The target of a task: A, as its own plan means it."""
    criteria = _criteria(episode)
    entity = facts.entities[criteria.variables["A"][0]]
    start = episode.agents[0].start or (0.0, 0.0, 0.0)
    return Target(entity.volume_m3, math.dist(start[:2], entity.middle_m[:2]))


def hardest(targets: Mapping[str, Target], variant: Variant) -> frozenset[str]:
    """The ids of round(0.2 n) of n tasks: 167 of 834, 135 of 674 (ETPLAN-C9, ETPLAN-C10)."""
    keys: dict[Variant, Callable[[str], float]] = {
        Variant.OCCLUSION_SIZE: lambda name: targets[name].volume_m3,
        Variant.OCCLUSION_DISTANCE: lambda name: -targets[name].distance_m,
    }
    key = keys[variant]
    ordered = sorted(targets, key=lambda name: (key(name), name))
    return frozenset(ordered[: round(_SHARE * len(ordered))])


def marked(episodes: Sequence[Episode], facts: Mapping[str, HouseFacts]) -> list[Episode]:
    """The tasks with their variants of occlusion; those of a category and its arms are compared.

    Args:
        episodes: tasks without these variants.
        facts: of their houses by name.
    """
    groups: dict[tuple[object, ...], dict[str, Target]] = {}
    for episode in episodes:
        criteria = _criteria(episode)
        group = (criteria.category, criteria.prior, criteria.arms)
        target = target_of(episode, facts[episode.house])
        groups.setdefault(group, {})[episode.episode_id] = target
    variants: dict[str, list[Variant]] = {}
    for targets in groups.values():
        for variant in (Variant.OCCLUSION_SIZE, Variant.OCCLUSION_DISTANCE):
            for name in hardest(targets, variant):
                variants.setdefault(name, []).append(variant)
    return [_with(episode, variants.get(episode.episode_id, ())) for episode in episodes]


def _with(episode: Episode, variants: Iterable[Variant]) -> Episode:
    criteria = _criteria(episode)
    update = {"variants": (*criteria.variants, *map(str, variants))}
    return episode.model_copy(update={"criteria": criteria.model_copy(update=update)})


def _criteria(episode: Episode) -> Criteria:
    if episode.criteria is None:
        raise ValueError(f"{episode.episode_id} has no criteria")
    return episode.criteria
