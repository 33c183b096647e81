"""The short wording of the numbered dialogue, for small models.

What a tuned model needs no telling is left out, and a thing is called by its class and number, so
that a call has the words of the task in it. What a word of the task may mean stands behind that
word; what no word may mean is not told, unless the task names no things. What is to be copied is
near: after something was picked up, the part of the task that names it is told again, with the
furniture that it may mean; after something was put down or changed, what was not handled yet. It
is made of the paper's lines, so that recorded traces can be told in it too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from planner.memory.wording import read_description, words_of
from planner.models.replies.turn import PUT_DOWN, Words
from planner.planning.learned.tokens import NOUN, Token, nouns_of, split_tokens
from planner.world.belief import UNNAMED_CLASS, named_by_class
from planner.world.catalogue import default_catalogue
from planner.world.skill import SUCCESS_TEXT, SkillCall, SkillName
from planner.world.states import Condition, default_state_skills
from planner.world.vocabulary import Relation

SHORT_SYSTEM = "You plan what a robot does in a house. Answer with its next call."
_SHORT_SUCCESS, _NOWHERE, _UNSEEN = "Ok.", "elsewhere", "not seen"
_LEFT, _NOTHING_LEFT = "Left:", "Nothing left."
_CLOSING = re.compile(r"\b(?:clos|shut)", re.IGNORECASE)
# Beginnings of words for skills, where there are others than their names.
_SWITCHED = r"power|switch|turn|start|stop|light|o(?:n|ff)\b(?! [a-z])"
_SAID = {
    "clean": "clean|wash|wip|rins|scrub|dirt|polish",
    "slice": "slic|cut|chop",
    "brew": "brew|coffee",
    "power_on": _SWITCHED,
    "power_off": _SWITCHED,
}
_SWITCHING = (SkillName.POWER_ON, SkillName.POWER_OFF)
_INSIDE = r"\b(?:in|inside|into|within) (?:one of )?(?:the|an?|that) "
_WHERE = r"\b(?:at|by|beside|in|inside|into|near|next to|on|onto|of|to|with) (?:the|an?|that) "
_MOVING = re.compile(r"\b(?:bring|carry|get|leave|mov|plac|put|return|set|stor|tak)", re.IGNORECASE)
_REFERS = re.compile(r"\b(?:it|them|they|both|these|those)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_ENTITY = re.compile(r"Object\.(\d+): (.*?)(?: in (\S+))?")
_CHANGE = re.compile(r"(?:Add|Update) Object\.(\d+)( \(picked\))?: (.*)")
_OBJECT = re.compile(r"\bObject\.(\d+)\b")
_REMOVAL = re.compile(r"Remove Object\.(\d+)")
# What a result says of hands, and the changes as well.
_OF_HANDS = re.compile(r" (?:\S+ is in|Now) the (?:left|right) hand(?: is free)?\.")


@dataclass(frozen=True, slots=True)
class _Told:
    """What was told last of an entity: `cup`, `dirty`, on or in which number, in which room."""

    class_name: str
    states: str = ""
    holder: str = ""
    room: str = ""
    is_held: bool = False


class ShortDialogue:
    """The user turns of one dialogue in the short wording; it keeps what they have told."""

    def __init__(self, instruction: str, entities: Iterable[str]) -> None:
        """`entities` are the lines of `entity_line` at the start."""
        self._task = f"Task: {instruction}"
        self._nouns = nouns_of(instruction)
        self._names_things = any(noun.objects for noun in filter(_is_sure, self._nouns))
        self._parts = _parts_of(instruction)
        self._told: dict[str, _Told] = {}
        # In the course of the dialogue.
        self._put: set[str] = set()
        self._changed: set[str] = set()
        self._seen: set[str] = set()
        for line in entities:
            if (found := _ENTITY.fullmatch(line)) is not None:
                self._told[found[1]] = _read(found[2], room=found[3] or "")
        furniture = default_catalogue().furniture
        # In their order.
        self._furniture = {n: None for n, one in self._told.items() if one.class_name in furniture}

    def opening(self, verbs: Sequence[str], *, may_ask: bool = False) -> str:
        """The first one: the house by rooms, actions, the task and what its words may mean."""
        rooms: dict[str, list[str]] = {}
        for number in self._told:
            if number in self._furniture or not self._names_things:
                rooms.setdefault(self._room(number) or _NOWHERE, []).append(self._named(number))
        lines = [f"{room}: {', '.join(things)}" for room, things in rooms.items()]
        actions = ", ".join([*verbs, "Ask"] if may_ask else verbs)
        meant = [*self._meant(self._nouns), *self._sources(self._parts)]
        return "\n".join([*lines, f"Actions: {actions}", self._task, *meant])

    def result(self, result: str, deltas: Iterable[str]) -> str:
        """The next one: `Ok.`, then `tea cup: cup_149 at desk_104 in kitchen_0`."""
        if result.startswith(SUCCESS_TEXT):
            result = f"{_SHORT_SUCCESS}{_OF_HANDS.sub('', result.removeprefix(SUCCESS_TEXT))}"
        held, changed = self._held(), set(self._changed)
        changes = [line for each in deltas if (line := self._change(each))]
        now = self._held()
        self._put = (self._put | held) - now
        if now - held:
            changes += self._part_of(now - held)
        elif held - now and not now:
            changes += self._left()
        elif held - now or self._changed - changed:
            changes += self._part_of(now or self._changed - changed)
        return "\n".join([result, *changes])

    def _part_of(self, numbers: Collection[str]) -> Iterable[str]:
        """The parts of the task that name some entities, and where those may go."""
        found = self._naming(numbers)
        yield f"Task: {' '.join(part.text for part in found)}" if found else self._task
        nouns = dict.fromkeys(noun for part in found for noun in part.nouns if noun.furniture)
        targets = {number for part in found for number in self._targets(part, numbers)}
        yield from self._meant(nouns, among=targets)
        yield from self._sources(part for part in found if not self._is_changed(part))

    def _sources(self, parts: Iterable[_Part]) -> Iterable[str]:
        """Where there is what some parts of the task need, such as a faucet to fill at."""
        for what, need in {each.what: each for part in parts for each in part.needs}.items():
            if found := self._fit(need):
                yield f"{what}: {', '.join(map(self._placed, found))}"

    def _fit(self, need: Condition) -> list[str]:
        known = default_catalogue().furniture
        classes = {number: self._told[number].class_name for number in self._furniture}
        return [n for n, name in classes.items() if need.is_kind(name, known[name].affordances)]

    def _is_changed(self, part: _Part) -> bool:
        return any(self._is_all(n, self._changed) for n in part.nouns if n.objects)

    def _naming(self, numbers: Collection[str]) -> list[_Part]:
        classes = [self._told[number].class_name for number in numbers if number in self._told]
        return [
            part
            for part in self._parts
            if any(noun.means(name) for noun in part.nouns for name in classes)
        ]

    def _left(self) -> Iterable[str]:
        """The parts of the task with something that was not handled yet, and where that is."""
        parts = [part for part in self._parts if self._is_left(part)]
        yield f"{_LEFT} {' '.join(part.text for part in parts)}" if parts else _NOTHING_LEFT
        things = self._told.keys() - self._furniture.keys()
        yield from self._meant(self._unhandled() if parts else (), among=things)

    def _unhandled(self) -> list[Token]:
        """The things of the task that are not yet where their part says, or as it says."""
        things = [(noun, self._handled(part)) for part in self._parts for noun in part.things]
        return [*dict.fromkeys(noun for noun, done in things if not self._is_all(noun, done))]

    def _is_left(self, part: _Part) -> bool:
        wanted = part.things or [noun for noun in part.nouns if _is_sure(noun)]
        is_to_do = bool(part.needs) and bool(wanted) and not self._is_changed(part)
        return is_to_do or not all(self._is_all(noun, self._handled(part)) for noun in wanted)

    def _handled(self, part: _Part) -> set[str]:
        """What was put down on furniture of a part, if it names some, or changed.

        A thing that alone is to be put somewhere is not handled by a change.
        """
        places = {n for noun in part.nouns for n in self._known(noun) if n in self._furniture}
        found = {n for n in self._put if not places or places & {*self._holders(n)}}
        is_alone = places and len(part.things) == 1 and _MOVING.search(part.text)
        return found if is_alone else found | self._changed

    def _is_all(self, noun: Token, done: Collection[str]) -> bool:
        """Whether as many as a noun means are among some entities."""
        known = set(self._known(noun))
        most = 1 if not (noun.plural and noun.objects) else noun.count or max(len(known), 2)
        return len(known.intersection(done)) >= most

    @property
    def is_all_seen(self) -> bool:
        """Whether as much was told as the task's nouns ask for: of a plural, two at least."""
        things = (noun for noun in self._nouns if noun.objects and _is_sure(noun))
        return all(len(self._known(n)) >= max(n.count, 1 + n.plural) for n in things)

    def usable(self, words: Words) -> Words:
        """Without things that no noun of the task may mean; all, where it names no things.

        While something is held, only the furniture of the parts of the task that name it; when all
        was seen, only that of the task, and where its things are.
        """
        if not self._names_things:
            return words
        goals = set(map(self._class_and_number, self._goals()))
        furniture = tuple(word for word in words.furniture if word in goals)
        meant = {self._class_and_number(n) for noun in self._nouns for n in self._known(noun)}
        objects, holders = (
            tuple(word for word in level if word in meant)
            for level in (words.objects, words.holders)
        )
        furniture = furniture or words.furniture
        return replace(words, objects=objects, furniture=furniture, holders=holders)

    def _goals(self) -> Iterable[str]:
        """The furniture to which the agent may have to go now; none = any."""
        held = self._held()
        if not held:
            if self.is_all_seen:
                yield from self._goals_of_free_hands()
            return
        parts = self._naming(held)
        goals = [number for part in parts for number in self._targets(part, held)]
        open_parts = [part for part in parts if not self._is_changed(part)]
        sources = [n for part in open_parts for each in part.needs for n in self._fit(each)]
        # What is to be filled is brought there first.
        is_first = sources and all(len(part.things) == 1 for part in parts)
        yield from (*sources, *(() if is_first else goals))

    def _targets(self, part: _Part, numbers: Collection[str]) -> list[str]:
        """Where a part wants some entities: what it says behind them, else all that it names."""
        names = {self._told[number].class_name for number in numbers if number in self._told}
        of_them = [e for e in part.errands if any(n.means(c) for n in e.things for c in names)]
        places = [place for errand in of_them for place in errand.wanted()]
        told = [(number, self._told[number].class_name) for number in self._furniture]
        found = [n for n, name in told if any(p.fits(name, self._room(n)) for p in places)]
        meant = [number for noun in part.nouns for number in self._known(noun)]
        return found or [number for number in meant if number in self._furniture]

    def _goals_of_free_hands(self) -> Iterable[str]:
        """The furniture that a task is itself about, and where its things are."""
        for part in self._parts:
            meant = [number for noun in part.nouns for number in self._known(noun)]
            yield from (each for number in meant for each in self._holders(number))
            is_changing = any(_is_said(skill, part.text) for skill in default_state_skills())
            if is_changing or not (part.things and _MOVING.search(part.text)):
                yield from (number for number in meant if number in self._furniture)

    def relations(self) -> tuple[Relation, ...]:
        """How what is held may be put down: within furniture, if it is said of all that is named.

        A thing that is brought to a faucet first may stand on it.
        """
        parts = self._naming(self._held())
        words = [n.text for part in parts for n in part.nouns if n.furniture and not n.objects]
        text = " ".join(part.text for part in parts).lower()
        is_inside = [re.search(f"{_INSIDE}{w}", text) is not None for w in words]
        is_from = [re.search(f"from (?:the|an?) {w}", text) is not None for w in words]
        is_all = any(is_inside) and all(map(max, is_inside, is_from))
        is_to_do = any(part.needs and not self._is_changed(part) for part in parts)
        return (Relation.WITHIN,) if is_all and not is_to_do else PUT_DOWN

    def needless(self) -> Iterable[SkillCall]:
        """Calls that do not serve the task.

        Handling what was put down for the only part of it that names that; closing, and changing
        states, if it says nothing of this; switching back; the end, while it names something that
        is known and was not handled.
        """
        for number in self._put:
            parts = self._naming([number])
            is_done = number in self._changed or not any(part.needs for part in parts)
            if is_done and len(parts) == 1 and number in self._handled(parts[0]):
                word = self._class_and_number(number)
                yield SkillCall(SkillName.PICK, (word,))
                yield SkillCall(SkillName.NAVIGATE, (word,))
        if not _CLOSING.search(self._task):
            for number in self._furniture:
                yield SkillCall(SkillName.CLOSE, (self._class_and_number(number),))
        skills = default_state_skills().items()
        is_sure = self._names_things
        unasked = [s.name for name, s in skills if is_sure and not _is_said(name, self._task)]
        yield from (
            SkillCall(name, (self._class_and_number(number),))
            for names, numbers in ((unasked, self._told), (_SWITCHING, self._changed))
            for name in names
            for number in numbers
        )
        needing = (part for part in self._parts if part.needs and not self._is_changed(part))
        left = [*self._unhandled(), *(noun for part in needing for noun in part.things)]
        if any(self._known(noun) for noun in left):
            yield SkillCall(SkillName.DONE)

    def _held(self) -> set[str]:
        return {number for number, one in self._told.items() if one.is_held}

    def call(self, text: str) -> str:
        """A call with numbers, such as `Pick[Object.149]`, as this wording has it."""
        return _OBJECT.sub(lambda found: self._class_and_number(found[1]), text)

    def _change(self, line: str) -> str:
        if (gone := _REMOVAL.fullmatch(line)) is not None:
            name, is_told = self._named(gone[1]), self._is_told(gone[1])
            self._told.pop(gone[1], None)
            return f"no {name}" if is_told else ""
        found = _CHANGE.fullmatch(line)
        if found is None:
            return line
        number, held, text = found.groups()
        before = self._told.get(number)
        is_piece = before is not None and number in self._furniture
        room = before.room if before is not None and is_piece else ""
        self._told[number] = one = _read(text, room=room, is_held=held is not None)
        # What is told of something first is how it was, not what became of it.
        if number in self._seen and before and _lasting(before.states) != _lasting(one.states):
            self._changed.add(number)
        self._seen.add(number)
        if is_piece:
            return self._named(number)
        if not self._is_told(number):
            return ""
        words = [noun.text for noun in self._nouns if noun.means(one.class_name)]
        return f"{' or '.join(words)}: {self._placed(number)}" if words else self._placed(number)

    def _is_told(self, number: str) -> bool:
        if not self._names_things or number in self._furniture:
            return True
        return any(number in self._known(noun) for noun in self._nouns)

    def _meant(
        self, nouns: Iterable[Token], *, among: Collection[str] | None = None
    ) -> Iterable[str]:
        """For each of some nouns of the task, the entities that it may mean, or those of some."""
        for noun in nouns:
            known = self._known(noun)
            shown = [n for n in known if among is None or n in among]
            if shown or (noun.objects and not known and _is_sure(noun)):
                yield f"{noun.text}: {', '.join(self._placed(n) for n in shown) or _UNSEEN}"

    def _known(self, noun: Token) -> list[str]:
        return [n for n, one in self._told.items() if noun.means(one.class_name)]

    def _named(self, number: str) -> str:
        one = self._told.get(number)
        return f"{self._class_and_number(number)} {one.states if one else ''}".rstrip()

    def _class_and_number(self, number: str) -> str:
        one = self._told.get(number)
        return named_by_class(one.class_name if one else UNNAMED_CLASS, number)

    def _placed(self, number: str) -> str:
        one = self._told[number]
        if one.is_held:
            return f"{self._named(number)} in hand"
        at = f" at {self._class_and_number(one.holder)}" if one.holder else ""
        room = self._room(number)
        return f"{self._named(number)}{at}{f' in {room}' if room else ''}"

    def _room(self, number: str) -> str:
        chain = [number, *self._holders(number)]
        return next((room for each in chain if (room := self._told[each].room)), "")

    def _holders(self, number: str) -> list[str]:
        """What an entity is on or in, and what that is on or in, as far as known."""
        passed: list[str] = []
        number = self._told[number].holder if number in self._told else ""
        while number in self._told and number not in passed:
            passed.append(number)
            number = self._told[number].holder
        return passed


@dataclass(frozen=True, slots=True)
class _Part:
    """Sentences of a task, of which the later ones name no thing: "Then put it on the desk.".

    `needs` is what has to be near for what is asked: a faucet to fill something.
    """

    text: str
    nouns: tuple[Token, ...]
    needs: tuple[Condition, ...] = ()
    errands: tuple[Errand, ...] = ()

    @property
    def things(self) -> list[Token]:
        """What is to be handled, but not where: "the cup", not "next to the vase"."""
        text = self.text.lower()
        things = [noun for noun in self.nouns if noun.objects and _is_sure(noun)]
        return [noun for noun in things if not re.search(f"{_WHERE}{noun.text}", text)]


def _parts_of(instruction: str) -> list[_Part]:
    found: list[_Part] = []
    for text in _SENTENCE.split(instruction.strip()):
        nouns = nouns_of(text)
        if found and _REFERS.search(text) and not any(n.objects and _is_sure(n) for n in nouns):
            before = found.pop()
            text, nouns = f"{before.text} {text}", (*before.nouns, *nouns)
        found.append(_Part(text, nouns, tuple(_needs_of(text)), errands_of(text)))
    return found


def _needs_of(text: str) -> Iterable[Condition]:
    for name, skill in default_state_skills().items():
        if _is_said(name, text):
            yield from (*skill.needs.near, *skill.needs.at[-1:])


def _is_said(skill: str, text: str) -> bool:
    """Whether a text has a word for a skill, such as "filled", apart from names as "toaster"."""
    words = _SAID.get(skill, f"(?:re)?{skill}")
    return re.search(rf"\b(?:{words})", _without_names(text)) is not None


@lru_cache(maxsize=64)
def _without_names(text: str) -> str:
    named = "|".join(re.escape(noun.text) for noun in nouns_of(text) if _is_sure(noun))
    return re.sub(rf"\b(?:{named})\b", "thing", text.lower()) if named else text.lower()


def _lasting(states: str) -> set[str]:
    """States but those of doors, which are opened only to look or to reach."""
    return set(states.split()) - {"open", "closed"}


def _is_sure(noun: Token) -> bool:
    """Whether it is a noun, unlike the "set" of "set the table"."""
    return noun.word == NOUN


def _read(text: str, *, room: str = "", is_held: bool = False) -> _Told:
    """From `candle lit with the Object.104`."""
    said = read_description(text)
    holder = str(said.support_id) if said.support_id is not None else ""
    words = text.partition(" with the ")[0] if holder else text
    states = words.split()[len(words_of(said.class_name).split()) :]
    return _Told(said.class_name or UNNAMED_CLASS, " ".join(states), holder, room, is_held)


# Where a sentence wants its things: "the cup onto the desk in the bedroom".

# Before what a thing is put next to, which is itself left where it is.
_BESIDE = frozenset({"at", "by", "beside", "near", "next", "with"})


@dataclass(frozen=True, slots=True)
class Place:
    """Furniture that a noun means, in rooms that another means; either may be missing."""

    furniture: Token | None = None
    room: Token | None = None

    def fits(self, class_name: str, room: str) -> bool:
        """Whether furniture of a class in a room such as `kitchen_0` is meant."""
        is_kind = self.furniture is None or self.furniture.means(class_name)
        return is_kind and (self.room is None or self.room.means_room(room.rpartition("_")[0]))


@dataclass(slots=True)
class Errand:
    """Some things, and the places that are said between them and the next things."""

    things: list[Token] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def add(self, noun: Token, lead: Sequence[str]) -> None:
        """Takes a place; `lead` are the words between it and the noun before."""
        last = self.places[-1] if self.places else None
        if last is not None and not lead and last.furniture is None and noun.furniture:
            # "The kitchen worktop".
            self.places[-1] = replace(last, furniture=noun)
        elif last is not None and lead[:1] in (["in"], ["of"]) and not noun.furniture:
            self.places[-1] = replace(last, room=noun)
        elif "from" not in lead:
            self.places.append(Place(noun) if noun.furniture else Place(room=noun))

    def wanted(self) -> list[Place]:
        """Its places; rooms alone only where no furniture is said."""
        return [place for place in self.places if place.furniture] or self.places


def errands_of(text: str) -> tuple[Errand, ...]:
    """The errands of a sentence, in their order."""
    found, lead = [Errand()], list[str]()
    for token in split_tokens(text):
        if not (token.word == NOUN and token.is_noun):
            lead.append(token.text)
            continue
        if token.objects and not _BESIDE & {*lead[-3:]}:
            if found[-1].places:
                found.append(Errand())
            found[-1].things.append(token)
        elif token.furniture or token.rooms:
            found[-1].add(token, lead)
        lead = []
    return tuple(found)
