"""Pairs of free text and valid action, made from our own lists of actions (LLAMAR-2.6).

Each template of the translator's static list is said in several ways, with the names that the
catalogue has for a class. Ways that are set aside are never trained.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from planner.planning.llamar.actions import Action, Verb
from planner.planning.llamar.encoder_translator import spoken_class, templates
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError

# The paper's number of pairs.
PAPER_PAIRS = 2800

# How models and people say each action; {} is the thing, the direction or the angle.
_TRAINED: Mapping[Verb, tuple[str, ...]] = {
    Verb.NAVIGATE_TO: ("go to the {}", "walk over to the {}", "move to the {}", "approach {}"),
    Verb.PICKUP: ("pick up the {}", "grab the {}", "take {}", "get the {} from there"),
    Verb.PUT: ("put it on the {}", "place the item on the {}", "put the object in the {}"),
    Verb.OPEN: ("open the {}", "open up {}", "pull the {} open"),
    Verb.CLOSE: ("close the {}", "shut the {}", "close {} again"),
    Verb.SLICE: ("slice the {}", "cut the {}", "cut up {}"),
    Verb.CLEAN: ("clean the {}", "wash the {}", "wipe {}"),
    Verb.TOGGLE_ON: ("turn on the {}", "switch the {} on", "turn {} on"),
    Verb.TOGGLE_OFF: ("turn off the {}", "switch the {} off", "turn {} off"),
    Verb.MOVE: ("move {}", "step {}", "go {} a little"),
    Verb.ROTATE: ("rotate {}", "turn {}", "turn to the {}"),
    Verb.LOOK_UP: ("look up {} degrees", "tilt the camera up by {}"),
    Verb.LOOK_DOWN: ("look down {} degrees", "tilt the camera down by {}"),
    Verb.EXPLORE: ("explore the room", "look around", "search for it"),
    Verb.IDLE: ("wait", "do nothing", "stay where you are"),
    Verb.DONE: ("the task is complete", "finished", "everything is done"),
}
_SET_ASIDE: Mapping[Verb, tuple[str, ...]] = {
    Verb.NAVIGATE_TO: ("head towards the {}", "get closer to the {}"),
    Verb.PICKUP: ("lift the {} off", "collect the {}"),
    Verb.PUT: ("drop what I hold at the {}", "set it down on the {}"),
    Verb.OPEN: ("get the {} opened",),
    Verb.CLOSE: ("make sure that the {} is closed",),
    Verb.SLICE: ("chop the {} into pieces",),
    Verb.CLEAN: ("rinse the {}",),
    Verb.TOGGLE_ON: ("power up the {}",),
    Verb.TOGGLE_OFF: ("power down the {}",),
    Verb.MOVE: ("walk one step {}",),
    Verb.ROTATE: ("make a quarter turn to the {}",),
    Verb.LOOK_UP: ("raise the view by {} degrees",),
    Verb.LOOK_DOWN: ("lower the view by {} degrees",),
    Verb.EXPLORE: ("find out what is here",),
    Verb.IDLE: ("hold still for now",),
    Verb.DONE: ("there is nothing left to do",),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and the action that it means, as a template in the words of prompts."""

    text: str
    action: Action


@dataclass(frozen=True, slots=True)
class Pairs:
    """What is trained on, and what is set aside for measuring."""

    trained: tuple[Pair, ...]
    set_aside: tuple[Pair, ...]


def make_pairs(count: int = PAPER_PAIRS, set_aside: int = 400, seed: int = 1) -> Pairs:
    """Draws pairs evenly over the verbs, so that rare verbs are heard as often as common ones.

    Args:
        count: to train on.
        set_aside: to measure with, in other ways of saying.
        seed: of the draw.

    Raises:
        PlannerError: for counts below 1.
    """
    if min(count, set_aside) < 1:
        raise PlannerError(f"pairs: expected at least 1 of each, got {count} and {set_aside}")
    rng = random.Random(seed)
    return Pairs(_drawn(count, _TRAINED, rng), _drawn(set_aside, _SET_ASIDE, rng))


def _drawn(count: int, ways: Mapping[Verb, Sequence[str]], rng: random.Random) -> tuple[Pair, ...]:
    by_verb: dict[Verb, list[Action]] = {}
    for action in templates():
        by_verb.setdefault(action.verb, []).append(action)
    names = _names()
    pairs = []
    for number in range(count):
        verb = [*by_verb][number % len(by_verb)]
        action = rng.choice(by_verb[verb])
        thing = rng.choice(names.get(action.argument, (action.argument.lower(),)))
        pairs.append(Pair(rng.choice(ways[verb]).format(thing), action))
    rng.shuffle(pairs)
    return tuple(pairs)


def say(
    verb: Verb, argument: str, rng: random.Random, *, is_trained: bool, number: str = ""
) -> str:
    """An action in free text, for measuring.

    Args:
        verb: of the action.
        argument: the class in words ("floor lamp"), a direction or an angle; "" = none.
        rng: chooses the way, and any of the catalogue's words for the class.
        is_trained: in one of the ways that are trained, or else that are set aside.
        number: follows the thing, such as " 2".
    """
    thing = rng.choice(_names().get(argument, (argument,)))
    ways = _TRAINED if is_trained else _SET_ASIDE
    return rng.choice(ways[verb]).format(thing + number)


@lru_cache(maxsize=1)
def _names() -> dict[str, tuple[str, ...]]:
    """The catalogue's words for each class, itself among them."""
    catalogue = default_catalogue()
    named = {cls.name: cls.aliases for cls in catalogue.objects.values()}
    named |= {cls.name: cls.aliases for cls in catalogue.furniture.values()}
    return {
        spoken_class(name): tuple(spoken_class(word) for word in (name, *aliases))
        for name, aliases in named.items()
    }
