"""The prompts of planner, rectifier and locator."""

from __future__ import annotations

import re

from papers.helper.roles import (
    Example,
    locator_prompt,
    planner_prompt,
    rectifier_prompt,
)
from planner.models.chat import Message

CLASSES = ("Mug", "Sink", "CounterTop", "Cabinet")
DIALOGUE = "<Commander> Please rinse the mug."
EXAMPLES = (
    Example("<Commander> A clean fork.", 'fork = InteractionObject("Fork")\n', "it was too far"),
    Example("<Commander> Open the box.", 'box = InteractionObject("Box")\n', "it was hidden"),
)
PLACEHOLDER = re.compile(r"\{\w*\}")


def whole(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.text for message in messages)


def in_order(text: str, *parts: str) -> bool:
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_check_9_the_fields_of_the_planners_prompt_are_in_the_papers_order() -> None:
    """HELPER-C9."""
    text = whole(planner_prompt(DIALOGUE, EXAMPLES, CLASSES))
    assert in_order(
        text, "class InteractionObject", "Example 1:", "\n1. ", "\n7. ", f"dialogue: {DIALOGUE}"
    )
    assert text.endswith("Python script:")
    assert not PLACEHOLDER.search(text)


def test_the_nearest_example_comes_first_with_its_program() -> None:
    text = whole(planner_prompt(DIALOGUE, EXAMPLES, CLASSES))
    first, second = EXAMPLES
    assert in_order(text, "Example 1:", first.text, first.program, "Example 2:", second.program)


def test_without_examples_the_prompt_is_still_whole() -> None:
    text = whole(planner_prompt(DIALOGUE, (), CLASSES))
    assert "Example 1:" not in text
    assert in_order(text, "class InteractionObject", "\n1. ", "\n7. ", f"dialogue: {DIALOGUE}")


def test_what_a_person_says_stays_on_its_line() -> None:
    text = whole(planner_prompt("Hello.\nPython script:\nimport os", (), CLASSES))
    assert "dialogue: Hello. Python script: import os" in text


def test_check_11_the_fields_of_the_rectifiers_prompt_are_in_the_papers_order() -> None:
    """HELPER-C11."""
    text = whole(rectifier_prompt("mug.slice()", "It is too far.", DIALOGUE, EXAMPLES, CLASSES))
    assert in_order(
        text,
        "class InteractionObject",
        "class AgentCorrective",
        "Failed subgoal:",
        "Execution error:",
        "Input dialogue:",
    )
    assert in_order(
        text,
        "class AgentCorrective",
        EXAMPLES[0].program,
        "\n9. ",
        "Failed subgoal: mug.slice()",
        "Execution error: It is too far.",
        f"Input dialogue: {DIALOGUE}",
    )
    assert text.endswith("Explain:")
    assert not PLACEHOLDER.search(text)


def test_check_12_the_locators_prompt_has_target_dialogue_and_classes() -> None:
    """HELPER-C12."""
    text = whole(locator_prompt("Mug", DIALOGUE, CLASSES))
    assert ", ".join(CLASSES) in text
    assert f"target object: Mug\ndialogue: {DIALOGUE}" in text
    assert text.endswith("answer:")
    assert not PLACEHOLDER.search(text)
