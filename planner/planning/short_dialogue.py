"""The short wording of the numbered dialogue, for small models.

What a tuned model needs no telling is left out, and a thing is called by its class and number, so
that a call has the words of the task in it. The task is read once, by its words alone, into errands
in their order; told are only those of the step that is to be done now, each with what it may be
about as far as known, and then, with something in the hand, with where that may go. What no errand
may mean is not told, unless the task is not understood. It is made of the paper's lines, so that
recorded traces can be told in it too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from planner.language.goal_form import Description, Goal, Make, Mention, Move, OneOf
from planner.language.goal_form import Place as Placing
from planner.language.interpretation import interpret
from planner.language.lexicon import Actor, Amount
from planner.language.lexicon import Relation as Said
from planner.memory.wording import read_description, words_of
from planner.models.replies.turn import DONE, PUT_DOWN, Words
from planner.planning.learned.tokens import UNKNOWN, Token, split_tokens
from planner.planning.planner_model import Moment
from planner.world.belief import UNNAMED_CLASS, named_by_class
from planner.world.catalogue import FurnitureClass, default_catalogue
from planner.world.skill import SUCCESS_TEXT, SkillCall, SkillName
from planner.world.states import (
    Condition,
    StateSkill,
    default_state_skills,
    default_states,
    skills_that_make,
)
from planner.world.vocabulary import Relation

SHORT_SYSTEM = "You plan what a robot does in a house. Answer with its next call."
_SHORT_SUCCESS, _NOWHERE, _UNSEEN, _NOTHING_LEFT = "Ok.", "elsewhere", "not seen", "Nothing left."
_OPEN, _CLOSED = "open", "closed"
_GOING = (SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE)
_VERBS = (*_GOING, SkillName.PICK, SkillName.OPEN, SkillName.CLOSE)
# Pieces of a room that are looked at before doors are opened there: from each, much is seen.
_LOOKS = 2
_SEVERAL = {Amount.ALL: 2, Amount.SOME: 2, Amount.FEW: 3}
_ENTITY = re.compile(r"Object\.(\d+): (.*?)(?: in (\S+))?")
_CHANGE = re.compile(r"(?:Add|Update) Object\.(\d+)( \(picked\))?: (.*)")
_OBJECT = re.compile(r"\bObject\.(\d+)\b")
_REMOVAL = re.compile(r"Remove Object\.(\d+)")
# What a result says of hands, and the changes as well.
_OF_HANDS = re.compile(r" (?:\S+ is in|Now) the (?:left|right) hand(?: is free)?\.")


# What a task asks for, by its words.


@dataclass(frozen=True, slots=True)
class Place:
    """Furniture that a noun means, in rooms that another means; either may be missing."""

    furniture: Token | None = None
    room: Token | None = None

    def fits(self, class_name: str, room: str) -> bool:
        """Whether furniture of a class in a room such as `kitchen_0` is meant."""
        is_kind = self.furniture is None or self.furniture.means(class_name)
        return is_kind and (self.room is None or self.room.means_room(room.rpartition("_")[0]))

    def __str__(self) -> str:
        return " in ".join(noun.text for noun in (self.furniture, self.room) if noun is not None)


@dataclass(frozen=True, slots=True)
class Errand:
    """Things of one kind, and what shall become of them, after all errands of earlier steps.

    Attributes:
        most, every: how many of the things, or that at least.
        sources: where the things are at first; () = anywhere.
        again: whether they are those of an earlier errand, if there is one about such things.
        states: which they shall have, with the values.
        places, relations, beside: where they shall go; () and no states = anywhere else.
        one_place: what else goes to the same one of the places: "put them into a cabinet".
    """

    step: int
    noun: Token
    most: int = 1
    every: bool = False
    sources: tuple[Place, ...] = ()
    again: bool = True
    states: tuple[tuple[str, bool], ...] = ()
    places: tuple[Place, ...] = ()
    relations: tuple[Relation, ...] = PUT_DOWN
    beside: tuple[Token, ...] = ()
    one_place: tuple[Token, ...] = ()

    @property
    def skill(self) -> StateSkill | None:
        """The skill that gives the first of its states."""
        for state, value in self.states[:1]:
            return next(iter(skills_that_make(state, value=value)), None)
        return None

    @property
    def verb(self) -> str:
        """The name of the call that does it to a thing; "" = it is put somewhere."""
        if self.states and self.states[0][0] == _OPEN:
            return SkillName.OPEN if self.states[0][1] else SkillName.CLOSE
        return self.skill.name if self.skill is not None else ""

    @property
    def needs(self) -> tuple[Condition, ...]:
        """What has to be near, or what a thing has to be on or in, to be changed."""
        skill = self.skill
        return (*skill.needs.near, *skill.needs.at[-1:]) if skill is not None else ()

    def __str__(self) -> str:
        count = "all " if self.every else f"{self.most} " if self.most > 1 else ""
        verb = re.sub("(?<=[a-z])(?=[A-Z])", " ", self.verb).lower() or "put"
        where = [f"at {place}" for place in self.sources]
        if not self.verb:
            way = self.relations[0] if len(self.relations) == 1 else "at"
            way = way if any(place.furniture for place in self.places) else "in"
            where = [f"{way} {' or '.join(map(str, self.places))}"] if self.places else []
            where += [f"next to {noun.text}" for noun in self.beside]
        return " ".join([verb, f"{count}{self.noun.text}", *where])


def errands_of(instruction: str) -> tuple[Errand, ...]:
    """The errands of an instruction in their order; () where it is not understood."""
    goal = interpret(instruction)
    if not isinstance(goal, Goal):
        return ()
    labels: dict[str, Description] = {}
    steps = [*goal.steps, goal.any_time]
    found = [
        errand
        for step, requests in enumerate(steps)
        for request in requests
        if isinstance(request, Make | Move) and request.who is not Actor.SPEAKER
        for thing in request.things
        for errand in _errand(step, request, thing, labels)
    ]
    return tuple(found)


def _errand(
    step: int, request: Make | Move, phrase: object, labels: dict[str, Description]
) -> Iterator[Errand]:
    thing = _described(phrase, labels)
    if thing is None:
        return
    made = Errand(
        step,
        _noun(str(thing.kind)),
        most=thing.count if isinstance(thing.count, int) else _SEVERAL[thing.count],
        every=isinstance(thing.count, Amount),
        sources=tuple(_places(thing.where, labels)),
        again=(thing.definite or isinstance(phrase, Mention)) and not thing.other_than,
    )
    if isinstance(request, Make):
        for word in request.states:
            state = default_states().by_word().get(word, (_OPEN, word == _OPEN))
            yield replace(made, states=(state,))
        return
    places = tuple(_places(request.to, labels))
    anchors = [(place.relation, _described(place.anchor, labels)) for place in request.to]
    beside = [_noun(str(a.kind)) for relation, a in anchors if a and relation is Said.NEXT_TO]
    beside = [noun for noun in beside if noun.objects]
    ways = {Said.ON_TOP: (Relation.ON,), Said.IN: (Relation.WITHIN,)}
    relation = request.to[0].relation if request.to else Said.AT
    is_one = any(a and not (a.definite or a.each) and a.count == 1 for _, a in anchors)
    things = [each for thing in request.things if (each := _described(thing, labels))]
    same = tuple(_noun(str(each.kind)) for each in things) if is_one else ()
    is_room = bool(places) and places[0].furniture is None
    way = (Relation.ON,) if is_room else ways.get(relation, PUT_DOWN)
    yield replace(made, places=places, relations=way, beside=tuple(beside), one_place=same)


def _described(phrase: object, labels: dict[str, Description]) -> Description | None:
    if isinstance(phrase, OneOf):
        return _described(phrase.one_of[0], labels)
    if isinstance(phrase, Mention):
        return labels.get(phrase.label)
    if not isinstance(phrase, Description):
        return None
    labels[phrase.label or ""] = phrase
    return phrase


def _places(where: Iterable[Placing], labels: dict[str, Description]) -> Iterator[Place]:
    """The furniture and rooms of some places."""
    for place in where:
        anchor = _described(place.anchor, labels)
        noun = _noun(str(anchor.kind)) if anchor is not None else None
        if noun is None or anchor is None:
            continue
        if noun.furniture:
            rooms = [each.room for each in _places(anchor.where, labels) if each.room]
            yield Place(noun, next(iter(rooms), None))
        elif noun.rooms:
            yield Place(room=noun)


def _noun(kind: str) -> Token:
    nouns = [token for token in split_tokens(kind) if token.is_noun]
    return nouns[-1] if nouns else Token(kind, UNKNOWN, open=True)


# What was told.

# Names of calls with what they are of.
_Calls = set[tuple[str, str]]


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
        self._errands = errands_of(instruction)
        self._told: dict[str, _Told] = {}
        # In the course of the dialogue.
        self._first: dict[str, _Told] = {}
        self._put: set[str] = set()
        self._changed: set[str] = set()
        self._lines: dict[Errand, str] = {}
        self._offer = _Calls()
        for line in entities:
            if (found := _ENTITY.fullmatch(line)) is not None:
                self._told[found[1]] = _read(found[2], room=found[3] or "")
        furniture = default_catalogue().furniture
        # In their order.
        self._furniture = {n: None for n, one in self._told.items() if one.class_name in furniture}
        self._first |= {n: one for n, one in self._told.items() if n not in self._furniture}

    def opening(self, verbs: Sequence[str], *, may_ask: bool = False) -> str:
        """The first one: the house by rooms, actions, the task and what is to be done first."""
        rooms: dict[str, list[str]] = {}
        for number in self._told:
            if number in self._furniture or not self._errands:
                rooms.setdefault(self._room(number) or _NOWHERE, []).append(self._named(number))
        lines = [f"{room}: {', '.join(things)}" for room, things in rooms.items()]
        actions = ", ".join([*verbs, "Ask"] if may_ask else verbs)
        return "\n".join([*lines, f"Actions: {actions}", self._task, *self._news(is_new=True)])

    def result(self, result: str, deltas: Iterable[str]) -> str:
        """The next one: `Ok.`, then `put tea cup on desk: cup_149 at desk_104 in kitchen_0`."""
        if result.startswith(SUCCESS_TEXT):
            result = f"{_SHORT_SUCCESS}{_OF_HANDS.sub('', result.removeprefix(SUCCESS_TEXT))}"
        held, changed, now = self._held(), set(self._changed), self._now()
        changes = [line for each in deltas if (line := self._change(each))]
        self._put = (self._put | held) - self._held()
        is_new = (held, changed, now) != (self._held(), self._changed, self._now())
        return "\n".join([result, *changes, *self._news(is_new=is_new)])

    def _news(self, *, is_new: bool) -> Iterator[str]:
        """What is to be done now: all of it, or only what is told otherwise than before."""
        now, held = self._now(), self._held()
        mine = [errand for errand in now if held.intersection(self._todo(errand))]
        lines = {errand: self._line(errand) for errand in mine or (() if held else now)}
        yield from (line for e, line in lines.items() if is_new or line != self._lines.get(e))
        self._lines |= lines
        if is_new and not mine:
            yield from map(self._placed, sorted(held))
        if is_new and self._errands and not now and not held:
            yield _NOTHING_LEFT

    def _line(self, errand: Errand) -> str:
        """`put tea cup on desk: cup_149 in hand, desk_104 in kitchen_0`."""
        todo = self._todo(errand)
        held = [number for number in todo if number in self._held()]
        shown = [*held, *self._goals(errand)] if held else todo
        return f"{errand}: {', '.join(map(self._placed, shown)) or _UNSEEN}"

    # What is to be done, by what was told.

    def _now(self) -> tuple[Errand, ...]:
        """The errands of the first step of which some is not done."""
        left = [errand for errand in self._errands if not self._is_done(errand)]
        return tuple(errand for errand in left if errand.step == left[0].step)

    def _is_done(self, errand: Errand) -> bool:
        done = [n for n in self._candidates(errand) if self._is_so(errand, n)]
        known = len(self._candidates(errand)) if errand.every else 0
        return len(done) >= max(errand.most, known)

    def _is_so(self, errand: Errand, number: str) -> bool:
        """Whether something is as an errand wants it."""
        one = self._told[number]
        if errand.states:
            is_seen = number not in self._furniture or number in self._changed
            return all(_has(one.states, s, value=v, is_seen=is_seen) for s, v in errand.states)
        if one.is_held or ((errand.beside or not errand.places) and number not in self._put):
            return False
        return not errand.places or self._is_at(number, errand.places)

    def _is_at(self, number: str, places: Iterable[Place], first: _Told | None = None) -> bool:
        """Whether something is, or was at first, at one of some places."""
        holder = (first or self._told[number]).holder
        return self._is_meant(holder if holder in self._told else number, places)

    def _candidates(self, errand: Errand) -> list[str]:
        """What an errand may be about, as far as known."""
        known = [n for n, one in self._told.items() if errand.noun.means(one.class_name)]
        if errand.noun.objects and any(n not in self._furniture for n in known):
            known = [n for n in known if n not in self._furniture]
        first, where = self._first, errand.sources
        known = [n for n in known if not where or self._is_at(n, where, first.get(n))]
        for other in self._errands:
            if other.step >= errand.step or not errand.again or other.noun != errand.noun:
                continue
            same = [n for n in self._candidates(other) if n in known and self._is_so(other, n)]
            known = same if len(same) >= errand.most else known
        return known

    def _todo(self, errand: Errand) -> list[str]:
        """The things of an errand with which something is still to be done."""
        if self._is_done(errand):
            return []
        others = () if errand.states else (o for o in self._errands if o.step == errand.step)
        moves = [o for o in others if o is not errand and not o.states]
        taken = {n for o in moves for n in self._candidates(o) if self._is_so(o, n)}
        known = (n for n in self._candidates(errand) if n not in taken)
        return [n for n in known if not self._is_so(errand, n)]

    def _goals(self, errand: Errand) -> list[str]:
        """The furniture to which the things of an errand are to be brought; [] = there is none."""
        told = self._kinds()
        if errand.states:
            kinds = [need.is_kind for need in errand.needs]
            return [n for n, c in told.items() if any(fit(c.name, c.affordances) for fit in kinds)]
        holding = [number for number, cls in told.items() if _takes(cls, PUT_DOWN)]
        fits = [n for n in holding if self._is_meant(n, errand.places)]
        fits = [n for n in fits if _takes(told[n], errand.relations)] or fits
        used = {self._told[n].holder for noun in errand.one_place for n in self._known(noun)}
        put = {self._told[n].holder for n in self._put if n in self._told}
        fits = [n for n in fits if n in used & put] or fits
        anywhere = [replace(place, room=None) for place in errand.places if place.furniture]
        beside = {each for noun in errand.beside for n in self._known(noun) for each in self._up(n)}
        fits = fits or [n for n in holding if self._is_meant(n, anywhere) or n in beside]
        return fits or ([] if errand.places else holding)

    def _left(self, errand: Errand, number: str, moment: Moment) -> list[str]:
        """The goals of one thing without those on or in which it had no room."""
        full = {piece for thing, piece in moment.cramped if thing == self._word(number)}
        return [goal for goal in self._goals(errand) if self._word(goal) not in full]

    def _kinds(self) -> dict[str, FurnitureClass]:
        """All furniture with its class."""
        known = default_catalogue().furniture
        return {number: known[self._told[number].class_name] for number in self._furniture}

    def _is_meant(self, number: str, places: Iterable[Place]) -> bool:
        name, room = self._told[number].class_name, self._room(number)
        return any(place.fits(name, room) for place in places)

    def _known(self, noun: Token) -> list[str]:
        return [n for n, one in self._told.items() if noun.means(one.class_name)]

    # What is offered of it.

    def _take_in(self, moment: Moment) -> None:
        """Finds what is offered at a moment."""
        self._offer = set()
        held = {number for number in self._held() if self._word(number) in moment.held}
        left = [errand for errand in self._errands if not self._is_done(errand)]
        found = self._of_held(self._now(), held, moment) if held else _Calls()
        # What cannot be found keeps nothing else from being done.
        for step in dict.fromkeys(errand.step for errand in left if not held):
            # A room without furniture has no place for what shall go there.
            now = [e for e in left if e.step == step and (e.states or self._goals(e))]
            if now and (found := self._of_free_hands(now, moment)):
                break
        # Where it has gone to it does something before it goes on.
        self._offer = {one for one in found if self._is_here(*one, moment.at)} or {
            (verb, number) for verb, number in found if verb in _GOING
        }

    def _is_here(self, verb: str, number: str, at: str) -> bool:
        """Whether it is done to what the agent has gone to, or with what it holds."""
        if verb in _GOING:
            return False
        one, there = self._told[number], self._stands(at)
        return one.is_held or number in there or (one.holder != "" and at == self._word(one.holder))

    def _stands(self, at: str) -> set[str]:
        """Where an agent is that has gone somewhere: there, and what that is on or in."""
        return {at.rpartition("_")[2], *self._up(at.rpartition("_")[2])}

    def _of_held(self, now: Sequence[Errand], held: Collection[str], moment: Moment) -> _Calls:
        """What is held is changed where it can be, else brought to where it goes and put down."""
        found = _Calls()
        for errand, number in ((e, n) for e in now for n in held if n in self._todo(e)):
            goals = self._left(errand, number, moment)
            found |= {(SkillName.NAVIGATE, goal) for goal in goals}
            if errand.states and not (goals and errand.skill and errand.skill.needs.at):
                is_here = not errand.needs or self._stands(moment.at) & {*goals}
                found |= {(errand.verb, number)} if is_here else set()
                continue
            within = errand.relations == (Relation.WITHIN,)
            shut = {goal for goal in goals if self._word(goal) in moment.shut and within}
            found |= {(SkillName.OPEN, goal) for goal in shut}
            found |= {(SkillName.PLACE, goal) for goal in goals if goal not in shut}
            found |= {(SkillName.NAVIGATE, n) for noun in errand.beside for n in self._known(noun)}
        return found or self._put_away(held, moment)

    def _put_away(self, held: Collection[str], moment: Moment) -> _Calls:
        """What is held for nothing, or for later, is put down in the room where the agent is."""
        flat = [n for n, cls in self._kinds().items() if _takes(cls, (Relation.ON,))]
        words = [*map(self._word, held)]
        free = [n for n in flat if any((w, self._word(n)) not in moment.cramped for w in words)]
        room = self._room(moment.at.rpartition("_")[2])
        near = [n for n in free if self._room(n) == room] or free
        return {(verb, n) for verb in (SkillName.NAVIGATE, SkillName.PLACE) for n in near}

    def _of_free_hands(self, now: Sequence[Errand], moment: Moment) -> _Calls:
        """What is known is gone to and handled; if nothing is, what is missing is looked for."""
        found = _Calls()
        for errand, number in ((e, n) for e in now for n in self._todo(e)):
            goals, holder = self._left(errand, number, moment), self._told[number].holder
            if self._told[number].is_held or not (goals or errand.states):
                continue
            found.add((SkillName.NAVIGATE, number))
            is_there = errand.states and (not errand.needs or self._stands(moment.at) & {*goals})
            found.add((errand.verb, number) if is_there else (SkillName.PICK, number))
            if holder and self._word(holder) in moment.shut:
                found |= {(SkillName.NAVIGATE, holder), (SkillName.OPEN, holder)}
        if found:
            return found
        places = [place for errand in now for place in errand.sources]
        return self._searches(places, moment) or self._searches([], moment)

    def _searches(self, places: Sequence[Place], moment: Moment) -> _Calls:
        """Furniture that was not looked at, in the rooms where least was; then closed doors."""
        pieces = [n for n in self._furniture if not places or self._is_meant(n, places)]
        shut = [n for n in pieces if self._word(n) in moment.shut]
        left = [n for n in pieces if self._word(n) not in moment.explored and n not in shut]
        rooms = [self._room(n) for n in self._furniture if self._word(n) in moment.explored]
        least = min((rooms.count(self._room(n)) for n in left), default=_LOOKS)
        first = [n for n in left if rooms.count(self._room(n)) == least]
        found: _Calls = {(SkillName.EXPLORE_FURNITURE, number) for number in first}
        if least >= _LOOKS:
            for number in shut:
                found |= {(SkillName.NAVIGATE, number), (SkillName.OPEN, number)}
        return found

    def usable(self, words: Words) -> Words:
        """The words of what is offered; all, where the task is not understood."""
        if not self._errands:
            return words
        beside = [n for e in self._now() for noun in e.beside for n in self._known(noun)]
        used = {number for _, number in self._offer} | self._held() | {*beside}
        kept = set(map(self._word, used))
        levels = (words.objects, words.furniture, words.holders)
        objects, furniture, holders = (tuple(w for w in level if w in kept) for level in levels)
        return replace(words, objects=objects, furniture=furniture, holders=holders)

    def relations(self) -> tuple[Relation, ...]:
        """How what is held may be put down; what is held for nothing, on something."""
        held, now = self._held(), self._now()
        ways = {errand.relations for errand in now if held.intersection(self._todo(errand))}
        ways = ways or ({(Relation.ON,)} if held and self._errands else ways)
        return ways.pop() if len(ways) == 1 else PUT_DOWN

    def needless(self, moment: Moment) -> Iterable[SkillCall]:
        """Calls that do not serve what is to be done at a moment; `usable` is of that, too.

        Nothing ends with something in the hand, or while something is left that can be done.
        """
        self._take_in(moment)
        is_left = self._offer if self._errands else not moment.may_end
        if is_left or moment.held:
            yield SkillCall(SkillName.DONE)
        for number in self._told if self._errands else ():
            word = self._word(number)
            for verb in (*_VERBS, *(skill.name for skill in default_state_skills().values())):
                if (verb, number) not in self._offer:
                    yield SkillCall(verb, (word,))
            if (SkillName.PLACE, number) not in self._offer:
                yield SkillCall(SkillName.PLACE, (None, None, word))

    def only_call(self) -> str:
        """What is offered, if it is one call: nothing is left to choose; "" = there is more."""
        held, ways = [*map(self._word, self._held())], self.relations()
        for verb, number in self._offer if len(self._offer) == 1 else ():
            if verb != SkillName.PLACE:
                return f"{verb}[{self._word(number)}]"
            if len(held) == len(ways) == 1 and not any(each.beside for each in self._now()):
                return f"{verb}[{held[0]}, {ways[0]}, {self._word(number)}, None, None]"
        return str(DONE) if self._errands and not self._offer else ""

    # Reading and writing.

    def _held(self) -> set[str]:
        return {number for number, one in self._told.items() if one.is_held}

    def call(self, text: str) -> str:
        """A call with numbers, such as `Pick[Object.149]`, as this wording has it."""
        return _OBJECT.sub(lambda found: self._word(found[1]), text)

    def _change(self, line: str) -> str:
        if (gone := _REMOVAL.fullmatch(line)) is not None:
            name = self._named(gone[1])
            self._told.pop(gone[1], None)
            return "" if self._errands else f"no {name}"
        found = _CHANGE.fullmatch(line)
        if found is None:
            return line
        number, held, text = found.groups()
        before = self._told.get(number)
        is_piece = before is not None and number in self._furniture
        room = before.room if before is not None and is_piece else ""
        self._told[number] = one = _read(text, room=room, is_held=held is not None)
        # What is told of something first is how it was, not what became of it.
        is_other = before is not None and _lasting(before.states) != _lasting(one.states)
        if (number in self._first and is_other) or (is_piece and before == one):
            self._changed.add(number)
        self._first.setdefault(number, one)
        if is_piece:
            return self._named(number)
        return "" if self._errands else self._placed(number)

    def _named(self, number: str) -> str:
        one = self._told.get(number)
        return f"{self._word(number)} {one.states if one else ''}".rstrip()

    def _word(self, number: str) -> str:
        one = self._told.get(number)
        return named_by_class(one.class_name if one else UNNAMED_CLASS, number)

    def _placed(self, number: str) -> str:
        one = self._told[number]
        if one.is_held:
            return f"{self._named(number)} in hand"
        at = f" at {self._word(one.holder)}" if one.holder else ""
        room = self._room(number)
        return f"{self._named(number)}{at}{f' in {room}' if room else ''}"

    def _room(self, number: str) -> str:
        chain = [n for n in (number, *self._up(number)) if n in self._told]
        return next((room for each in chain if (room := self._told[each].room)), "")

    def _up(self, number: str) -> list[str]:
        """What an entity is on or in, and what that is on or in, as far as known."""
        passed: list[str] = []
        number = self._told[number].holder if number in self._told else ""
        while number in self._told and number not in passed:
            passed.append(number)
            number = self._told[number].holder
        return passed


def _takes(cls: FurnitureClass, ways: Collection[Relation]) -> bool:
    """Whether furniture of a class has where something can be put in one of these ways."""
    parts = ((Relation.ON, cls.surfaces), (Relation.WITHIN, cls.interiors))
    return any(way in ways and part for way, part in parts)


def _has(states: str, state: str, *, value: bool, is_seen: bool) -> bool:
    """Whether something has a state, by the words told of it; usual ones are not told."""
    if state == _OPEN:
        return (_OPEN in states.split()) is value
    table = default_states()
    if table.usual(state) is value:
        return is_seen and table.word(state, value=not value) not in states
    return table.word(state, value=value) in states


def _lasting(states: str) -> set[str]:
    """States but those of doors, which are opened only to look or to reach."""
    return set(states.split()) - {_OPEN, _CLOSED}


def _read(text: str, *, room: str = "", is_held: bool = False) -> _Told:
    """From `candle lit with the Object.104`."""
    said = read_description(text)
    holder = str(said.support_id) if said.support_id is not None else ""
    words = text.partition(" with the ")[0] if holder else text
    states = words.split()[len(words_of(said.class_name).split()) :]
    return _Told(said.class_name or UNNAMED_CLASS, " ".join(states), holder, room, is_held)
