"""The texts of the entity list: descriptions, prompt lines and the planner's delta lines.

Formats are literal (EPM-2.2, EPM-2.3 and EPM-2.5): other people's prompts and models read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from planner.world.belief import Edit, Entity, MemoryChange, OperationKind
from planner.world.geometry import Vec3
from planner.world.person import Person
from planner.world.states import default_states

PICKED, PLACED = "picked", "placed"
_SUPPORT = re.compile(r"\s*\bwith the (?:Object|Entity)[. ](\d+)", re.IGNORECASE)
_WORD = re.compile(r"[\w-]+")
_STRAY = " \t,;.:-"
_OPENNESS_WORDS = {"open": 1.0, "closed": 0.0}


class WordMatch(StrEnum):
    """How the words picked and placed are found in a description (EPM-2.3).

    Whole words leave "misplaced toy" alone; substrings are the paper's literal reading.
    """

    WHOLE = "whole"
    SUBSTRING = "substring"


@dataclass(frozen=True, slots=True)
class Description:
    """What a description says.

    Attributes:
        class_name: its class words joined by underscores; "" where there are none.
        support_id: N of `with the Object.N`.
        openness: of the words open and closed.
    """

    class_name: str
    support_id: int | None = None
    states: Mapping[str, bool] = field(default_factory=dict)
    openness: float | None = None


def words_of(class_name: str) -> str:
    """A class as people write it: `plant_container` is a plant container."""
    return class_name.replace("_", " ")


def class_words(class_name: str, person: Person | None) -> str:
    """A class, and of a person what is seen of one: `person standing red shirt`."""
    return class_name if person is None else f"{class_name} {person.words.replace(',', '')}"


def describe(
    class_name: str,
    states: Mapping[str, bool] | None = None,
    openness_word: str = "",
    support_id: int | None = None,
) -> str:
    """Class, then unusual states, then `open` or `closed`, then what it is with."""
    told = tuple(states.items()) if states else ()
    return _described(class_name, told, openness_word, support_id)


@lru_cache(maxsize=4096)
def _described(
    class_name: str, told: tuple[tuple[str, bool], ...], openness_word: str, support_id: int | None
) -> str:
    parts, states = [words_of(class_name)], dict(told)
    # What is as usual is not said (PARTNR-D6).
    unusual = default_states().unusual_words().items() if states else ()
    words = [w for w, (state, value) in unusual if states.get(state) is value]
    # "filled with water" says "filled" as well.
    parts += [w for w in words if not any(other.startswith(w + " ") for other in words)]
    if openness_word:
        parts.append(openness_word)
    if support_id is not None:
        parts.append(f"with the Object.{support_id}")
    return " ".join(parts)


def read_description(text: str) -> Description:
    """The inverse of `describe`, for texts of models too; never raises."""
    found = _SUPPORT.search(text)
    # A longer number than any id is not a reference, and would be slow to read.
    number = int(found[1]) if found and len(found[1]) < 10 else None
    rest = (text[: found.start()] if found else text).strip(_STRAY)
    states: dict[str, bool] = {}
    openness = None
    words = default_states().by_word()
    while True:
        ending = next((w for w in (*words, *_OPENNESS_WORDS) if _ends_in(rest, w)), None)
        if ending is None:
            break
        rest = rest[: -len(ending)].rstrip(_STRAY)
        if ending in _OPENNESS_WORDS:
            openness = _OPENNESS_WORDS[ending] if openness is None else openness
        else:
            state, value = words[ending]
            states.setdefault(state, value)
            for word, (implied, held) in words.items():
                if ending.startswith(word + " "):
                    states.setdefault(implied, held)
    return Description("_".join(_WORD.findall(rest.lower())), number, states, openness)


def _ends_in(text: str, word: str) -> bool:
    return text.lower().endswith(" " + word)


def normal_text(text: str) -> str:
    """One line, single blanks."""
    return " ".join(text.split())


def take_flag_words(text: str, match: WordMatch) -> tuple[str, bool | None, bool]:
    """Strips `picked` and `placed` from an Update's description (EPM-2.3).

    Returns:
        The rest with blanks and stray punctuation tidied, the flag that the words set (None:
        none of them occurs), and whether both occurred, where `placed` wins.
    """
    lowered = text.lower()
    if PICKED not in lowered and PLACED not in lowered:
        return text, None, False
    rest, flag, count = text, None, 0
    for word, value in ((PICKED, True), (PLACED, False)):
        pattern = rf"\b{word}\b" if match is WordMatch.WHOLE else word
        stripped = re.sub(pattern, " ", rest, flags=re.IGNORECASE)
        if stripped != rest:
            rest, flag, count = stripped, value, count + 1
    if flag is None:
        return text, None, False
    tidied = re.sub(r"\s+([,;.:])", r"\1", normal_text(rest))
    return normal_text(re.sub(r"[,;:]+(?=[,;:.])", "", tidied)).strip(_STRAY), flag, count == 2


def coordinates(point_m: Vec3) -> str:
    """`(-6.7, -0.0, 5.9)`: one decimal, negative zero kept."""
    return "({:.1f}, {:.1f}, {:.1f})".format(*point_m)


def entity_line(entity: Entity) -> str:
    """The line of EPM's prompt; `picked` stands in place of the coordinates of what is held."""
    where = f"({PICKED})" if entity.picked else coordinates(entity.position_m)
    seen = ""
    if entity.seen_distance_m is not None and not entity.picked:
        seen = f" seen from {entity.seen_distance_m:.1f} m"
    return f"Object {entity.entity_id} {where}{seen}: {entity.description}"


def delta_line(edit: Edit) -> str:
    """The line of the planner's dialogue: `Update Object.115 (picked): plant container`."""
    entity = edit.entity
    if edit.kind is OperationKind.REMOVE:
        return f"Remove Object.{entity.entity_id}"
    held = f" ({PICKED})" if entity.picked else ""
    return f"{edit.kind.value} Object.{entity.entity_id}{held}: {entity.description}"


def net_edits(changes: Iterable[MemoryChange]) -> list[Edit]:
    """The net effect per id, in the order of each id's last change (EPM-2.5).

    What was added and updated is one Add as it is now; what was added and removed is nothing.
    """
    first: dict[int, OperationKind] = {}
    last: dict[int, Edit] = {}
    for change in changes:
        for edit in change.edits:
            number = edit.entity.entity_id
            first.setdefault(number, edit.kind)
            last.pop(number, None)
            last[number] = edit
    net = []
    for number, edit in last.items():
        added = first[number] is OperationKind.ADD
        if added and edit.kind is OperationKind.REMOVE:
            continue
        net.append(Edit(OperationKind.ADD, edit.entity) if added else edit)
    return net


def delta_lines(changes: Iterable[MemoryChange]) -> list[str]:
    """The planner's lines for changes that came in their order."""
    return [delta_line(edit) for edit in net_edits(changes)]
