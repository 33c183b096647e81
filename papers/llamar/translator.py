"""From a model's free text to an admissible action: by its words, or by a sentence encoder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from papers.llamar.actions import (
    ANGLES_DEG,
    DONE,
    EXPLORE,
    IDLE,
    INTERACTIONS,
    Action,
    ActionError,
    KnownThing,
    Verb,
    fits,
    fixed_actions,
    parse_action,
    usual_relation,
)
from planner.world.catalogue import (
    FurnitureClass,
    ObjectClass,
    default_catalogue,
    default_word_meanings,
)
from planner.world.embedding import Embedder, Vectors, load_encoder
from planner.world.geometry import record
from planner.world.vocabulary import Relation


@record
class Translation:
    """What a text was read as; kept beside the text in the trace.

    Attributes:
        action: the one that was meant; Idle where the text was not understood.
        raw: the model's own words.
        similarity: of the two, 0 to 1; 1 for a text in the paper's spelling.
        understood: whether the similarity reached the threshold.
    """

    action: Action
    raw: str
    similarity: float
    understood: bool


class Translator(Protocol):
    """Reads what a model wants an agent to do."""

    @property
    def translator_id(self) -> str:
        """Its method and, for one with a model, that model; stored with results."""

    def translate(self, text: str, admissible: Sequence[Action]) -> Translation:
        """The admissible action that a text means, or Idle.

        A text in the paper's spelling is taken at its word, so that an action on a thing that does
        not exist fails as such (LLAMAR-D23).

        Args:
            text: of a model: any text, also empty.
            admissible: of the moment, in `papers.llamar.actions.admissible`'s order.
        """


def literally(text: str, admissible: Sequence[Action]) -> Action | None:
    """The action that a text spells as the paper does, in any case; None if it spells none.

    Things may be unknown, or of a kind to which this is not done. Actions on nothing are
    admissible.
    """
    try:
        wanted = parse_action(text)
    except ActionError:
        return None
    if not wanted.verb.takes_thing:
        return wanted if wanted in admissible else None
    name = wanted.argument.lower()
    known = (a.argument for a in admissible if a.argument.lower() == name)
    return Action(wanted.verb, next(known, wanted.argument), wanted.relation)


_DESTINATION = re.compile(r"\b(on top of|into|onto|inside|in|on|to|at)\b", re.IGNORECASE)
_RELATIONS = {
    "on top of": Relation.ON,
    "into": Relation.WITHIN,
    "inside": Relation.WITHIN,
    "in": Relation.WITHIN,
}


def relation_in(text: str) -> tuple[str, Relation | None]:
    """The part of a text after the last "in" or "on", and whether it says which is meant.

    A plain "on" is the paper's word for both.
    """
    ways = list(_DESTINATION.finditer(text))
    if not ways:
        return text, None
    return text[ways[-1].end() :], _RELATIONS.get(ways[-1][1].lower())


# Instances of a class: `Drawer_3` is of `Drawer`, and which of them a text means.

_NUMBER = re.compile(r"[0-9]{1,4}")


def class_of(name: str) -> str:
    """The class of an instance name; the whole name if it has no number."""
    own, _, number = name.rpartition("_")
    return own if own and number.isdecimal() else name


def number_of(name: str) -> int:
    """The number of an instance name; 0 if it has none."""
    _, _, number = name.rpartition("_")
    return int(number) if number.isdecimal() else 0


def numbers_in(text: str) -> list[int]:
    """The numbers that a text contains, in order."""
    return [int(number) for number in _NUMBER.findall(text)]


def instance_for(names: Sequence[str], numbers: Sequence[int]) -> str | None:
    """The instance that a text means among those of one class (LLAMAR-2.6).

    With exactly one number in the text, that instance, or the nearest number that there is; else
    the first.

    Args:
        names: of one class, `Drawer_1` first; if they are of several, the first one's is meant.
        numbers: in the text.
    """
    if not names:
        return None
    own = [name for name in names if class_of(name) == class_of(names[0])]
    if len(numbers) != 1:
        return own[0]
    return min(own, key=lambda name: (abs(number_of(name) - numbers[0]), number_of(name)))


# The plain translator: words of verbs and classes, without a model.

DEFAULT_THRESHOLD = 0.5

# Phrases of each verb; longer ones are tried first.
_PHRASES: dict[Verb, tuple[str, ...]] = {
    verb: tuple(phrases.split(", "))
    for verb, phrases in {
        Verb.NAVIGATE_TO: (
            "navigate to, navigate, go to, go near, go over to, go towards, walk to, "
            "walk over to, walk up to, move to, move closer to, move towards, approach, "
            "drive to, head to, head towards, return to, get close to, get closer to"
        ),
        Verb.PICKUP: "pick up, pickup, pick, grab, take, get, grasp, lift, fetch, collect",
        Verb.PUT: "put down, put, place, drop, set down, set, store, lay, leave, insert",
        Verb.OPEN: "open up, open",
        Verb.CLOSE: "close, shut",
        Verb.SLICE: "slice, cut up, cut, chop",
        Verb.CLEAN: "clean, wash, wipe, rinse, scrub",
        Verb.TOGGLE_ON: "turn on, switch on, power on, power up, toggle on, light up",
        Verb.TOGGLE_OFF: "turn off, switch off, power off, power down, toggle off",
        Verb.EXPLORE: "explore, look around, search, scout",
        Verb.IDLE: "stay idle, idle, wait, stay, do nothing, stand still, none, pause",
        Verb.DONE: "done, finished, task complete, task is complete",
        Verb.LOOK_UP: "look up, tilt up, tilt the camera up",
        Verb.LOOK_DOWN: "look down, tilt down, tilt the camera down",
        Verb.ROTATE: "rotate, turn",
        Verb.MOVE: "move, step, go",
    }.items()
}
_SWITCHED = re.compile(r"\b(turn|switch|power|toggle)\s+(.+?)\s+(on|off)\b")
_SIDES = {
    "ahead": "Ahead", "forward": "Ahead", "forwards": "Ahead", "straight": "Ahead",
    "back": "Back", "backward": "Back", "backwards": "Back", "left": "Left", "right": "Right",
}  # fmt: skip
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

    translator_id = "plain"

    def __init__(self, threshold: float = DEFAULT_THRESHOLD) -> None:
        """`threshold` is the least share of a text's content that has to be understood."""
        self._threshold = threshold

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


# The translator with a sentence encoder, in the paper's two stages (LLAMAR-2.6).

# Cosine; below it a reply means nothing (LLAMAR-D24).
DEFAULT_SIMILARITY = 0.4
_MAX_CHARACTERS = 500


def spoken_class(name: str) -> str:
    """A class in words: "chest of drawers" for `ChestOfDrawers`."""
    return _HUMP.sub(" ", name).replace("_", " ").lower()


def templates() -> tuple[Action, ...]:
    """The static list of the first stage: actions on nothing, and on each class of thing."""
    catalogue = default_catalogue()
    things = [_class_as_thing(cls) for cls in catalogue.objects.values()]
    things += [_class_as_thing(cls) for cls in catalogue.furniture.values()]
    on_classes = [
        Action(verb, thing.name)
        for verb in (Verb.NAVIGATE_TO, *INTERACTIONS)
        for thing in things
        if fits(verb, thing)
    ]
    return (*on_classes, *fixed_actions())


def _class_as_thing(cls: ObjectClass | FurnitureClass) -> KnownThing:
    name = spoken_class(cls.name)
    if isinstance(cls, ObjectClass):
        puts = Relation.WITHIN if cls.hollow is not None else Relation.ON
        return KnownThing(
            name,
            "",
            cls.name,
            is_movable=True,
            puts=puts if cls.holds_things else None,
            affordances=frozenset(cls.affordances),
        )
    holds = bool(cls.surfaces or cls.interiors)
    return KnownThing(
        name,
        "",
        cls.name,
        is_movable=False,
        opens=bool(cls.joints),
        puts=usual_relation().get(cls.name, Relation.WITHIN) if holds else None,
        affordances=frozenset(cls.affordances),
    )


class EncoderTranslator:
    """Takes the nearest template by cosine, then the nearest known class and its instance."""

    def __init__(self, encoder: Embedder, threshold: float = DEFAULT_SIMILARITY) -> None:
        """Embeds the static list, which takes some seconds.

        Args:
            encoder: of sentences.
            threshold: least cosine of both stages.
        """
        self._encoder, self._threshold = encoder, threshold
        self._templates = templates()
        self._vectors = encoder.embed([action.words for action in self._templates])
        self._classes: dict[str, Vectors] = {}

    @property
    def translator_id(self) -> str:
        """Of its encoder."""
        return f"encoder {self._encoder.embedder_id}"

    def translate(self, text: str, admissible: Sequence[Action]) -> Translation:
        """See `Translator`; the similarity is the cosine, of the worse of both stages."""
        literal = literally(text, admissible)
        if literal is not None:
            return Translation(literal, text, 1.0, understood=True)
        said = self._encoder.embed([text[:_MAX_CHARACTERS]])[0]
        template, similarity = self._nearest(said, admissible)
        if similarity < self._threshold:
            return Translation(IDLE, text, similarity, understood=False)
        if not template.verb.takes_thing:
            return Translation(template, text, similarity, understood=True)
        names = [action.argument for action in admissible if action.verb is template.verb]
        name, alike = self._instance(template.argument, names, text)
        similarity = min(similarity, alike)
        if name is None or similarity < self._threshold:
            return Translation(IDLE, text, similarity, understood=False)
        relation = relation_in(text)[1] if template.verb is Verb.PUT else None
        return Translation(Action(template.verb, name, relation), text, similarity, understood=True)

    def _nearest(self, said: Vectors, admissible: Sequence[Action]) -> tuple[Action, float]:
        """The first stage; templates of the catalogue, and of known classes that it lacks."""
        listed, vectors = list(self._templates), self._vectors
        fixed = {action for action in admissible if not action.verb.takes_thing}
        allowed = np.array([a.verb.takes_thing or a in fixed for a in listed])
        scores = np.where(allowed, vectors @ said, -1.0)
        best = int(scores.argmax())
        action, similarity = listed[best], float(scores[best])
        known = set(listed)
        others = {
            Action(a.verb, spoken_class(class_of(a.argument)))
            for a in admissible
            if a.verb.takes_thing
        } - known
        if others:
            more = sorted(others, key=str)
            cosines = self._class_vectors([other.words for other in more]) @ said
            if float(cosines.max()) > similarity:
                return more[int(cosines.argmax())], float(cosines.max())
        return action, similarity

    def _instance(self, wanted: str, names: Sequence[str], text: str) -> tuple[str | None, float]:
        """The second stage: the known instance of the nearest class."""
        classes = {spoken_class(class_of(name)): class_of(name) for name in names}
        if not classes:
            return None, 0.0
        nearest, alike = wanted, 1.0
        if wanted not in classes:
            listed = list(classes)
            cosines = self._class_vectors(listed) @ self._class_vectors([wanted])[0]
            nearest, alike = listed[int(cosines.argmax())], float(cosines.max())
        own = [name for name in names if class_of(name) == classes[nearest]]
        return instance_for(own, numbers_in(text)), alike

    def _class_vectors(self, words: Iterable[str]) -> Vectors:
        listed = list(words)
        new = [word for word in listed if word not in self._classes]
        if new:
            self._classes.update(zip(new, self._encoder.embed(new), strict=True))
        return np.stack([self._classes[word] for word in listed])


def make_translator(folder: Path | None, threshold: float | None = None) -> Translator:
    """The translator with an encoder's folder; the plain one if there is none.

    Args:
        folder: of a sentence encoder; see `planner.world.embedding.load_encoder`.
        threshold: below which a reply is not understood; None = the translator's own.

    Raises:
        PlannerError: for a folder that is not an encoder, or without the extra that it needs.
    """
    if folder is None:
        return PlainTranslator() if threshold is None else PlainTranslator(threshold)
    return _loaded(folder, DEFAULT_SIMILARITY if threshold is None else threshold)


@lru_cache(maxsize=4)
def _loaded(folder: Path, threshold: float) -> EncoderTranslator:
    # One for all tasks of a process, since reading the folder and the static list take seconds.
    return EncoderTranslator(load_encoder(folder), threshold)
