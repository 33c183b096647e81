"""The arena, and commands of the competition's classes over it with the goals that they mean."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import Field, model_validator

from planner.language.goal_form import THEN, Goal
from planner.language.lexicon import Kind, Relation, plural_of, resting_relations
from planner.world.catalogue import default_word_meanings
from planner.world.files import FileModel, read_model
from planner.world.house import House
from planner.world.shapes import Color
from planner.world.share import config_dir

# An arena: the rooms, furniture, things and names that commands speak of.

SHIPPED = config_dir() / "arena.yaml"
Name = Annotated[str, Field(pattern=r"^[A-Z][a-z]{1,30}$")]


class Arena(FileModel):
    """What can be named in commands; every word is of the catalogue.

    Attributes:
        rooms: with furniture that is there once.
        things: kinds of things by a word for all of them.
        names: of people.
    """

    rooms: Mapping[Kind, tuple[Kind, ...]] = Field(min_length=2)
    things: Mapping[Kind, tuple[Kind, ...]] = Field(min_length=1)
    names: tuple[Name, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _suffices(self) -> Self:
        if len(self.surfaces) < 2:
            raise ValueError("rooms: expected two pieces of furniture on which things can lie")
        twice = [word for word, times in Counter(self.furniture).items() if times > 1]
        if twice:
            raise ValueError(f"rooms: {twice[0]!r} is there twice")
        for word, kinds in self.things.items():
            if wrong := [kind for kind in kinds if not _is_of(word, kind)]:
                raise ValueError(f"things.{word}: {wrong[0]!r} is none")
            if not kinds:
                raise ValueError(f"things.{word}: expected at least one kind")
        return self

    @property
    def furniture(self) -> tuple[str, ...]:
        """All of it."""
        return tuple(piece for pieces in self.rooms.values() for piece in pieces)

    @property
    def surfaces(self) -> tuple[str, ...]:
        """Furniture on which things can lie."""
        return tuple(p for p in self.furniture if Relation.ON_TOP in resting_relations(p))

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds of things."""
        return tuple(kind for kinds in self.things.values() for kind in kinds)


def read_arena(path: Path = SHIPPED) -> Arena:
    """Reads an arena from YAML.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, Arena)


def arena_of(house: House) -> Arena:
    """The arena of a house: rooms and furniture of which it has one, and the things in it.

    People have the names of the shipped arena.

    Raises:
        ValueError: if the house has too little of that.
    """
    shipped = read_arena()
    rooms = Counter(room.class_name for room in house.rooms)
    kind_of = {room.name: room.class_name for room in house.rooms}
    pieces = Counter(piece.class_name for piece in house.furniture)
    found: dict[str, list[str]] = {_words(name): [] for name, n in rooms.items() if n == 1}
    for piece in house.furniture:
        room = _words(kind_of[piece.room])
        if room in found and pieces[piece.class_name] == 1:
            found[room].append(_words(piece.class_name))
    kinds = sorted({_words(item.class_name) for item in house.objects})
    # "A toy fruits" is nothing that anybody says.
    kinds = [kind for kind in kinds if not kind.endswith("s") or kind.endswith("ss")]
    groups = {word: [kind for kind in kinds if _is_of(word, kind)] for word in shipped.things}
    things = {word: some for word, some in groups.items() if some}
    return Arena.model_validate({"rooms": found, "things": things, "names": shipped.names})


def _is_of(word: str, kind: str) -> bool:
    """Whether some class of a kind is of those that another word covers."""
    group, one = (default_word_meanings().find(name) for name in (word, kind))
    return group is not None and one is not None and not group.objects.isdisjoint(one.objects)


def _words(class_name: str) -> str:
    return class_name.replace("_", " ")


ItemT = TypeVar("ItemT")
# A request, a description or places of the form, as a file has it.
Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Command:
    """A command; `kind` is its class, `goal` what it means."""

    kind: str
    text: str
    goal: Goal


@dataclass(frozen=True, slots=True)
class _Said:
    """Words and the record that they mean."""

    words: str
    record: Record


_COLORS = (
    Color.RED, Color.BLUE, Color.GREEN, Color.BLACK, Color.WHITE, Color.YELLOW, Color.GRAY,
)  # fmt: skip
_CLOTHES = ("shirt", "t-shirt", "sweater", "coat", "jacket", "blouse")
_SEEN = {
    "sitting": ("sitting {}", "{} who is sitting"),
    "standing": ("standing {}", "{} who is standing"),
    "lying": ("lying {}", "{} who is lying down"),
    "waving": ("waving {}", "{} who is waving"),
    "raising left arm": ("{} raising their left arm", "{} who is raising the left arm"),
    "raising right arm": ("{} raising their right arm", "{} with their right arm raised"),
    "pointing left": ("{} pointing to the left", "{} who points to the left"),
    "pointing right": ("{} pointing to the right", "{} who is pointing right"),
}
_PICKS = {
    "biggest": ("biggest", "largest"), "smallest": ("smallest",), "heaviest": ("heaviest",),
    "lightest": ("lightest",), "thinnest": ("thinnest",),
}  # fmt: skip
_TOLD = {
    "yourself": ("something about yourself", "who you are"),
    "time": ("the time", "what time it is"),
    "day": ("what day is today", "today's date"),
    "tomorrow": ("what day is tomorrow",),
    "weekday": ("the day of the week",),
    "day_of_month": ("the day of the month",),
    "team_name": ("your team's name", "the name of your team"),
    "team_country": ("your team's country",),
    "team_affiliation": ("your team's affiliation",),
    "joke": ("a joke",),
}
_TRAITS = {"name": ("name",), "posture": ("posture", "pose"), "gesture": ("gesture",)}
_MEET = ("meet", "greet", "say hello to", "introduce yourself to", "welcome")
_GUIDE = ("guide", "lead", "escort", "accompany", "take")
_FIND = ("find", "look for", "locate", "search for")
_TAKE = ("take", "get", "grab", "fetch", "pick up")
_GO = ("go to", "navigate to", "drive to")
_BEGIN = ("", "", "", "please ", "could you please ", "can you ", "robot, ", "I want you to ")


class Commands:
    """Draws commands; the same ones for the same arena and seed."""

    def __init__(self, arena: Arena, seed: int) -> None:
        self._arena, self._random = arena, random.Random(seed)

    def draw(self, kind: str = "") -> Command:
        """A command of a class of `KINDS`; of any if it is empty."""
        kind = kind or self._one(KINDS)
        said, requests = _KINDS[kind](self)
        begin = self._one(_BEGIN)
        text = f"{begin}{said}{'?' if begin.startswith(('could', 'can')) else '.'}"
        return Command(kind, text[0].upper() + text[1:], Goal.model_validate(requests))

    def _one(self, several: Sequence[ItemT]) -> ItemT:
        return self._random.choice(several)

    # What is spoken of.

    def _room(self) -> _Said:
        room = self._one(tuple(self._arena.rooms))
        return _Said(f"in the {room}", {"in": {"the": room}})

    def _beside(self) -> _Said:
        piece = self._one(self._arena.furniture)
        return _Said(f"at the {piece}", {"at": {"the": piece}})

    def _on(self, other_than: str = "") -> _Said:
        piece = self._one([piece for piece in self._arena.surfaces if piece != other_than])
        return _Said(f"on the {piece}", {"on_top": {"the": piece}})

    def _somewhere(self) -> _Said:
        return self._one((self._room, self._beside))()

    def _to(self) -> _Said:
        """A place as where somebody goes."""
        place = self._somewhere()
        return _Said("to " + place.words.partition(" ")[2], place.record)

    def _named(self, where: _Said) -> _Said:
        name = self._one(self._arena.names)
        record = {"the": "person", "name": name, **where.record}
        return _Said(f"{name} {where.words}".strip(), record)

    def _seen(self, where: _Said, *, the: str = "the") -> _Said:
        trait = self._one(tuple(_SEEN))
        words = self._one(_SEEN[trait]).format("person")
        record = {the: "person", "is": trait, **where.record}
        return _Said(f"{the} {words} {where.words}".strip(), record)

    def _dressed(self, where: _Said, *, the: str = "the") -> _Said:
        worn = f"{self._one(_COLORS)} {self._one(_CLOTHES)}"
        how = self._one(("wearing a", "in a", "dressed in a", "who is wearing a"))
        record = {the: "person", "wears": worn, **where.record}
        return _Said(f"{the} person {how} {worn} {where.words}".strip(), record)

    def _described(self, where: _Said) -> _Said:
        return self._one((self._seen, self._dressed))(where)

    def _anybody(self, where: _Said) -> _Said:
        return self._one((self._named, self._seen, self._dressed))(where)

    def _thing(self) -> _Said:
        """A thing, or any of several kinds."""
        kind = self._one((*self._arena.kinds, *self._arena.things))
        return _Said(f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}", {"a": kind})

    # What is done after a person or thing was found.

    def _with_person(self, person: Record) -> tuple[str, Record]:
        """What is done then with a person of whom was spoken."""
        to = self._to()
        topic = self._one(tuple(_TOLD))
        told = self._one(("tell them", "say", "tell")) + " " + self._one(_TOLD[topic])
        ways: tuple[tuple[str, Record], ...] = (
            (told, {"tell": topic, "to": person}),
            (self._one(("answer a question", "answer their question", "answer a quiz")),
             {"tell": "answer", "to": person}),
            ("follow them", {"follow": person}),
            (f"follow them {to.words}", {"follow": person, "to": to.record}),
            (f"{self._one(_GUIDE)} them {to.words}", {"guide": person, "to": to.record}),
        )  # fmt: skip
        return self._one(ways)

    def _with_thing(self, thing: Record, taken: str = "") -> tuple[str, list[object]]:
        """Where a thing goes that was found, or taken from a piece of furniture."""
        on, person = self._on(taken), self._anybody(self._room())
        give = self._one(("bring", "give", "deliver", "hand"))
        words, to = self._one((
            (f"{self._one(('put', 'place'))} it {on.words}", on.record),
            (f"{self._one(('bring', 'give', 'deliver'))} it to me", "me"),
            (f"{give} it to {person.words}", {"at": person.record}),
        ))  # fmt: skip
        return words, [{"move": thing, "to": to}]

    def _take_it(self) -> str:
        return self._one(("take it", "get it", "grab it", "fetch it", "pick it up"))

    # The classes.

    def go_first(self) -> tuple[str, list[object]]:
        """At another place something is done with a thing or person."""
        place = self._somewhere()
        go = f"{self._one(_GO)} {place.words.partition(' ')[2]}"
        then = self._one((" then", ", then", " and then"))
        if self._random.random() < 0.5:
            thing = self._thing()
            at = place.words.partition(" the ")[2]
            words, requests = self._with_thing({**thing.record, **place.record}, at)
            return f"{go}{then} find {thing.words}, {self._take_it()} and {words}", requests
        nowhere = _Said("", {})
        person = self._anybody(nowhere)
        words, request = self._with_person({**person.record, **place.record})
        if self._random.random() < 0.5:
            return f"{go}{then} {self._one(_FIND)} {person.words} and {words}", [request]
        met = {"meet": {**person.record, **place.record}}
        return f"{go}{then} {self._one(_MEET)} {person.words} and {words}", [met, THEN, request]

    def take(self) -> tuple[str, list[object]]:
        """A thing from furniture goes somewhere."""
        thing, on = self._thing(), self._on()
        piece = on.words.partition(" the ")[2]
        words, requests = self._with_thing({**thing.record, "at": {"the": piece}}, piece)
        return f"{self._one(_TAKE)} {thing.words} from the {piece} and {words}", requests

    def find_thing(self) -> tuple[str, list[object]]:
        """A thing in a room goes somewhere."""
        thing, room = self._thing(), self._room()
        words, requests = self._with_thing({**thing.record, **room.record})
        found = f"{self._one(_FIND)} {thing.words} {room.words}"
        return f"{found} then {self._take_it()} and {words}", requests

    def bring_me(self) -> tuple[str, list[object]]:
        """A thing comes to the speaker."""
        thing, on = self._thing(), self._on()
        piece = on.words.partition(" the ")[2]
        request = {"move": {**thing.record, "at": {"the": piece}}, "to": "me"}
        return f"{self._one(('bring', 'give'))} me {thing.words} from the {piece}", [request]

    def find_person(self) -> tuple[str, list[object]]:
        """Something is done with anybody who looks so."""
        room = self._room()
        person = self._one((self._seen, self._dressed))(room, the="a")
        words, request = self._with_person(person.record)
        return f"{self._one(_FIND)} {person.words} and {words}", [request]

    def meet_then(self) -> tuple[str, list[object]]:
        """A person is greeted before something else is done with them."""
        person = self._anybody(self._room())
        words, request = self._with_person(person.record)
        met: Record = {"meet": person.record}
        return f"{self._one(_MEET)} {person.words} and {words}", [met, THEN, request]

    def meet_twice(self) -> tuple[str, list[object]]:
        """A person is greeted, then found in a room."""
        person, room = self._named(self._beside()), self._room()
        again = {"the": "person", "name": person.record["name"], **room.record}
        text = f"{self._one(_MEET)} {person.words} then {self._one(_FIND)} them {room.words}"
        return text, [{"meet": person.record}, THEN, {"find": again}]

    def count_things(self) -> tuple[str, list[object]]:
        """How many things lie somewhere."""
        kind, on = self._one((*self._arena.kinds, *self._arena.things)), self._on()
        meanings, several = default_word_meanings(), plural_of(kind)
        # "Fruits" is a word of its own.
        kind = several if meanings.find(several) not in (None, meanings.find(kind)) else kind
        many = f"how many {several}"
        asked = self._one((f"{many} there are {on.words}", f"{many} are {on.words}"))
        return f"tell me {asked}", [{"tell": "count", "of": {"all": kind, **on.record}}]

    def count_people(self) -> tuple[str, list[object]]:
        """How many people in a room look so."""
        room = self._room()
        if self._random.random() < 0.5:
            worn = f"{self._one(_COLORS)} {self._one(_CLOTHES)}"
            words = f"people {room.words} are wearing {plural_of(worn)}"
            about: Record = {"all": "person", "wears": worn, **room.record}
        else:
            trait = self._one(("sitting", "standing", "lying", "waving"))
            words = self._one((f"{trait} people are {room.words}",
                               f"people {room.words} are {trait}"))  # fmt: skip
            about = {"all": "person", "is": trait, **room.record}
        return f"tell me how many {words}", [{"tell": "count", "of": about}]

    def which(self) -> tuple[str, list[object]]:
        """Which thing is the biggest."""
        kind, on = self._one(("object", *self._arena.things)), self._on()
        pick = self._one(tuple(_PICKS))
        of = {"the": "thing" if kind == "object" else kind, "pick": pick, **on.record}
        what = self._one(("what is", "which is"))
        words = f"tell me {what} the {self._one(_PICKS[pick])} {kind} {on.words}"
        return words, [{"tell": "which", "of": of}]

    def trait(self) -> tuple[str, list[object]]:
        """Name, posture or gesture of a person, for the speaker or another person."""
        trait, place = self._one(tuple(_TRAITS)), self._somewhere()
        said = self._one(_TRAITS[trait])
        of = {"the": "person", **place.record}
        if self._random.random() < 0.5:
            return f"tell me the {said} of the person {place.words}", [{"tell": trait, "of": of}]
        other = self._described(self._beside())
        words = f"tell the {said} of the person {place.words} to {other.words}"
        return words, [{"tell": trait, "of": of, "to": other.record}]

    def say(self) -> tuple[str, list[object]]:
        """Something that the robot knows, for a person."""
        person, topic = self._described(self._room()), self._one(tuple(_TOLD))
        said = self._one(_TOLD[topic])
        words = f"{self._one(('tell', 'say'))} {said} to {person.words}"
        return words, [{"tell": topic, "to": person.record}]

    def answer(self) -> tuple[str, list[object]]:
        """What a person asks."""
        person = self._described(self._room())
        what = self._one(("question", "quiz"))
        return f"answer the {what} of {person.words}", [{"tell": "answer", "to": person.record}]

    def follow(self) -> tuple[str, list[object]]:
        """A person is followed, maybe to a place."""
        place, to = self._beside(), self._to()
        person = self._anybody(_Said(f"from {place.words.partition(' ')[2]}", place.record))
        if self._random.random() < 0.5:
            seen = self._anybody(self._somewhere())
            return f"follow {seen.words}", [{"follow": seen.record}]
        return f"follow {person.words} {to.words}", [{"follow": person.record, "to": to.record}]

    def guide(self) -> tuple[str, list[object]]:
        """A person is led to a place."""
        place, to = self._beside(), self._to()
        person = self._anybody(_Said(f"from {place.words.partition(' ')[2]}", place.record))
        request = {"guide": person.record, "to": to.record}
        return f"{self._one(_GUIDE)} {person.words} {to.words}", [request]


_KINDS: Mapping[str, Callable[[Commands], tuple[str, list[object]]]] = {
    "go first": Commands.go_first,
    "take": Commands.take,
    "find a thing": Commands.find_thing,
    "bring me": Commands.bring_me,
    "find a person": Commands.find_person,
    "meet, then": Commands.meet_then,
    "meet twice": Commands.meet_twice,
    "count things": Commands.count_things,
    "count people": Commands.count_people,
    "which": Commands.which,
    "who": Commands.trait,
    "say": Commands.say,
    "answer": Commands.answer,
    "follow": Commands.follow,
    "guide": Commands.guide,
}
KINDS = tuple(_KINDS)
