"""Changes a goal by what is said about it: "no, the blue one", "not the kitchen, the office"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from planner.conversation.slots import (
    ONES,
    PREPOSITION,
    Role,
    Slot,
    anchor_in,
    contrasts,
    corrected,
    fits,
    is_furniture,
    is_room,
    phrases_in,
    place_in,
    places_of,
    put_in,
    rebuilt,
    slots,
    things_of,
    without,
)
from planner.grounding.records import request_words, words_of
from planner.language.english import NUMBERS
from planner.language.goal_form import (
    Description,
    Goal,
    Leave,
    NounPhrase,
    Place,
    Request,
)
from planner.language.interpretation import interpret
from planner.language.lexicon import Relation, Spot, includes


@dataclass(frozen=True, slots=True)
class Changed:
    """What an instruction asks for from now on.

    Attributes:
        goal: None if nothing is left of it.
        other: a description in words that stands for another thing than so far; "" = none.
    """

    goal: Goal | None
    other: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A change that could mean several things.

    Attributes:
        options: in words, with what each would make of the goal.
    """

    options: tuple[tuple[str, Changed], ...]

    @property
    def question(self) -> str:
        """What the person is asked."""
        return f"Which is meant: {' or '.join(words for words, _ in self.options)}?"


def text_of(goal: Goal) -> str:
    """A goal as an instruction in English."""
    steps = [" and ".join(map(request_words, step)) for step in goal.steps]
    said = ", then ".join(steps)
    parts = [said, *map(request_words, goal.any_time)]
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts if part)


# What is said, without the words that only say that it is a correction.

_LEAD = re.compile(
    r"^((no|nope|not that|sorry|wait|actually|oops|oh|rather|hold on|hang on|correction"
    r"|please|but|and"
    r"|well|that is wrong|that is not right|wrong|i (mean|meant|said|want|wanted)( you to"
    r"| to say)?"
    r"|make (it|that)( be)?|it should be|it is|it was|that is|that was|what i (mean"
    r"|meant) (is|was)|do not"
    r" worry|i did mean|i would like|i would rather have|better|let us say|say)\b[ ,.!:;-]*)+"
)
_TAIL = re.compile(r"([ ,]+(please|instead|rather|though|i (mean|meant|said)|sorry|robot|then))+$")
TAKE = re.compile(
    r"^(take|use|get|bring|fetch|grab|pick( up)?|choose|i need|i want|bring me|give me"
    r"|get me)\s+(?=\S)"
)
_SWAPS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^not (?P<old>.+?)(?:,| but|\.|;)(?: but| no)?[ ,]+(?P<new>.+)$",
        r"^(?P<new>.+?), (?:and )?not (?P<old>.+)$",
        r"^(?P<new>.+?) (?:instead of|rather than|in place of) (?P<old>.+)$",
        r"^(?:change|replace|swap|exchange) (?P<old>.+?) (?:to|into|by|with|for) (?P<new>.+)$",
        r"^i did not mean (?P<old>.+?)[,.;]+ (?:i (?:mean|meant) )?(?P<new>.+)$",
        r"^do not \w+ (?P<old>.+?)[,.;]+ (?:but )?(?:take|use|bring|get|fetch) (?P<new>.+)$",
    )
)
_LEAVES = re.compile(
    r"^(?:(?:not|without|except|except for|but not|skip|forget|forget about|ignore|omit|drop"
    r"|spare|keep"
    r"|no need for|no more|never mind|i do not need|i do not want|leave out"
    r"|do not need) (?P<a>.+?)"
    r"|(?:the )?(?P<b>.+?) (?:can|may|should|shall) (?:stay|remain|be left)(?: there| alone"
    r"| where (?:it"
    r" is|they are))?|(?P<c>the .+?) (?:is|are) (?:not needed|fine|ok|okay)(?: there"
    r"| as (?:it is|they"
    r" are)| where (?:it is|they are))?)(?: any more| anymore| out)?$"
)
_ONLY = re.compile(r"^(?:only|just|nothing but) (?P<what>.+)$")
_OTHER = re.compile(
    r"^(?:the |an)?(?:other|different)(?: (?P<kind>.+))?$|^a different (?P<more>.+)$"
)
_NUMBER = re.compile(r"^(?:only |just )?(?P<n>[a-z]+|\d+)(?: of (?:them|those|these))?$")
_WITH_IT = re.compile(
    r"^(?:put|bring|take|carry|move|place|get) (?:it|them|that|those|this|these|everything)"
    r" (?P<where>.+)$"
)
_PRONOUN = re.compile(r"\b(it|them|that|those)\b")


def changed(goal: Goal, said: str, focus: Collection[str] = ()) -> Changed | Doubt | None:
    """What a correction makes of a goal.

    Args:
        goal: so far.
        said: the correction.
        focus: classes of the things that agents are at now, which are rather meant.

    Returns:
        None if it is not understood.
    """
    words = " ".join(said.lower().replace("n't", " not").split()).strip(" .!?")
    words = words.replace("'m ", " am ").replace("'s ", " is ").replace("don't", "do not")
    change = Change(goal, frozenset(kind.replace("_", " ") for kind in focus))
    for _ in range(2):
        bare = _TAIL.sub("", _LEAD.sub("", words)).strip(" ,.!")
        for text in dict.fromkeys((words, bare, TAKE.sub("", bare))):
            found = change.of(text)
            if found is not None and not (
                isinstance(found, Changed) and found.goal == goal and not found.other
            ):
                return found
        words = bare
    return None


class Change:
    """One correction of one goal."""

    def __init__(self, goal: Goal, focus: frozenset[str] = frozenset()) -> None:
        self._goal, self._focus = goal, focus
        self._slots = slots(goal)

    def of(self, words: str) -> Changed | Doubt | None:
        """Reads it in one way after the other."""
        if not words:
            return None
        ways: tuple[Callable[[str], Changed | Doubt | None], ...] = (
            self._swapped, self._left_out, self._counted, self._only, self._another,
            self._elsewhere, self._put_right, self._retold,
        )  # fmt: skip
        return next((found for way in ways if (found := way(words)) is not None), None)

    def _swapped(self, words: str) -> Changed | Doubt | None:
        """Reads "not the kitchen, the office", "the bowl instead of the cup"."""
        for pattern in _SWAPS:
            match = pattern.match(words)
            if match is None:
                continue
            old, new = (TAKE.sub("", match[name].strip()) for name in ("old", "new"))
            named = [slot for slot in self._slots if self._names(old, slot)]
            if named:
                return self.choose(new, named)
        return None

    def _names(self, words: str, slot: Slot) -> bool:
        """Whether words mean a slot's description."""
        if PREPOSITION.match(words):
            place = place_in(words)
            here = place.anchor if place is not None else None
            is_place = slot.role in (Role.TO, Role.IN)
            return is_place and isinstance(here, Description) and fits(here, slot.phrase)
        said = phrases_in(words, slot.phrase.kind if ONES.search(words) else "")
        if not said:
            place = anchor_in(words, Relation.AT)
            said = (place.anchor,) if place and isinstance(place.anchor, Description) else ()
        return any(fits(one, slot.phrase) for one in said)

    def _put_right(self, words: str) -> Changed | Doubt | None:
        """Reads "the blue one", "the office", "three cups"."""
        return None if PREPOSITION.match(words) else self.choose(words, self._slots)

    def choose(self, words: str, among: Sequence[Slot]) -> Changed | Doubt | None:
        """The goal with what is said in place of what it most likely puts right."""
        if PREPOSITION.match(words):
            return self._elsewhere(words)
        ranked: dict[tuple[Role, str], list[tuple[Slot, Description, Relation | None]]] = {}
        best, explicit = 0.0, len(among) < len(self._slots)
        for slot in among:
            read = self._read_as(words, slot)
            if read is None:
                continue
            score = self._score(read[0], slot, read[2]) + 4.0 * explicit
            if score > best:
                best, ranked = score, {}
            if score == best > 0.0:
                ranked.setdefault(slot.key, []).append((slot, *read[:2]))
        options = []
        for chosen in ranked.values():
            goal: Goal | None = self._goal
            for slot, new, relation in chosen:
                goal = goal and put_in(goal, slot, new, relation)
            if goal is not None:
                old = words_of(chosen[0][0].phrase)
                options.append((f'"{words_of(chosen[0][1])}" in place of "{old}"', Changed(goal)))
        return _one_of(options)

    def _read_as(self, words: str, slot: Slot) -> tuple[Description, Relation | None, bool] | None:
        """What words say in place of a slot, and whether a kind is named."""
        elliptic = bool(ONES.search(words))
        if slot.role in (Role.THING, Role.FROM) or elliptic:
            said = phrases_in(words, slot.phrase.kind if elliptic else "")
            if len(said) != 1:
                return None
            if slot.role is not Role.FROM or elliptic:
                return corrected(said[0], slot.phrase), None, not elliptic
        relation = self._relation(slot)
        place = anchor_in(words, relation)
        if place is None or not isinstance(place.anchor, Description):
            return None
        new = place.anchor
        return (new if new.where else corrected(new, slot.phrase)), place.relation, True

    def _relation(self, slot: Slot) -> Relation:
        request = self._goal.requests[slot.request]
        if slot.role is Role.TO:
            return places_of(request)[slot.index].relation
        return Relation.IN

    def _score(self, new: Description, slot: Slot, named: bool) -> float:
        """How likely a slot is meant; 0 = it cannot be."""
        old, role = slot.phrase, slot.role
        focus = 0.5 * (role is Role.THING and bool({old.kind} & self._focus))
        contrast = 1.0 * contrasts(new, old)
        if not named:
            # "The blue one": a thing rather than a place, unless that has a colour.
            return contrast + focus + {Role.THING: 1.0, Role.TO: 0.5}.get(role, 0.0)
        if new.kind == old.kind:
            return 3.0 + contrast + focus
        if includes(old.kind, new.kind) or includes(new.kind, old.kind):
            return 2.0 + focus
        alike = is_room(new) is is_room(old) and is_furniture(new) is is_furniture(old)
        if alike:
            return 1.0 + focus
        # "The bowl", for the sink.
        return 0.5 if role is Role.TO and not is_room(new) else 0.0

    def _elsewhere(self, words: str) -> Changed | Doubt | None:
        """Reads "in the office", "put it on the shelf"."""
        match = _WITH_IT.match(words)
        where = match["where"] if match else words
        if not PREPOSITION.match(where):
            return None
        is_from = re.match(r"(from|off|out of)\b", where) is not None
        if is_from or not any(map(to_words, self._goal.requests)):
            return self._from(where)
        place = place_in(where)
        if place is None:
            return None
        options = []
        for key in dict.fromkeys(to_words(request) for request in self._goal.requests):
            if not key:
                continue
            requests = [
                self._sent(request, place) if to_words(request) == key else request
                for request in self._goal.requests
            ]
            goal = rebuilt(self._goal, requests)
            if goal is not None:
                options.append((f'"{where}" in place of "{key}"', Changed(goal)))
        return _one_of(options)

    def _from(self, where: str) -> Changed | Doubt | None:
        """Reads "no, from the shelf": what is meant is there."""
        options = []
        for slot in self._slots:
            said = phrases_in(f"the {slot.phrase.kind} {where}")
            if slot.role is Role.THING and len(said) == 1 and said[0].where:
                there = slot.phrase.model_copy(update={"where": said[0].where})
                if goal := put_in(self._goal, slot, there):
                    options.append((f'"{words_of(there)}"', Changed(goal)))
        return _one_of(options)

    def _sent(self, request: Request, place: Place) -> Request:
        """A request with another place; a room corrects the room of furniture."""
        to = places_of(request)
        anchor, old = place.anchor, to[-1].anchor
        room = isinstance(anchor, Description) and is_room(anchor)
        if room and isinstance(old, Description) and is_furniture(old):
            inner = tuple(w for w in old.where if not is_in_room(w))
            within = Place(relation=Relation.IN, anchor=anchor)
            place = to[-1].model_copy(
                update={"anchor": old.model_copy(update={"where": (*inner, within)})}
            )
        return request.model_copy(update={"to": (place,)})

    def _left_out(self, words: str) -> Changed | Doubt | None:
        """Reads "leave the plates", "not the red ones", "without the cups"."""
        match = _LEAVES.match(words)
        core = next((text for text in match.groups() if text), "") if match else ""
        reading = interpret(words)
        own = (
            isinstance(reading, Goal)
            and all(isinstance(r, Leave) for r in reading.requests)
            and bool(reading.requests)
        )
        gone: list[Slot] = []
        narrowed: dict[Slot, Description] = {}
        for slot in self._slots:
            if slot.role is not Role.THING:
                continue
            kind = slot.phrase.kind if ONES.search(words) else ""
            said = phrases_in(core, kind) if core else ()
            if not said and own and isinstance(reading, Goal):
                found = [thing for r in reading.requests for thing in things_of(r)]
                said = tuple(thing for thing in found if isinstance(thing, Description))
            elif not said and (left := re.match(r"^(?:leave|do not \w+) (.+)$", words)):
                said = phrases_in(left[1], kind)
            for one in said:
                if fits(one, slot.phrase):
                    gone.append(slot)
                elif includes(slot.phrase.kind, one.kind) and slot.phrase.count != 1:
                    narrowed[slot] = one
        if gone:
            return Changed(without(self._goal, gone))
        goal: Goal | None = self._goal
        for slot, one in narrowed.items():
            less = slot.phrase.model_copy(update={"but": (*slot.phrase.but, one)})
            goal = goal and put_in(goal, slot, less)
        if narrowed:
            return Changed(goal) if goal is not None else None
        if own and isinstance(reading, Goal):
            any_time = (*self._goal.any_time, *reading.any_time)
            return Changed(self._goal.model_copy(update={"any_time": any_time}))
        return None

    def _only(self, words: str) -> Changed | Doubt | None:
        """Reads "only the cups"."""
        match = _ONLY.match(words)
        if match is None:
            return None
        kept: list[Slot] = []
        goal: Goal | None = self._goal
        things = [slot for slot in self._slots if slot.role is Role.THING]
        for slot in things:
            kind = slot.phrase.kind if ONES.search(match["what"]) else ""
            said = phrases_in(match["what"], kind)
            if any(fits(one, slot.phrase) for one in said):
                kept.append(slot)
            elif len(said) == 1 and includes(slot.phrase.kind, said[0].kind):
                kept.append(slot)
                narrow = corrected(said[0], slot.phrase)
                goal = goal and put_in(goal, slot, narrow)
        if not kept or goal is None:
            return None
        rest = [slot for slot in things if slot not in kept]
        return Changed(without(goal, rest) if rest else goal)

    def _another(self, words: str) -> Changed | Doubt | None:
        """Reads "the other one", "a different cup"."""
        match = _OTHER.match(words)
        if match is None:
            return None
        kind = match["kind"] or match["more"] or "one"
        found: dict[str, Changed] = {}
        for slot in self._slots:
            if slot.role in (Role.THING, Role.TO) and self._names(f"the {kind}", slot):
                found[words_of(slot.phrase)] = Changed(self._goal, words_of(slot.phrase))
        if kind in ("one", "ones"):
            things = [words_of(s.phrase) for s in self._slots if s.role is Role.THING]
            focused = [
                words_of(s.phrase)
                for s in self._slots
                if s.role is Role.THING and s.phrase.kind in self._focus
            ]
            found = {w: found[w] for w in dict.fromkeys(focused or things) if w in found}
        return _one_of([(f'another than "{words}"', change) for words, change in found.items()])

    def _counted(self, words: str) -> Changed | Doubt | None:
        """Reads "two", "make it three", "just one of them", "all of them"."""
        match = _NUMBER.match(words)
        if match is None:
            return None
        number = int(match["n"]) if match["n"].isdigit() else NUMBERS.get(match["n"], 0)
        things = [slot for slot in self._slots if slot.role is Role.THING]
        counted = [slot for slot in things if slot.phrase.count != 1] or things
        if number < 1:
            return None
        options = []
        for slot in counted:
            new = slot.phrase.model_copy(update={"count": number, "definite": False})
            if goal := put_in(self._goal, slot, new):
                options.append((f'"{words_of(new)}"', Changed(goal)))
        return _one_of(options)

    def _retold(self, words: str) -> Changed | Doubt | None:
        """Reads "wash it", "put the plate on the shelf": a whole request in place of another."""
        options = []
        if _PRONOUN.search(words):
            for slot in self._slots:
                name = words_of(slot.phrase.model_copy(update={"where": ()}))
                reading = interpret(_PRONOUN.sub(name, words, count=1))
                if slot.role is Role.THING and isinstance(reading, Goal):
                    options.append((words, self._replaced(slot.request, reading)))
        elif isinstance(reading := interpret(words), Goal) and len(reading.requests) == 1:
            requests = self._goal.requests
            kinds = _kinds(things_of(reading.requests[0]))
            same = [k for k, r in enumerate(requests) if kinds & _kinds(things_of(r))]
            if len(requests) == 1 or len(same) == 1:
                options.append((words, self._replaced((*same, 0)[0], reading)))
        return _one_of([(said, change) for said, change in options if change is not None])

    def _replaced(self, number: int, reading: Goal) -> Changed | None:
        if len(reading.requests) != 1:
            return None
        requests: list[Request | None] = list(self._goal.requests)
        old, new = self._goal.requests[number], reading.requests[0]
        labels = [t.label for t in things_of(old) if isinstance(t, Description)]
        if len(labels) == len(things_of(new)) == 1 and isinstance(things_of(new)[0], Description):
            thing = things_of(new)[0].model_copy(update={"label": labels[0]})
            new = new.model_copy(update={"things": (thing,)})
        requests[number] = new
        goal = rebuilt(self._goal, requests)
        return None if goal is None else Changed(goal)


def _one_of(options: Iterable[tuple[str, Changed]]) -> Changed | Doubt | None:
    """The only meaning, or the doubt between several."""
    different: dict[str, tuple[str, Changed]] = {}
    for words, change in options:
        key = f"{change.other}|{text_of(change.goal) if change.goal else ''}"
        different.setdefault(key, (words, change))
    found = tuple(different.values())
    if len(found) > 1:
        return Doubt(found)
    return found[0][1] if found else None


def to_words(request: Request) -> str:
    """Where a request wants its things, in words; "" = nowhere."""
    return " ".join(
        words_of(place.anchor)
        for place in places_of(request)
        if place.anchor not in (Spot.ELSEWHERE,)
    )


def is_in_room(place: Place) -> bool:
    """Whether a place is a room."""
    return isinstance(place.anchor, Description) and is_room(place.anchor)


def _kinds(phrases: Iterable[NounPhrase]) -> set[str]:
    return {phrase.kind for phrase in phrases if isinstance(phrase, Description)}
