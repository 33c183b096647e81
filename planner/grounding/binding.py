"""Binds noun phrases to known things, and tells apart those that fit alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pydantic import JsonValue

from planner.grounding.drafts import Fitting
from planner.grounding.records import (
    Alternative,
    Missing,
    OpenEnded,
    Question,
    Unbound,
    Why,
    words_of,
)
from planner.grounding.scene import Scene, Thing, classes_of
from planner.grounding.spots import key_of
from planner.language.goal_form import (
    Anchor,
    Description,
    Mention,
    NounPhrase,
    OneOf,
)
from planner.language.interpretation import AnswerSort, read_answer
from planner.language.lexicon import Amount, Bound
from planner.language.reading import Ask, AskReason
from planner.world.catalogue import word_key
from planner.world.vocabulary import EntityKind, Relation

# How several things that fit alike are told apart, in a question and by its answer.

# How an answer to "where are you" may begin.
_SELF = re.compile(r"^\s*(i am|i'm|we are|we're)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person chose where several things fit alike.

    Attributes:
        names: of the chosen things; empty if any of them will do.
        places: the room or furniture that told them apart.
        every: all of the names are meant, not one.
    """

    names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    every: bool = False

    def of(self, scene: Scene, candidates: Sequence[str]) -> list[str]:
        """The chosen ones of the things that fit; all if none of them was offered."""
        named = [name for name in candidates if name in self.names]
        there = [
            name
            for name in candidates
            if not {scene.things[name].room, scene.things[name].parent}.isdisjoint(self.places)
        ]
        return named or there or list(candidates)


def alternatives(scene: Scene, things: Sequence[Thing]) -> tuple[Alternative, ...]:
    """How to tell things apart in words; empty if there is no way, so that any will do."""
    best: dict[str, Alternative] = {}
    for told in (_by_color, _by_room, _by_parent, _by_parent_in_room):
        groups: dict[str, Alternative] = {}
        for thing in things:
            words, places = told(scene, thing)
            words = words if words.startswith("the ") else f"the one {words}"
            known = groups.get(words, Alternative(words, ()))
            at = tuple(dict.fromkeys((*known.places, *places)))
            groups[words] = Alternative(words, (*known.names, thing.name), at)
        if len(groups) > len(best):
            best = groups
    return tuple(best.values()) if len(best) > 1 else ()


def choice_of(question: Question, text: str, scene: Scene) -> Choice | None:
    """What an answer chooses; None if it is not clear."""
    # In an answer "the blue one" stands for "the other bowl", too.
    words = question.words.replace("the other ", "the ", 1)
    answer = read_answer(words, Ask(words=(words,), reason=question.reason), _SELF.sub("", text))
    offered = question.alternatives
    everything = tuple(name for one in offered for name in one.names)
    if answer.sort is AnswerSort.ANY:
        return Choice()
    if answer.sort is AnswerSort.ALL:
        return Choice(everything, every=True)
    if answer.sort is AnswerSort.OPTION and answer.option is not None:
        at = answer.option - 1 if answer.option > 0 else len(offered) + answer.option
        return _chosen([offered[at]]) if 0 <= at < len(offered) else None
    names: Iterable[str] = ()
    fitting = Fitting(scene, {})
    if answer.things is not None:
        names = fitting.names(answer.things)
    if answer.places:
        names = (name for place in answer.places for name in fitting.names(place.anchor))
    meant = set(names)
    hit = [one for one in offered if meant.intersection((*one.names, *one.places))]
    return _chosen(hit) if hit and len(hit) < len(offered) else None


def _chosen(offered: Sequence[Alternative]) -> Choice:
    names = tuple(name for one in offered for name in one.names)
    return Choice(names, tuple(place for one in offered for place in one.places))


def choice_json(key: str, choice: Choice) -> dict[str, JsonValue]:
    """A choice as it is published with the goal."""
    return {
        "about": key,
        "names": list(choice.names),
        "places": list(choice.places),
        "every": choice.every,
    }


def choices_of(document: Sequence[JsonValue]) -> Mapping[str, Choice]:
    """Choices from what was published; what is none is ignored."""
    found: dict[str, Choice] = {}
    for item in document:
        if isinstance(item, dict) and isinstance(item.get("about"), str):
            found[str(item["about"])] = Choice(
                _texts(item.get("names")), _texts(item.get("places")), item.get("every") is True
            )
    return found


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


_Told = tuple[str, tuple[str, ...]]


def _by_color(_scene: Scene, thing: Thing) -> _Told:
    return (f"the {thing.color} one" if thing.color else "", ())


def _by_room(scene: Scene, thing: Thing) -> _Told:
    if thing.kind is EntityKind.ROOM or thing.room is None:
        return ("", ())
    return (f"in the {_word(scene, thing.room)}", (thing.room,))


def _by_parent(scene: Scene, thing: Thing) -> _Told:
    parent = scene.things.get(thing.parent or "")
    if parent is None or parent.kind is EntityKind.ROOM:
        return _by_room(scene, thing)
    how = "in" if thing.relation is Relation.WITHIN else "on"
    if parent.kind is EntityKind.AGENT:
        return (f"that {parent.name} holds", (parent.name,))
    return (f"{how} the {_word(scene, parent.name)}", (parent.name,))


def _by_parent_in_room(scene: Scene, thing: Thing) -> _Told:
    words, places = _by_parent(scene, thing)
    room, _ = _by_room(scene, thing)
    return (words if words == room else f"{words} {room}", places)


def _word(scene: Scene, name: str) -> str:
    known = scene.things.get(name)
    return word_key(known.class_name if known is not None else name.rpartition("_")[0])


_LEAST = {Amount.SOME: 2, Amount.FEW: 3}
NO_PURPOSES: Mapping[str, frozenset[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Former:
    """What a former goal has settled for the same descriptions, in words.

    Attributes:
        excluded: names that a description no longer means.
    """

    bound: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    choices: Mapping[str, Choice] = field(default_factory=dict)
    excluded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# Of these any one is as good as another, even in another room.
_ALIKE = frozenset({"floor", "trash_can"})


@dataclass(frozen=True, slots=True)
class Binding:
    """The known things that a noun phrase stands for.

    Attributes:
        key: of the description, the same for the same things.
        number: how many of the names are meant; all of them if it equals their number.
        loose: any of the names will do each time.
    """

    key: str
    names: tuple[str, ...]
    number: int
    loose: bool = False

    @property
    def is_choice(self) -> bool:
        """Whether only some of the names are meant."""
        return self.number < len(self.names)

    @property
    def parts(self) -> list[tuple[tuple[str, ...], int]]:
        """The names and the number of each proposition about them."""
        if self.is_choice:
            return [(self.names, self.number)]
        return [((name,), 1) for name in self.names]

    @property
    def tie(self) -> str:
        """The key, where it is open which of the names is meant, but the same each time."""
        return self.key if self.is_choice and not self.loose else ""


@dataclass(slots=True)
class Open:
    """What remains open, by the key of the description and the request that needs it."""

    missing: dict[tuple[str, int], Missing] = field(default_factory=dict)
    open_ended: dict[tuple[str, int], OpenEnded] = field(default_factory=dict)
    questions: dict[tuple[str, int], Question] = field(default_factory=dict)
    unbound: list[Unbound] = field(default_factory=list)


class Bindings:
    """The noun phrases of a goal, in their order.

    Args:
        scene: as things were at first.
        choices: answers by key.
        bound: what was bound before.
        searched: keys of descriptions of which nothing more can be found.
        settle: never ask.
        tied: a definite description that several fit stands for the same one each time.
        purposes: what is rather meant by definite descriptions, by key.
        former: what was bound and answered for a former goal, by descriptions in words.
    """

    def __init__(
        self,
        scene: Scene,
        choices: Mapping[str, Choice],
        bound: Mapping[str, tuple[str, ...]],
        searched: frozenset[str],
        *,
        settle: bool,
        tied: bool = False,
        purposes: Mapping[str, frozenset[str]] = NO_PURPOSES,
        former: Former | None = None,
    ) -> None:
        self._scene, self.purposes = scene, purposes
        self.former = former or Former()
        self.words: dict[str, str] = {}
        self._choices = choices
        self.bound: dict[str, tuple[str, ...]] = dict(bound)
        self._searched = searched
        self.settle, self.tied = settle, tied
        self._labels: dict[str, Binding] = {}
        self._failures: dict[str, Sequence[Unbound]] = {}
        self._labelled: dict[str, tuple[str, ...]] = {}
        self.fitting = Fitting(scene, self._labelled)
        self.open = Open()

    def bind(
        self,
        phrase: NounPhrase | Anchor,
        path: str,
        request: int,
        *,
        able: Mapping[str, str] | None = None,
        likely: frozenset[str] = frozenset(),
        quiet: bool = False,
    ) -> Binding | None:
        """Binds a phrase.

        Args:
            phrase: no spot.
            path: where it is in the goal.
            request: index of the request.
            able: the reason for each name that cannot be meant here.
            likely: what is rather meant than others that fit a definite description.
            quiet: nothing is looked for or asked.

        Returns:
            None if nothing can be bound yet, or ever; `open` says what for.
        """
        if isinstance(phrase, Mention):
            return self._mentioned(phrase, request)
        if isinstance(phrase, OneOf):
            return self._one_of(phrase, path, request, able or {}, likely, quiet=quiet)
        if not isinstance(phrase, Description):
            return None
        failures = len(self.open.unbound)
        found = _OneDescription(self, phrase, path, request, able or {}, likely, quiet=quiet).bind()
        if found is not None and phrase.label is not None:
            self._labels[phrase.label] = found
            self._labelled[phrase.label] = found.names
        elif phrase.label is not None:
            self._failures[phrase.label] = self.open.unbound[failures:]
        return found

    def _mentioned(self, mention: Mention, request: int) -> Binding | None:
        """What the label stands for; why it stands for nothing holds for its mentions too."""
        for failure in self._failures.get(mention.label, ()):
            self.open.unbound.append(replace(failure, request=request))
        return self._labels.get(mention.label)

    def exists(self, phrase: NounPhrase, path: str, request: int) -> bool | None:
        """Whether something fits a condition; None if it is not known yet."""
        if self.fitting.names(phrase):
            return True
        key = key_of(phrase, path)
        if self.is_settled(key):
            return False
        if isinstance(phrase, Description):
            words, where = words_of(phrase), self.places_of(phrase)
            self.open.missing[key, request] = Missing(
                key, request, words, classes_of(phrase.kind), where, 1, condition=True
            )
        return None

    def is_settled(self, key: str) -> bool:
        """Whether nothing more can be found."""
        return self._scene.complete or key in self._searched

    def labelled(self, label: str) -> Binding | None:
        """What a label stands for so far."""
        return self._labels.get(label)

    def class_of(self, name: str) -> str:
        """The class of a thing."""
        return self._scene.things[name].class_name

    def things(self, names: Sequence[str]) -> list[Thing]:
        """The things of some names."""
        return [self._scene.things[name] for name in names]

    def places_of(self, phrase: Description) -> tuple[str, ...]:
        """Rooms and furniture where a thing must be; empty for anywhere."""
        return tuple(n for place in phrase.where for n in self.fitting.names(place.anchor))

    def chosen(self, key: str, candidates: Sequence[str]) -> tuple[list[str], Choice | None]:
        """The candidates that an answer leaves."""
        choice = self._choices.get(key, self.former.choices.get(self.words.get(key, "")))
        if choice is None:
            return list(candidates), None
        return choice.of(self._scene, candidates), choice

    def differ(self, names: Sequence[str], key: str, request: int, words: str) -> bool:
        """Asks which of several is meant; False if they cannot be told apart or asked about."""
        options = () if self.settle else alternatives(self._scene, self.things(names))
        if not options:
            return False
        self.open.questions[key, request] = Question(key, request, words, AskReason.WHICH, options)
        return True

    def _one_of(
        self,
        phrase: OneOf,
        path: str,
        request: int,
        able: Mapping[str, str],
        likely: frozenset[str],
        *,
        quiet: bool,
    ) -> Binding | None:
        """The first alternative of which enough is known; in truth any of them is as good."""
        found = []
        for k, inner in enumerate(phrase.one_of):
            inner_path = f"{path}.{k}"
            found.append(
                self.bind(inner, inner_path, request, able=able, likely=likely, quiet=True)
            )
        known = [binding for binding in found if binding is not None]
        if self.settle and known:
            names = tuple(dict.fromkeys(n for binding in known for n in binding.names))
            return Binding(path, names, min(b.number for b in known), loose=True)
        if known:
            return known[0]
        first = phrase.one_of[0]
        return self.bind(first, f"{path}.0", request, able=able, likely=likely, quiet=quiet)


@dataclass
class _OneDescription:
    """Binds one description."""

    bindings: Bindings
    phrase: Description
    path: str
    request: int
    able: Mapping[str, str]
    likely: frozenset[str]
    quiet: bool

    def __post_init__(self) -> None:
        self.key = key_of(self.phrase, self.path)
        self.likely = self.likely or self.bindings.purposes.get(self.key, self.likely)
        self.settled = self.bindings.is_settled(self.key)

    def bind(self) -> Binding | None:
        former, words = self.bindings.former, self._words
        self.bindings.words[self.key] = words
        gone = former.excluded.get(words, ())
        fits = [name for name in self.bindings.fitting.names(self.phrase) if name not in gone]
        names = [name for name in fits if name not in self.able]
        none_can = fits and not names and self.phrase.count is not Amount.ALL
        if none_can and (self.settled or not self._may_others(fits)):
            self._fail(Why.UNFIT, self.able[fits[0]])
            return None
        names, choice = self.bindings.chosen(self.key, names)
        bound = self.bindings.bound.get(self.key, former.bound.get(words, ()))
        before = [n for n in bound if n not in self.able]
        found = self._every(names, before) if self._means_all else self._some(names, before, choice)
        if found is not None:
            self.bindings.bound[self.key] = found.names
        return found

    def _may_others(self, unable: Sequence[str]) -> bool:
        """Whether things of other classes could fit: a watered plant is not a watering can."""
        known = {self.bindings.class_of(name) for name in unable}
        return not known.issuperset(self._classes)

    @property
    def _means_all(self) -> bool:
        return self.phrase.count is Amount.ALL

    def _every(self, names: Sequence[str], before: Sequence[str]) -> Binding | None:
        known = tuple(dict.fromkeys([*before, *names]))
        if not self.settled and not self.quiet:
            self.bindings.open.open_ended[self.key, self.request] = OpenEnded(
                self.key, self.request, self._words, self._classes, self._where
            )
        if not known:
            if self.settled:
                self._fail(Why.DONE if self._are_elsewhere else Why.NONE, self._none)
            return None
        number = len(known) - self._taken_from(known)
        return Binding(self.key, known, number) if number > 0 else None

    def _taken_from(self, names: Sequence[str]) -> int:
        """How many of some names are "one of them", where it is open which: the rest are meant."""
        ones = (self.bindings.labelled(label) for label in self.phrase.other_than)
        return sum(
            one.number
            for one in ones
            if one is not None and one.is_choice and set(one.names) <= set(names)
        )

    def _some(
        self, names: Sequence[str], before: Sequence[str], choice: Choice | None
    ) -> Binding | None:
        phrase = self.phrase
        number = _LEAST[phrase.count] if isinstance(phrase.count, Amount) else phrase.count
        if phrase.bound is Bound.AT_MOST:
            # Fewer are as right, and nothing measures a maximum.
            number = 1
        if choice is not None and choice.every:
            number = max(number, len(names))
        elif choice is not None and phrase.definite and len(names) < number:
            others = self._others(names, number - len(names))
            if others is None:
                return None
            names = [*names, *others]
        if phrase.definite:
            known = tuple(dict.fromkeys([*before, *names])) if len(before) < number else (*before,)
        else:
            known = tuple(dict.fromkeys([*before, *names]))
        if len(known) < number:
            self._lack(number - len(known), len(known))
        if not known:
            return None
        likely = tuple(name for name in known if name in self.likely)
        if phrase.definite and choice is None and not before and len(likely) >= number:
            known = likely
        number = min(number, len(known))
        may_ask = phrase.definite and choice is None and not self.quiet
        if may_ask and number < len(known) and not self._are_alike(known):
            asked = self.bindings.differ(known, self.key, self.request, self._words)
            if asked:
                return None
        loose = phrase.definite and number < len(known) and not self.bindings.tied
        return Binding(self.key, known, number, loose)

    def _others(self, chosen: Sequence[str], count: int) -> Sequence[str] | None:
        """More of what fits, where an answer named too few; None if it is asked which."""
        rest = [
            name
            for name in self.bindings.fitting.names(self.phrase)
            if name not in chosen and name not in self.able
        ]
        if len(rest) <= count:
            return rest
        key = f"{self.key} other than {' '.join(chosen)}"
        left, choice = self.bindings.chosen(key, rest)
        words = words_of(self.phrase.model_copy(update={"count": count, "elsewhere": True}))
        may_ask = choice is None and not self.quiet
        if may_ask and self.bindings.differ(rest, key, self.request, words):
            return None
        if choice is None or len(left) >= count:
            return left[:count]
        more = self._others([*chosen, *left], count - len(left))
        return None if more is None else [*left, *more]

    def _lack(self, count: int, known: int) -> None:
        if self.settled:
            if known:
                self._fail(Why.TOO_FEW, f"There are only {known} of {self._words}.")
            else:
                self._fail(Why.NONE, self._none)
        elif not self.quiet:
            self.bindings.open.missing[self.key, self.request] = Missing(
                self.key, self.request, self._words, self._classes, self._where, count
            )

    def _fail(self, why: Why, text: str) -> None:
        if not self.quiet:
            self.bindings.open.unbound.append(Unbound(self.request, self._words, why, text))

    @property
    def _words(self) -> str:
        return words_of(self.phrase)

    @property
    def _none(self) -> str:
        plain = {"definite": False, "count": 1, "but": (), "other_than": (), "elsewhere": False}
        words = words_of(self.phrase.model_copy(update=plain))
        other = "other " if self.phrase.other_than or self.phrase.but else ""
        return f"There is no {other}{words.removeprefix('a ')}."

    @property
    def _are_elsewhere(self) -> bool:
        """Whether none is left: there are such things, and the place is there, but not there."""
        wheres = [self.bindings.fitting.names(place.anchor) for place in self.phrase.where]
        anywhere = self.phrase.model_copy(update={"where": (), "states": (), "but": ()})
        is_there_any = self.phrase.kind == "thing" or self.bindings.fitting.names(anywhere)
        return all(wheres) and bool(is_there_any)

    def _are_alike(self, names: Sequence[str]) -> bool:
        things = self.bindings.things(names)
        return all(thing.class_name in _ALIKE for thing in things) and not self.phrase.where

    @property
    def _classes(self) -> tuple[str, ...]:
        return classes_of(self.phrase.kind)

    @property
    def _where(self) -> tuple[str, ...]:
        return self.bindings.places_of(self.phrase)
