"""Words for ideas: sentences of our own, several for each category (ETPLAN-2.1)."""

from __future__ import annotations

import random

from planner.episodes.et_generation.categories import Category
from planner.episodes.et_generation.house_facts import HouseFacts
from planner.episodes.et_generation.idea import Idea, Link
from planner.episodes.generation.nouns import names_of, with_article
from planner.world.catalogue import default_catalogue
from planner.world.graph_file import word_of

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
