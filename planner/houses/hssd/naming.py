"""Names of bodies: habitat-sim's handles, PARTNR's names, and ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.houses.hssd.transforms import Placed


@dataclass(frozen=True, slots=True)
class PieceName:
    """The names of a piece of furniture.

    Attributes:
        theirs: PARTNR's; keeps the case of the data set's table (`Table_0`).
        ours: PARTNR's, unless that is not a name of ours: names here have no capitals.
    """

    theirs: str
    ours: str


def handles_of(instances: Sequence[Placed]) -> Iterator[tuple[str, Placed]]:
    """Each instance with habitat-sim's handle: the template's name and a number.

    The number is one more than the highest of all earlier handles whose names contain this one's.
    """
    taken: dict[str, int] = {}
    for instance in instances:
        name = instance.name.lower()
        number = max((last + 1 for other, last in taken.items() if name in other), default=0)
        taken[name] = number
        yield f"{instance.name}_:{number:04d}", instance


def piece_names(bodies: Iterable[tuple[str, str]]) -> dict[str, PieceName]:
    """The names of furniture by handle.

    Args:
        bodies: handle and class, in PARTNR's order. PARTNR counts the classes `Table` and `table`
            separately (MetadataInterface.refresh_scene_caches of its code).
    """
    counts: Counter[str] = Counter()
    theirs: dict[str, str] = {}
    for handle, word in bodies:
        theirs[handle] = f"{word}_{counts[word]}"
        counts[word] += 1
    known = {name for name in theirs.values() if slug(name) == name}
    found: dict[str, PieceName] = {}
    for handle, name in theirs.items():
        ours = name
        if slug(name) != name:
            ours = free_name(slug(name.rpartition("_")[0]), known)
            known.add(ours)
        found[handle] = PieceName(name, ours)
    return found


def slug(words: str) -> str:
    """Words as a name of ours: small letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_") or "unnamed"


def free_name(stem: str, taken: Iterable[str] | Mapping[str, object]) -> str:
    """The stem with the first number that is not taken."""
    known = set(taken)
    index = 0
    while f"{stem}_{index}" in known:
        index += 1
    return f"{stem}_{index}"
