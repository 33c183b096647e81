"""The plain translator: words of verbs and classes, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from planner.planning.llamar.actions import (
    ANGLES_DEG,
    DONE,
    EXPLORE,
    IDLE,
    Action,
    Verb,
)
from planner.planning.llamar.instances import class_of, instance_for, numbers_in
from planner.planning.llamar.translator import Translation, literally, relation_in
from planner.world.catalogue import default_catalogue
from planner.world.record import record
from planner.world.word_meanings import default_word_meanings

DEFAULT_THRESHOLD = 0.5

# Phrases of each verb; longer ones are tried first.
_PHRASES: dict[Verb, tuple[str, ...]] = {
    Verb.NAVIGATE_TO: (
        "navigate to",
        "navigate",
        "go to",
        "go near",
        "go over to",
        "go towards",
        "walk to",
        "walk over to",
        "walk up to",
        "move to",
        "move closer to",
        "move towards",
        "approach",
        "drive to",
        "head to",
        "head towards",
        "return to",
        "get close to",
        "get closer to",
    ),
    Verb.PICKUP: (
        "pick up",
        "pickup",
        "pick",
        "grab",
        "take",
        "get",
        "grasp",
        "lift",
        "fetch",
        "collect",
    ),
    Verb.PUT: (
        "put down",
        "put",
        "place",
        "drop",
        "set down",
        "set",
        "store",
        "lay",
        "leave",
        "insert",
    ),
    Verb.OPEN: ("open up", "open"),
    Verb.CLOSE: ("close", "shut"),
    Verb.SLICE: ("slice", "cut up", "cut", "chop"),
    Verb.CLEAN: ("clean", "wash", "wipe", "rinse", "scrub"),
    Verb.TOGGLE_ON: ("turn on", "switch on", "power on", "power up", "toggle on", "light up"),
    Verb.TOGGLE_OFF: ("turn off", "switch off", "power off", "power down", "toggle off"),
    Verb.EXPLORE: ("explore", "look around", "search", "scout"),
    Verb.IDLE: ("stay idle", "idle", "wait", "stay", "do nothing", "stand still", "none", "pause"),
    Verb.DONE: ("done", "finished", "task complete", "task is complete"),
    Verb.LOOK_UP: ("look up", "tilt up", "tilt the camera up"),
    Verb.LOOK_DOWN: ("look down", "tilt down", "tilt the camera down"),
    Verb.ROTATE: ("rotate", "turn"),
    Verb.MOVE: ("move", "step", "go"),
}
_SWITCHED = re.compile(r"\b(turn|switch|power|toggle)\s+(.+?)\s+(on|off)\b")
_SIDES = {
    "ahead": "Ahead",
    "forward": "Ahead",
    "forwards": "Ahead",
    "straight": "Ahead",
    "back": "Back",
    "backward": "Back",
    "backwards": "Back",
    "left": "Left",
    "right": "Right",
}
_FILLER_WORDS = """
    a an the this that these those to in on into onto inside of at from with by and then now i
    we it its will should can please object objects item thing towards near over up down my
    your our is be for one next direction angle degrees degree around step left right top
    closer where you are
"""
_FILLERS = frozenset(_FILLER_WORDS.split())
_WORD = re.compile(r"[A-Za-z]+|[0-9]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@record
class _Found:
    """An action and how many words of the text say so."""

    action: Action
    words: int


@record
class _Meant:
    """The classes that a phrase is a name of, and all that it may mean, as keys of words."""

    own: frozenset[str]
    broadly: frozenset[str]


class PlainTranslator:
    """Reads the paper's spellings literally, and other texts by verbs and words of classes."""

    def __init__(self, threshold: float = DEFAULT_THRESHOLD) -> None:
        """`threshold` is the least share of a text's content that has to be understood."""
        self._threshold = threshold

    @property
    def translator_id(self) -> str:
        """Its method."""
        return "plain"

    def translate(self, text: str, admissible: Sequence[Action]) -> Translation:
        """See `Translator`; the similarity is the share of content words that were understood."""
        literal = literally(text, admissible)
        if literal is not None:
            return Translation(literal, text, 1.0, understood=True)
        plain = " ".join(_WORD.findall(_HUMP.sub(" ", text))).lower()[:500]
        found = _read(plain, admissible)
        if found is None:
            return Translation(IDLE, text, 0.0, understood=False)
        count = sum(word not in _FILLERS and not word.isdecimal() for word in plain.split())
        similarity = min(1.0, found.words / count) if count else 1.0
        if similarity < self._threshold:
            return Translation(IDLE, text, similarity, understood=False)
        return Translation(found.action, text, similarity, understood=True)


def _read(text: str, admissible: Sequence[Action]) -> _Found | None:
    """The action of the first verb in a text, with the words that were used."""
    spoken = _verb_in(text)
    if spoken is None:
        return None
    verb, used, rest = spoken
    if verb in (Verb.IDLE, Verb.DONE, Verb.EXPLORE):
        action = {Verb.IDLE: IDLE, Verb.DONE: DONE, Verb.EXPLORE: EXPLORE}[verb]
        return _Found(action, used) if action in admissible else None
    if verb.values:
        return _fixed(verb, used, rest, admissible)
    names = [a.argument for a in admissible if a.verb is verb]
    # In "pull the drawer open" the thing comes first.
    return _on_thing(verb, used, rest if rest.strip() else text, names)


def _verb_in(text: str) -> tuple[Verb, int, str] | None:
    """The verb that comes first, its number of content words, and the text after it."""
    switched = _SWITCHED.search(text)
    best: tuple[int, int, Verb] | None = None
    for phrase, verb in _by_length():
        match = phrase.search(text)
        if match is not None and (best is None or match.start() < best[0]):
            best = (match.start(), match.end(), verb)
    if best is None:
        return None
    start, end, verb = best
    rest = text[end:]
    if switched is not None and switched.start() == start and verb in (Verb.ROTATE, *_TOGGLES):
        verb = Verb.TOGGLE_ON if switched[3] == "on" else Verb.TOGGLE_OFF
        rest = switched[2]
    # "turn to the table" and "go left" name no thing to turn, and no thing to go to.
    elif verb is Verb.NAVIGATE_TO and _direction(rest) is not None and not _classes_in(rest):
        verb = Verb.MOVE
    used = sum(word not in _FILLERS for word in text[start:end].split())
    return verb, used, rest


_TOGGLES = (Verb.TOGGLE_ON, Verb.TOGGLE_OFF)
_SWITCHING = ("toggle", "switch", "power")


@cache
def _by_length() -> tuple[tuple[re.Pattern[str], Verb], ...]:
    pairs = [(phrase, verb) for verb, phrases in _PHRASES.items() for phrase in phrases]
    # Without "on" or "off" these say nothing; with a thing between they are read by both words.
    pairs += [(rf"{word} (?=.+ (?:on|off)\b)", Verb.TOGGLE_ON) for word in _SWITCHING]
    pairs.sort(key=lambda pair: -len(pair[0]))
    return tuple((re.compile(rf"\b{phrase}\b"), verb) for phrase, verb in pairs)


def _direction(text: str) -> str | None:
    return next((_SIDES[word] for word in text.split() if word in _SIDES), None)


def _fixed(verb: Verb, used: int, rest: str, admissible: Sequence[Action]) -> _Found | None:
    if verb in (Verb.LOOK_UP, Verb.LOOK_DOWN):
        numbers = numbers_in(rest)
        wanted = numbers[0] if numbers else ANGLES_DEG[0]
        # Snapped to the nearest angle there is; of two equally near ones to the smaller.
        argument = str(min(ANGLES_DEG, key=lambda angle: (abs(angle - wanted), angle)))
    else:
        direction = _direction(rest) or ("Ahead" if verb is Verb.MOVE else None)
        if direction is None or direction not in verb.values:
            return None
        used += sum(word in _SIDES and word not in _FILLERS for word in rest.split())
        argument = direction
    action = Action(verb, argument)
    return _Found(action, used) if action in admissible else None


def _on_thing(verb: Verb, used: int, rest: str, names: Sequence[str]) -> _Found | None:
    """An action on the thing that the text names; of Put on what follows "in" or "on"."""
    where, relation = rest, None
    if verb is Verb.PUT:
        where, relation = relation_in(rest)
    keys = {name: _class_key(name) for name in names}
    for phrase, meant in _classes_in(where, frozenset(keys.values())):
        own = [name for name in names if keys[name] in meant.own]
        fitting = own or [name for name in names if keys[name] in meant.broadly]
        chosen = instance_for(fitting, numbers_in(where))
        if chosen is not None:
            words = used + sum(word not in _FILLERS for word in phrase.split())
            if where != rest:
                # What is in the hand is named as well, and needs not be.
                before = rest[: len(rest) - len(where)]
                words += sum(word not in _FILLERS for word in before.split())
            return _Found(Action(verb, chosen, relation), words)
    return None


def _classes_in(text: str, others: frozenset[str] = frozenset()) -> Iterable[tuple[str, _Meant]]:
    """The phrases of a text that mean classes, each as long as possible, and these classes.

    `others` are classes that the catalogue may not have. All are keys as `_key` makes them.
    """
    words = [word for word in text.split() if not word.isdecimal()]
    at = 0
    while at < len(words):
        for length in range(min(4, len(words) - at), 0, -1):
            phrase = " ".join(words[at : at + length])
            meant = _meant(phrase)
            if _key(phrase) in others:
                meant = _Meant(meant.own | {_key(phrase)}, meant.broadly)
            if meant.own or meant.broadly:
                yield phrase, meant
                at += length - 1
                break
        at += 1


@cache
def _meant(phrase: str) -> _Meant:
    if phrase in _FILLERS:
        return _Meant(frozenset(), frozenset())
    catalogue = default_catalogue()
    own = {catalogue.object_name(phrase), catalogue.furniture_name(phrase)}
    meaning = default_word_meanings().find(phrase)
    broadly = meaning.objects | meaning.furniture if meaning is not None else frozenset()
    return _Meant(
        frozenset(_key(name) for name in own if name is not None),
        frozenset(_key(name) for name in broadly),
    )


@lru_cache(maxsize=4096)
def _class_key(name: str) -> str:
    """Of the class of an instance; each is asked for in every joint step."""
    return _key(class_of(name))


def _key(name: str) -> str:
    """The letters of a class, which `TShirt`, t-shirt and "t shirt" have in common."""
    return "".join(_WORD.findall(name)).lower()
