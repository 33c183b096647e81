"""What to look for beyond the names of a goal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

# At most so many things are named in a line of the story.
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Sought:
    """A thing that is not known yet.

    Attributes:
        words: what it is, in English: "all toys on the couch".
        where: the only furniture and floors where it may be; none = the whole house.
        by_one: a look by one agent is enough, also where one of another height may see more.
    """

    words: str
    where: frozenset[str] = frozenset()
    by_one: bool = False


NOTHING_SOUGHT: Mapping[str, Sought] = MappingProxyType({})


def sought_words(names: Iterable[str], sought: Mapping[str, Sought]) -> str:
    """Names to look for as a person would say them, each thing once."""
    said = dict.fromkeys(sought[name].words if name in sought else name for name in names)
    named = list(said)[:_MAX_NAMED]
    if len(said) > len(named):
        named.append("other things")
    return " and ".join(named)
