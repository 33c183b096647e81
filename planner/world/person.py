"""Persons who are in a house without acting: what files say, what is seen and what was done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, Field

from planner.world.errors import FileError
from planner.world.files import FileModel
from planner.world.geometry import Vec3, record
from planner.world.shapes import Color, Part, Shape, paint

PERSON_CLASS = "person"
MAX_PEOPLE = 50
# How near an agent is to whom it greets, tells, asks, or hands something; metres.
TALK_M = 1.5
# Characters of what is said at a time.
MAX_SAID = 200


class Posture(StrEnum):
    """How a person holds the body."""

    STANDING = "standing"
    SITTING = "sitting"
    LYING = "lying"


class Gesture(StrEnum):
    """What a person does with the arms; left and right are the person's own."""

    WAVING = "waving"
    RAISING_LEFT_ARM = "raising_left_arm"
    RAISING_RIGHT_ARM = "raising_right_arm"
    POINTING_LEFT = "pointing_left"
    POINTING_RIGHT = "pointing_right"


class Garment(StrEnum):
    """What persons wear."""

    T_SHIRT = "t-shirt"
    SHIRT = "shirt"
    BLOUSE = "blouse"
    SWEATER = "sweater"
    COAT = "coat"
    JACKET = "jacket"
    DRESS = "dress"
    SKIRT = "skirt"
    TROUSERS = "trousers"
    JEANS = "jeans"


# Other ways to write a garment; plurals are taken off first.
_GARMENTS = {
    **{garment.value: garment for garment in Garment},
    "t shirt": Garment.T_SHIRT,
    "tshirt": Garment.T_SHIRT,
    "jumper": Garment.SWEATER,
    "pullover": Garment.SWEATER,
    "pants": Garment.TROUSERS,
}
_LEGWEAR = frozenset({Garment.TROUSERS, Garment.JEANS, Garment.SKIRT})
_COLORS = {**{color.value: color for color in Color}, "grey": Color.GRAY}
_FACE, _HAIR = (0.85, 0.64, 0.49), (0.29, 0.18, 0.11)
SIZES_M: Mapping[Posture, Vec3] = {
    Posture.STANDING: (0.4, 0.5, 1.7),
    Posture.SITTING: (0.5, 0.5, 0.9),
    Posture.LYING: (1.7, 0.5, 0.3),
}


def garment_text(text: str) -> str:
    """A garment in its normal form, such as `red shirt` for `Shirt red`.

    Raises:
        ValueError: if it is not a colour and a garment of the lists.
    """
    words = text.lower().replace("-", " ").split()
    colors = [word for word in words if word in _COLORS]
    rest = " ".join(word for word in words if word not in _COLORS)
    garment = _GARMENTS.get(rest) or _GARMENTS.get(rest.removesuffix("s"))
    if len(colors) != 1 or garment is None:
        raise ValueError(
            f"{text!r} is not a colour and a garment; colours are {', '.join(Color)}, "
            f"garments {', '.join(Garment)}"
        )
    return f"{_COLORS[colors[0]]} {garment}"


def _plain_name(name: str) -> str:
    if name and not re.fullmatch(r"[A-Za-z][A-Za-z'-]{0,39}", name):
        raise ValueError(f"{name!r} is not a first name of up to 40 letters")
    return name


Clothing = Annotated[str, AfterValidator(garment_text)]
FirstName = Annotated[str, AfterValidator(_plain_name)]
# Answers of a person that mean more than words.
NAME_ANSWER, FOLLOW_ANSWER, COME_ANSWER, GOES_TO = "name", "follow", "come", "goes_to"
# What one asks who is asked for a question.
QUESTION_ANSWER = "question"
NO = "no"


class Act(StrEnum):
    """What is said to a person, as the first word of what `talk` says; the rest is about it.

    `tell` goes on with the text, `ask` with what is asked for, `follow` with the place to which the
    person shall go, or nothing. `arrived` asks one who is followed whether this is the place,
    `come` one to come along, and `stay` ends that.
    """

    GREET = "greet"
    TELL = "tell"
    ASK = "ask"
    FOLLOW = "follow"
    ARRIVED = "arrived"
    COME = "come"
    STAY = "stay"


class Stroll(FileModel):
    """A walk of a person, after so many seconds of the world's time, to a room or furniture."""

    after_s: Annotated[float, Field(ge=0.0, le=1e5)]
    to: str


class PersonPlacement(FileModel):
    """A person of a house or episode, who does nothing else unasked than to walk.

    Attributes:
        name: unique among them; "" = nobody will learn it.
        clothes: a colour and a garment each, in any order.
        room: where the person is.
        at: furniture of the room beside which the person stands, or on which one sits or lies.
        holds: an object of the episode in the person's hand.
        answers: what the person replies to questions: `name`; `question` is what the person asks
            who is asked for a question; `no` to `follow` and `come` for one
            who is not followed and does not come along; `goes_to` is the room or furniture to which
            one who is followed walks unasked.
        strolls: where the person walks by itself, in the order of time.
    """

    name: FirstName = ""
    clothes: Annotated[tuple[Clothing, ...], Field(max_length=5)] = ()
    posture: Posture = Posture.STANDING
    gesture: Gesture | None = None
    room: str
    at: str | None = None
    holds: str | None = None
    answers: Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=20)] = (
        Field(default_factory=dict)
    )
    strolls: Annotated[tuple[Stroll, ...], Field(max_length=20)] = ()


def person_name(number: int) -> str:
    """The handle of the person with a number in a file, from 0."""
    return f"{PERSON_CLASS}_{number}"


def repeated_name(people: Iterable[PersonPlacement]) -> str | None:
    """A name that two persons have; None if there is none."""
    seen: set[str] = set()
    for person in people:
        if person.name and person.name.lower() in seen:
            return person.name
        seen.add(person.name.lower())
    return None


def refuse_people(title: str, people: Iterable[PersonPlacement], world: str) -> None:
    """Refuses the persons of an episode in a world that has none.

    Raises:
        FileError: with the field.
    """
    if any(True for _ in people):
        raise FileError(title, "people", f"{world} has no persons; the backend embedded has")


@record
class Person:
    """What is known of a person beyond place and size.

    Attributes:
        name: "" = unknown.
        done: of the true world, what agents did with the person, such as `met`, `told time`,
            `followed`, `guided kitchen_0`; never in a memory.
    """

    name: str = ""
    clothes: tuple[str, ...] = ()
    posture: Posture = Posture.STANDING
    gesture: Gesture | None = None
    done: tuple[str, ...] = ()

    def with_done(self, deed: str) -> Person:
        """The same person after another deed; one that is there already is not added."""
        return self if deed in self.done else replace(self, done=(*self.done, deed))

    @property
    def words(self) -> str:
        """The person in words: `Charlie, standing, red shirt, waving`."""
        gesture = "" if self.gesture is None else self.gesture.replace("_", " ")
        return ", ".join(filter(None, (self.name, self.posture, *self.clothes, gesture)))


# A person's attributes as states of messages, as a look is: `posture_sitting`, `wears_red shirt`.
_NAMED, _WEARS, _POSTURE, _GESTURE, _DONE = "named_", "wears_", "posture_", "gesture_", "done_"


def person_states(person: Person | None) -> dict[str, bool]:
    """What is known of a person as states of messages; nothing of what is no person."""
    if person is None:
        return {}
    words = [f"{_POSTURE}{person.posture}", *(f"{_WEARS}{each}" for each in person.clothes)]
    words += [f"{_GESTURE}{person.gesture}"] if person.gesture is not None else []
    words += [f"{_NAMED}{person.name}"] if person.name else []
    words += [f"{_DONE}{deed}" for deed in person.done]
    return dict.fromkeys(words, True)


def take_person(
    class_name: str, states: Mapping[str, bool]
) -> tuple[Mapping[str, bool], Person | None]:
    """The states of a message without a person's, and the person; None for any other class."""
    if class_name != PERSON_CLASS:
        return states, None
    rest: dict[str, bool] = {}
    found: dict[str, list[str]] = {}
    for state, value in states.items():
        kind, separator, word = state.partition("_")
        if value and separator and kind + "_" in (_NAMED, _WEARS, _POSTURE, _GESTURE, _DONE):
            found.setdefault(kind + "_", []).append(word)
        else:
            rest[state] = value
    if not found:
        return states, None
    posture = next((p for p in Posture if p in found.get(_POSTURE, ())), Posture.STANDING)
    gesture = next((g for g in Gesture if g in found.get(_GESTURE, ())), None)
    clothes, done = tuple(found.get(_WEARS, ())), tuple(found.get(_DONE, ()))
    name = next(iter(found.get(_NAMED, ())), "")
    return rest, Person(name, clothes, posture, gesture, done)


# Descriptions, as in `FindPerson[waving person in a red shirt]`.


@record
class PersonDescription:
    """What a description asks for; what is None or empty is not asked for.

    Attributes:
        name: any word that no other part explains and that begins with a capital.
        colors, garments: of one and the same garment, where both are there.
    """

    name: str = ""
    posture: Posture | None = None
    gesture: Gesture | None = None
    color: Color | None = None
    garment: Garment | None = None

    def fits(self, person: Person) -> bool:
        """Whether a person is as described, as far as is known; an unknown name fits none."""
        worn = [each.partition(" ") for each in person.clothes]
        clothed = any(
            self.color in (None, color) and self.garment in (None, garment)
            for color, _, garment in worn
        )
        return (
            (not self.name or person.name.lower() == self.name.lower())
            and self.posture in (None, person.posture)
            and self.gesture in (None, person.gesture)
            and (clothed or (self.color is None and self.garment is None))
        )

    @property
    def without_name(self) -> PersonDescription:
        """The same of somebody whose name is not known."""
        return replace(self, name="")


_POSTURES = {"sitting": Posture.SITTING, "standing": Posture.STANDING, "lying": Posture.LYING}
_SEATED = {"seated": Posture.SITTING, "sits": Posture.SITTING, "lies": Posture.LYING}
_SIDED = {
    ("raising", "left"): Gesture.RAISING_LEFT_ARM,
    ("raising", "right"): Gesture.RAISING_RIGHT_ARM,
    ("pointing", "left"): Gesture.POINTING_LEFT,
    ("pointing", "right"): Gesture.POINTING_RIGHT,
}
_CAPITAL = re.compile(r"\b[A-Z][a-z][A-Za-z'-]*")
_NO_NAMES = frozenset({"person", "somebody", "someone", "the", "a", "find"})


def read_description(text: str) -> PersonDescription:
    """What a description of a person asks for; words that say nothing of persons are passed over.

    Rooms and furniture are for the caller, who knows them.
    """
    spaced = text.replace("_", " ").replace("-", " ")
    words = re.findall(r"[a-z']+", spaced.lower())
    posture = next((p for w in words if (p := (_POSTURES | _SEATED).get(w))), None)
    gesture = Gesture.WAVING if "waving" in words else None
    for (verb, side), sided in _SIDED.items():
        gesture = sided if verb in words and side in words else gesture
    color = next((_COLORS[w] for w in words if w in _COLORS), None)
    lowered = f" {' '.join(words)} "
    # The longest first: a t-shirt is no shirt.
    known = sorted(_GARMENTS.items(), key=lambda item: -len(item[0]))
    garment = next(
        (g for word, g in known if re.search(rf" {word.replace('-', ' ')}s? ", lowered)), None
    )
    names = (word for word in _CAPITAL.findall(spaced) if word.lower() not in _NO_NAMES)
    plain = (w for w in names if w.lower() not in {*_COLORS, *_POSTURES, *_GARMENTS, "waving"})
    first = ("raising", "pointing")
    name = next((word for word in plain if word.lower() not in first), "")
    return PersonDescription(name, posture, gesture, color, garment)


# How persons are drawn: a body of simple shapes in the colours of the clothes.


@lru_cache(maxsize=256)
def person_parts(
    posture: Posture, gesture: Gesture | None, clothes: tuple[str, ...]
) -> tuple[Part, ...]:
    """The parts of a person in metres, x to the front, the origin under the middle."""
    worn = {garment: Color(color) for color, _, garment in (c.partition(" ") for c in clothes)}
    over = (Garment.COAT, Garment.JACKET)
    tops = [*over, *(g for g in Garment if g not in over and g not in _LEGWEAR)]
    top = paint(next((worn[g] for g in tops if g in worn), Color.BLUE))
    legs = paint(next((worn[g] for g in Garment if g in _LEGWEAR and g in worn), Color.GRAY))
    if posture is Posture.LYING:
        return (
            _part(Shape.ELLIPSOID, (0.72, 0.0, 0.15), (0.22, 0.18, 0.22), _FACE),
            _part(Shape.BOX, (0.28, 0.0, 0.15), (0.56, 0.36, 0.22), top),
            _part(Shape.BOX, (-0.42, 0.0, 0.13), (0.84, 0.3, 0.16), legs),
        )
    # Where the hips are: a seat is under them.
    low = 0.85 if posture is Posture.STANDING else 0.08
    parts = [
        _part(Shape.ELLIPSOID, (0.02, 0.0, low + 0.7), (0.2, 0.18, 0.25), _FACE),
        _part(Shape.ELLIPSOID, (-0.01, 0.0, low + 0.75), (0.2, 0.2, 0.18), _HAIR),
        _part(Shape.BOX, (0.0, 0.0, low + 0.29), (0.22, 0.36, 0.56), top),
        *_arm(low, 1.0, _lifted(gesture, "left"), top),
        *_arm(low, -1.0, _lifted(gesture, "right"), top),
    ]
    if posture is Posture.STANDING:
        size = (0.15, 0.15, 0.86)
        parts += [_part(Shape.BOX, (0.0, side, 0.43), size, legs) for side in (0.09, -0.09)]
    else:
        parts.append(_part(Shape.BOX, (0.14, 0.0, 0.08), (0.22, 0.34, 0.16), legs))
    return tuple(parts)


def _lifted(gesture: Gesture | None, side: str) -> str:
    """`up`, `out` or "" for the arm on a side; who waves does so with the right one."""
    if gesture is Gesture.WAVING:
        return "up" if side == "right" else ""
    if gesture is None or side not in gesture:
        return ""
    return "up" if gesture.startswith("raising") else "out"


def _arm(low: float, side: float, lifted: str, rgb: Vec3) -> tuple[Part, ...]:
    y = 0.21 * side
    middle, size, hand = {
        "": ((0.02, y, low + 0.25), (0.08, 0.08, 0.56), (0.04, y, low - 0.04)),
        "up": ((0.02, y, low + 0.6), (0.08, 0.08, 0.36), (0.04, y, low + 0.8)),
        "out": ((0.02, 0.36 * side, low + 0.5), (0.08, 0.3, 0.08), (0.02, 0.5 * side, low + 0.5)),
    }[lifted]
    sleeve = _part(Shape.BOX, middle, size, rgb)
    return sleeve, _part(Shape.SPHERE, hand, (0.09, 0.09, 0.09), _FACE)


def _part(shape: Shape, center: Vec3, size: Vec3, rgb: Vec3) -> Part:
    return Part(shape=shape, center=center, size=size, rgb=rgb)
