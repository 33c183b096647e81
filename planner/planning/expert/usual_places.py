"""Which furniture things of a class are usually kept on or in, by the catalogue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache

from planner.world.catalogue import default_catalogue
from planner.world.vocabulary import Relation

# Where fewer of the things of many classes are, on average, none of them is looked for.
MIN_SHARE = 0.05


def usual_furniture_of(class_names: Collection[str]) -> frozenset[str]:
    """The classes of furniture where most things of some classes are usually kept.

    Of many classes, such as all toys, nearly every furniture is usual for one.
    """
    known = [name for name in class_names if name in default_catalogue().objects]
    if len(known) < 2:
        return frozenset(place for name in known for place in usual_furniture(name))
    shares: dict[str, float] = defaultdict(float)
    for name in known:
        places = default_catalogue().objects[name].places
        total = sum(place.weight for place in places)
        for place in places:
            shares[place.furniture] += place.weight / total / len(known)
    return frozenset(name for name, share in shares.items() if share >= MIN_SHARE)


def usual_furniture(class_name: str) -> frozenset[str]:
    """The classes of furniture for things of a class, or of its groups; empty if unknown."""
    cls = default_catalogue().objects.get(class_name)
    if cls is None:
        return frozenset()
    return closets()[class_name] | {place.furniture for place in cls.places}


@cache
def closets() -> Mapping[str, frozenset[str]]:
    """For each object class, the furniture where the catalogue has things of the same group."""
    classes = default_catalogue().objects.values()
    held: dict[str, set[str]] = defaultdict(set)
    for cls in classes:
        for place in cls.places:
            if place.relation is Relation.WITHIN:
                for group in cls.groups:
                    held[group].add(place.furniture)
    return {c.name: frozenset(f for group in c.groups for f in held[group]) for c in classes}
