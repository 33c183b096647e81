"""States: what the verb before a noun does to it, against the states of the goal."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.chunks import Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for
from planner.language.cross_reading.occurrences import GoalFacts, Role
from planner.language.goal_form import Make, Never
from planner.language.reading import AskReason
from planner.language.tokens import STOPS

_EFFECTS = {
    **dict.fromkeys(("wash", "rinse", "wipe", "scrub"), "clean"),
    **dict.fromkeys(("fill", "refill"), "filled"),
    **dict.fromkeys(("slice", "chop", "dice"), "sliced"),
    **dict.fromkeys(("cook", "bake", "fry"), "cooked"),
    "boil": "boiled", "toast": "toasted", "water": "watered", "dust": "dusted",
    "open": "open", "close": "closed", "shut": "closed",
}  # fmt: skip
_SWITCHING = frozenset(["turn", "switch", "power", "flick", "flip"])
_POWER = {"on": "powered on", "off": "powered off", "out": "powered off"}


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Each noun directly behind a verb that changes it, or before "on" and "off"."""
    if text.has_correction:
        return
    for chunk in text.chunks:
        state = _effect(text, chunk)
        if not state:
            continue
        about = [o for o in goal.occurrences if chunks_for(text, o.description.kind) == (chunk,)]
        things = [o for o in about if o.role is Role.THING]
        if not things or any(o.role is Role.CONDITION for o in about):
            continue
        items = [goal.requests[o.request][1] for o in things]
        reached = {s for item in items if isinstance(item, Make | Never) for s in item.states}
        if not any(s == state or s.startswith(f"{state} with") for s in reached):
            words = (text.quoted(chunk),)
            yield Contradiction(Subject.STATE, words, AskReason.DONE)


def _effect(text: TextFacts, chunk: Chunk) -> str:
    """The state that a verb directly before a noun, or a word directly behind it, means."""
    clause = text.clause(chunk.start)
    if clause.negated or clause.subordinator or clause.subject == "i":
        return ""
    after = text.words[chunk.end] if chunk.end < len(text.words) else ""
    if clause.verb and clause.verb_at < chunk.start:
        between = text.words[clause.verb_at + 1 : chunk.start]
        if clause.verb in _SWITCHING:
            if len(between) == 1:
                return _POWER.get(between[0], "")
            return _POWER.get(after, "") if not between and after != "out" else ""
        if clause.verb == "shut" and {"down", "off"} & set(text.words[chunk.end : clause.end]):
            return ""
        if not between and chunk.is_marked:
            return _EFFECTS.get(clause.verb, "")
        return ""
    begins = chunk.start == clause.start or text.words[chunk.start - 1] in (",", "and")
    if not clause.verb and begins and chunk.preposition == ():
        behind = text.words[chunk.end + 1] if chunk.end + 1 < len(text.words) else ""
        if behind in ("", "in", ",", "please", "now") or behind in STOPS:
            return _POWER.get(after, "")
    return ""
