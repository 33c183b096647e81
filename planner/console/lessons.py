"""Four episodes to practise with, one of each type of task, all in one house (PARTNR-10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.console.table import Json
from planner.world.episode import read_episode
from planner.world.share import config_dir


@dataclass(frozen=True, slots=True)
class Lesson:
    """An episode to practise with.

    Attributes:
        episode: name of a shipped one.
        title: what is practised.
        hint: what to think of.
    """

    episode: str
    title: str
    hint: str

    @property
    def words(self) -> str:
        """The episode's instruction."""
        return _instruction(self.episode)


@lru_cache(maxsize=8)
def _instruction(episode: str) -> str:
    # Not by `find_episode`, which brings the checks of whole houses with it.
    return read_episode(config_dir() / "episodes" / "train" / f"{episode}.json").instruction


LESSONS = (
    Lesson(
        "books_back_0",
        "find things and bring them",
        "Look around in a room first: what nobody has seen cannot be picked up.",
    ),
    Lesson(
        "bedside_0",
        "put things next to each other",
        "Put the second thing on the piece that has the first one: it stands beside it if there "
        "is room.",
    ),
    Lesson(
        "bathroom_order_0",
        "keep an order",
        "Open the cabinet first. What is put in too early does not count.",
    ),
    Lesson(
        "clean_plates_0",
        "change what things are like",
        "A robot cannot clean: this is for who is a human agent.",
    ),
)


def lessons_shown() -> list[Json]:
    """For the page, in their order."""
    return [{"episode": one.episode, "title": one.title, "hint": one.hint} for one in LESSONS]


def number_of(words: str) -> int:
    """The number of the lesson with this instruction, 1 = the first; 0 = none has it."""
    return next((n for n, one in enumerate(LESSONS, 1) if one.words == words), 0)
