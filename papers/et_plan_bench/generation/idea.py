"""Ideas of tasks before their plans, those with occluded targets, and words for them."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from papers.et_plan_bench.generation.categories import Category, Variant
from papers.et_plan_bench.generation.house_facts import HouseFacts
from planner.episodes.spots import names_of, with_article
from planner.models.caller import BlockingLoop, Caller
from planner.models.chat import ChatModel, Message, Role, Speaker
from planner.models.replies.form import ReplyError, ReplyForm, check_length
from planner.world.catalogue import default_catalogue
from planner.world.episode import ROBOT, Criteria, Episode, Triple
from planner.world.graph_file import word_of

RelationWord = Literal["CLOSE", "INSIDE", "ON", "FACING"]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation, ON, INSIDE, CLOSE or FACING, to an entity or room by name."""

    relation: RelationWord
    name: str


@dataclass(frozen=True, slots=True)
class Idea:
    """Who is what; names are entities of the house, which the reference plan uses.

    Attributes:
        target: A, to find or to bring.
        second: A2, to bring as well.
        source: how A stands at the start: to B.
        nest: where A goes first: into B.
        place: where everything goes: on or into C.
        room: D, where C is.
    """

    category: Category
    target: str
    second: str = ""
    source: Link | None = None
    nest: Link | None = None
    place: Link | None = None
    room: str = ""

    @property
    def letters(self) -> dict[str, str]:
        """The entities by their letters, as the criteria have them."""
        named = {"A": self.target, "A2": self.second}
        named["B"] = self.source.name if self.source else self.nest.name if self.nest else ""
        named["C"] = self.place.name if self.place else ""
        named["D"] = self.room
        return {letter: name for letter, name in named.items() if name}

    def variables(self, facts: HouseFacts) -> dict[str, tuple[str, ...]]:
        """What each letter may stand for: all of its class, the plan's own first."""
        return {
            letter: (name, *(n for n in facts.of_class[facts.class_of(name)] if n != name))
            for letter, name in self.letters.items()
        }

    def intermediate(self) -> Iterator[Triple]:
        """What has to hold on the way (ETPLAN-4.3)."""
        if self.source is not None:
            if self.place is not None:
                yield ("CLOSE", ROBOT, "A")
            yield (self.source.relation, "A", "B")
        if self.nest is not None:
            yield from (("CLOSE", ROBOT, "A"), ("CLOSE", ROBOT, "B"))
            yield (self.nest.relation, "A", "B")

    def success(self) -> Iterator[Triple]:
        """What has to hold at the end (ETPLAN-4.3)."""
        if self.place is None:
            yield ("CLOSE", ROBOT, "A")
            return
        relation = self.place.relation
        if self.nest is not None:
            yield ("CLOSE", ROBOT, "C")
            yield (relation, "B", "C")
            yield (self.nest.relation, "A", "B")
            return
        if self.source is None:
            yield ("CLOSE", ROBOT, "A")
            if self.second:
                yield ("CLOSE", ROBOT, "A2")
        yield ("CLOSE", ROBOT, "C")
        if self.room:
            yield ("INSIDE", "C", "D")
        yield (relation, "A", "C")
        if self.second:
            yield (relation, "A2", "C")


# Occlusion: the fifth of a category's tasks with the smallest, or the farthest, targets.
#
# Size is the volume of the target's box, distance is on the floor plane from the robot's start to
# the target (ETPLAN-4.4).

_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Target:
    """What a task's target is like.

    Attributes:
        volume_m3: of its box.
        distance_m: from the robot at the start.
    """

    volume_m3: float
    distance_m: float


def target_of(episode: Episode, facts: HouseFacts) -> Target:
    """The target of a task: A, as its own plan means it."""
    criteria = _criteria(episode)
    entity = facts.entities[criteria.variables["A"][0]]
    start = episode.agents[0].start or (0.0, 0.0, 0.0)
    return Target(entity.volume_m3, math.dist(start[:2], entity.middle_m[:2]))


def hardest(targets: Mapping[str, Target], variant: Variant) -> frozenset[str]:
    """The ids of round(0.2 n) of n tasks: 167 of 834, 135 of 674 (ETPLAN-C9, ETPLAN-C10)."""
    keys: dict[Variant, Callable[[str], float]] = {
        Variant.OCCLUSION_SIZE: lambda name: targets[name].volume_m3,
        Variant.OCCLUSION_DISTANCE: lambda name: -targets[name].distance_m,
    }
    key = keys[variant]
    ordered = sorted(targets, key=lambda name: (key(name), name))
    return frozenset(ordered[: round(_SHARE * len(ordered))])


def marked(episodes: Sequence[Episode], facts: Mapping[str, HouseFacts]) -> list[Episode]:
    """The tasks with their variants of occlusion; those of a category and its arms are compared.

    Args:
        episodes: tasks without these variants.
        facts: of their houses by name.
    """
    groups: dict[tuple[object, ...], dict[str, Target]] = {}
    for episode in episodes:
        criteria = _criteria(episode)
        group = (criteria.category, criteria.prior, criteria.arms)
        target = target_of(episode, facts[episode.house])
        groups.setdefault(group, {})[episode.episode_id] = target
    variants: dict[str, list[Variant]] = {}
    for targets in groups.values():
        for variant in (Variant.OCCLUSION_SIZE, Variant.OCCLUSION_DISTANCE):
            for name in hardest(targets, variant):
                variants.setdefault(name, []).append(variant)
    return [_with(episode, variants.get(episode.episode_id, ())) for episode in episodes]


def _with(episode: Episode, variants: Iterable[Variant]) -> Episode:
    criteria = _criteria(episode)
    update = {"variants": (*criteria.variants, *map(str, variants))}
    return episode.model_copy(update={"criteria": criteria.model_copy(update=update)})


def _criteria(episode: Episode) -> Criteria:
    if episode.criteria is None:
        raise ValueError(f"{episode.episode_id} has no criteria")
    return episode.criteria


# Words for ideas: sentences of our own, several for each category (ETPLAN-2.1).

_SENTENCES: dict[Category, tuple[str, ...]] = {
    Category.NAVIGATION: (
        "Find {A}.",
        "Go to {A}.",
        "Please look for {A} and stop next to it.",
        "Locate {A} and go there.",
        "Where is {A}? Please go there.",
    ),
    Category.NAVIGATION_RELATION: (
        "Find {A} {AB}.",
        "Go to {A} {AB}.",
        "Please look for {A} {AB} and stop next to it.",
        "Locate {A} that is {AB} and go there.",
        "Where is {A} {AB}? Please go there.",
    ),
    Category.MANIPULATION: (
        "Put {A} {AC}.",
        "Find {A} and put it {AC}.",
        "Please take {A} and place it {AC}.",
        "Look for {A}, pick it up, and put it {AC}.",
    ),
    Category.MANIPULATION_RELATION: (
        "Find {A} that is {AB} and put it {AC} that is {CD}.",
        "Take {A} that is {AB}, and place it {AC} that is {CD}.",
        "Please find {A} {AB}. Then put it {AC} {CD}.",
        "Look for {A} {AB}, pick it up, and put it {AC} {CD}.",
    ),
    Category.TWO_OBJECTS: (
        "Put {A} and {A2} {AC}.",
        "Find {A} and {A2}, and put both {AC}.",
        "Please place {A} and {A2} {AC}.",
        "Take {A} and {A2}, and put them {AC}.",
    ),
    Category.TEMPORAL: (
        "Put {A} {AB}, then put {theB} {BC}.",
        "First put {A} {AB}. Then place {theB}, with what is {there}, {BC}.",
        "Find {A} and put it {AB}. After that, take {theB} and put it {BC}.",
    ),
}
_RELATIONS = {
    "ON": ("on",),
    "INSIDE": ("in", "inside"),
    "CLOSE": ("close to", "near"),
    "FACING": ("facing",),
}
# Classes whose own name is not a word.
_SPELT = {"baseballbat": "baseball bat", "c-clamp": "clamp"}
_INTO = {"ON": ("on", "onto"), "INSIDE": ("in", "into")}


class NoNameError(Exception):
    """A class has no plain name of which nothing else in the house is called."""


class Phrasing:
    """The words for one house."""

    def __init__(self, facts: HouseFacts) -> None:
        self._facts = facts
        self._nouns: dict[str, str] = {}

    def text(self, idea: Idea, rng: random.Random) -> str:
        """A sentence.

        Raises:
            NoNameError: if something has no plain name.
        """
        slots = {letter: self.named(name) for letter, name in idea.letters.items()}
        if idea.source is not None:
            slots["AB"] = self._related(idea.source, rng)
        if idea.nest is not None:
            slots["AB"] = self._moved(idea.nest, rng)
            slots["theB"] = f"the {self.noun(idea.nest.name)}"
            slots["there"] = "in it" if idea.nest.relation == "INSIDE" else "on it"
        if idea.place is not None:
            slots["AC"] = slots["BC"] = self._moved(idea.place, rng)
        if idea.room:
            slots["CD"] = f"in {self.named(idea.room)}"
        return rng.choice(_SENTENCES[idea.category]).format(**slots)

    def named(self, name: str) -> str:
        """An entity with its article: `the` if it is the only one of its class."""
        noun = self.noun(name)
        alone = len(self._facts.of_class[self._facts.class_of(name)]) == 1
        return f"the {noun}" if alone else with_article(noun)

    def noun(self, name: str) -> str:
        """What an entity's class is called.

        Raises:
            NoNameError: if no plain name means only that class in this house.
        """
        cls = self._facts.class_of(name)
        if cls not in self._nouns:
            self._nouns[cls] = self._noun_of(cls)
        if not self._nouns[cls]:
            raise NoNameError
        return self._nouns[cls]

    def _noun_of(self, cls: str) -> str:
        catalogue = default_catalogue()
        known = (catalogue.objects, catalogue.furniture, catalogue.rooms)
        if not any(cls in table for table in known):
            # A class of a graph, in its own word.
            return word_of(cls).replace("_", " ")
        names = names_of(cls, self._facts.of_class)
        return _SPELT.get(cls) or next(iter(names), "")

    def _related(self, link: Link, rng: random.Random) -> str:
        words = ("in",) if link.name in self._facts.room_class else _RELATIONS[link.relation]
        return f"{rng.choice(words)} {self.named(link.name)}"

    def _moved(self, link: Link, rng: random.Random) -> str:
        return f"{rng.choice(_INTO[link.relation])} {self.named(link.name)}"


# What a model says about ideas: whether they make sense, and in which words (ETPLAN-2.4).


class RejectedIdeaError(Exception):
    """An idea that becomes no task; the text is the reason, without names."""


# A chat model that filters ideas and words them anew, with questions of our own (ETPLAN-2.4).

UNREASONABLE = "the model calls it unreasonable"
PROSE = "the model's answer is neither Reasonable nor Unreasonable"
# A malformed answer is asked for once more.
_ATTEMPTS = 2
_MAX_WORDS = 60
_Value = TypeVar("_Value")

_COMMON = (
    "You check tasks for a household robot before anybody gives them to it. Answer with exactly "
    "one word, Reasonable or Unreasonable, and nothing else. A task is reasonable only if all of "
    "this is true:\n"
)
_RULES: dict[Category, tuple[str, ...]] = {
    Category.TWO_OBJECTS: (
        "A person can hold the first thing in one hand.",
        "A person can hold the second thing in one hand.",
        "Both things together are smaller than the place where they go.",
        "The two things have something to do with each other, as two fruits or a cup and a plate.",
        "Somebody might really ask for it: nobody keeps a book in a frying pan.",
    ),
    Category.TEMPORAL: (
        "A person can hold the first thing in one hand.",
        "A person can hold the second thing in one hand.",
        "The first thing is smaller than the second one.",
        "Both together are smaller than the place where they go.",
        "There is a reason to put the first thing into or onto the second one, such as order.",
        "Somebody might really ask for it: nobody puts a phone in a pot and that into a sink.",
    ),
}
_OTHER_RULES = (
    "What is to be carried can be held in one hand by a person.",
    "What is to be carried is smaller than the place where it goes.",
    "It is clear which things are meant.",
    "Somebody might really ask for it.",
)
_WORDING = (
    "Say the following request to a household robot in other, natural words. Keep every thing, "
    "place and room by its name, keep the order, and add nothing. Answer with the request alone, "
    "in one line."
)


@dataclass(frozen=True)
class Judgement:
    """The form of an answer to the filter; white space around it is ignored (ETPLAN-C6)."""

    grammar: str = 'root ::= "Reasonable" | "Unreasonable"\n'
    stop: tuple[str, ...] = ()
    max_tokens: int = 8

    def read(self, text: str, *, ended: bool) -> bool:  # noqa: ARG002 - one word is one word
        """Whether the task is reasonable.

        Raises:
            ReplyError: for anything but one of both words.
        """
        check_length(text)
        word = text.strip()
        if word not in ("Reasonable", "Unreasonable"):
            raise ReplyError(PROSE)
        return word == "Reasonable"


@dataclass(frozen=True)
class Wording:
    """The form of a request in other words, which has to name everything.

    Attributes:
        nouns: what it has to contain.
    """

    nouns: tuple[str, ...]
    grammar: str = "root ::= [A-Z] [A-Za-z0-9 ,.;:?'-]{8,240} [.?]\n"
    stop: tuple[str, ...] = ("\n",)
    max_tokens: int = 100

    def read(self, text: str, *, ended: bool) -> str:
        """The request.

        Raises:
            ReplyError: if it is not one line that names everything.
        """
        check_length(text)
        line = " ".join(text.split())
        if not ended or not line or len(line.split()) > _MAX_WORDS or "\n" in text.strip():
            raise ReplyError("the wording is not one line")
        missing = [noun for noun in self.nouns if noun not in line.lower()]
        if missing:
            raise ReplyError(f"the wording does not name {missing[0]}")
        return line


class ModelCritic:
    """Asks for each idea: first whether it is reasonable, then for words.

    Attributes:
        unworded: how many texts stayed as they were, as the model's were of no use.
    """

    def __init__(self, model: ChatModel) -> None:
        self._caller = Caller("generate", model, Role.GENERATOR, deadline_s=60.0, constrained=True)
        self._loop = BlockingLoop()
        self.unworded: Counter[str] = Counter()

    def judged(self, idea: Idea, text: str, phrasing: Phrasing) -> str:
        """The text to use.

        Raises:
            RejectedIdeaError: if the model calls it unreasonable, or answers with prose twice.
            ModelError: if the model gives no reply.
        """
        rules = _RULES.get(idea.category, _OTHER_RULES)
        listed = "\n".join(f"{number}. {rule}" for number, rule in enumerate(rules, start=1))
        answer = self._ask(_COMMON + listed, f"Task: {text}", Judgement())
        if answer is None:
            raise RejectedIdeaError(PROSE)
        if not answer:
            raise RejectedIdeaError(UNREASONABLE)
        nouns = tuple(phrasing.noun(name) for name in idea.letters.values())
        worded = self._ask(_WORDING, text, Wording(nouns))
        if worded is None:
            self.unworded["kept in our own words, as the model's do not name everything"] += 1
        return worded or text

    def _ask(self, rules: str, question: str, form: ReplyForm[_Value]) -> _Value | None:
        """The answer; None if both attempts are malformed."""
        messages = (Message(Speaker.SYSTEM, rules), Message(Speaker.USER, question))
        for _ in range(_ATTEMPTS):
            reply = self._loop.run(self._caller.ask(messages, form))
            try:
                return reply.accepted()
            except ReplyError:
                continue
        return None

    def close(self) -> None:
        """Ends the thread of the calls."""
        self._loop.close()
