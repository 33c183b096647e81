"""Four episodes to practise with, one of each type of task, all in one house (PARTNR-10)."""

from __future__ import annotations

from dataclasses import dataclass

from planner.console.table import Json


@dataclass(frozen=True, slots=True)
class Lesson:
    """An episode to practise with.

    Attributes:
        episode: name of a shipped one.
        title: what is practised.
        words: its instruction.
        hint: what to think of.
    """

    episode: str
    title: str
    words: str
    hint: str


LESSONS = (
    Lesson(
        "books_back_0",
        "find things and bring them",
        "Someone has been reading in bed. Bring three of the books from the bedrooms back to the "
        "shelves in the living room, and the magazine as well.",
        "Look around in a room first: what nobody has seen cannot be picked up.",
    ),
    Lesson(
        "bedside_0",
        "put things next to each other",
        "Grandma wants her alarm clock and her spectacles within reach: place them next to each "
        "other on any nightstand.",
        "Put the second thing on the piece that has the first one: it stands beside it if there "
        "is room.",
    ),
    Lesson(
        "bathroom_order_0",
        "keep an order",
        "Before the hand towel goes into the bathroom cabinet, the shampoo and the soap have to be "
        "in there.",
        "Open the cabinet first. What is put in too early does not count.",
    ),
    Lesson(
        "clean_plates_0",
        "change what things are like",
        "None of the plates is clean, neither the two in the living room nor the one in the "
        "kitchen. Please see to all of them.",
        "A robot cannot clean: this is for who is a human agent.",
    ),
)


def lessons_shown() -> list[Json]:
    """For the page, in their order."""
    return [{"episode": one.episode, "title": one.title, "hint": one.hint} for one in LESSONS]


def number_of(words: str) -> int:
    """The number of the lesson with this instruction, 1 = the first; 0 = none has it."""
    return next((n for n, one in enumerate(LESSONS, 1) if one.words == words), 0)
