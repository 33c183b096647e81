"""Keeps what planners are evaluated on out of their training."""

from __future__ import annotations

import gzip
import json
from functools import lru_cache

from planner.houses.shipped import shipped_houses
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.share import config_dir

_SPLITS = ("val", "test")


class LeakError(PlannerError):
    """Something that is for evaluation was about to be trained on."""


def check_is_training(episode: Episode, house: House) -> None:
    """Refuses an episode that planners are evaluated on, or one like it.

    Raises:
        LeakError: naming the house, the episode, or the wording.
    """
    what = f"{episode.episode_id}: cannot be trained on:"
    if episode.split in _SPLITS:
        raise LeakError(f"{what} its split is {episode.split}")
    houses, episodes, wordings = evaluated()
    if house.name in houses:
        raise LeakError(f"{what} planners are evaluated in the house {house.name}")
    if episode.episode_id in episodes:
        raise LeakError(f"{what} it is an episode of a suite for evaluation")
    if wording(episode.instruction) in wordings:
        raise LeakError(f"{what} its instruction is one of a suite for evaluation")


def check_words(what: str, house: str, instruction: str) -> None:
    """Refuses an instruction of no episode, where planners are evaluated on it or in the house.

    Raises:
        LeakError: naming the house or the wording.
    """
    houses, _, wordings = evaluated()
    if house in houses:
        raise LeakError(
            f"{what}: cannot be trained on: planners are evaluated in the house {house}"
        )
    if wording(instruction) in wordings:
        raise LeakError(
            f"{what}: cannot be trained on: its instruction is one of a suite for evaluation"
        )


def wording(instruction: str) -> str:
    """An instruction without what does not matter: case, blanks, marks."""
    return " ".join("".join(c if c.isalnum() else " " for c in instruction.lower()).split())


@lru_cache(maxsize=1)
def evaluated() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Houses, episodes and wordings of the shipped suites for evaluation."""
    houses = {path.stem for path in shipped_houses() if path.parent.name == "heldout"}
    shipped = sorted((config_dir() / "episodes" / "heldout").glob("*.json"))
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in shipped]
    for path in sorted((config_dir() / "suites").glob("partnr_*.json.gz")):
        # Shipped files, so they need no check, which takes seconds for thousands of episodes.
        pack = json.loads(gzip.decompress(path.read_bytes()))
        houses |= {house["name"] for house in pack["houses"]}
        documents += pack["episodes"]
    episodes = {document["episode_id"]: document["instruction"] for document in documents}
    return frozenset(houses), frozenset(episodes), frozenset(map(wording, episodes.values()))
