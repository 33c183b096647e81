"""What is done with people: named, described, met, told, followed, guided, given things."""

from __future__ import annotations

import pytest
import yaml

from planner.grounding.records import request_words
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask, NotUnderstood

JANE = "{the: person, name: Jane, in: {the: office}}"


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("Greet Jane in the office.", f"[{{meet: {JANE}}}]"),
        ("Follow me.", "[{follow: {the: person, at: me}}]"),
        (
            "Please take me to the bathroom.",
            "[{guide: {the: person, at: me}, to: {in: {the: bathroom}}}]",
        ),
        ("Bring me the cup.", "[{move: {the: cup}, to: me}]"),
        ("Greet Kim.", "[{meet: {the: person, name: Kim}}]"),
        ("say hello to jane in the office", f"[{{meet: {JANE}}}]"),
        (
            "Introduce yourself to the person wearing a red t-shirt and a gray coat at the sofa.",
            "[{meet: {the: person, wears: [red t-shirt, gray coat], at: {the: sofa}}}]",
        ),
        (
            "Follow the person pointing to the left from the bed to the kitchen.",
            (
                "[{follow: {the: person, is: pointing left, at: {the: bed}}, "
                "to: {in: {the: kitchen}}}]"
            ),
        ),
        (
            "Lead the sitting person who is waving to the dishwasher.",
            "[{guide: {the: person, is: [sitting, waving]}, to: {at: {the: dishwasher}}}]",
        ),
        (
            "Take Jane from the office to the desk.",
            f"[{{guide: {JANE}, to: {{at: {{the: desk}}}}}}]",
        ),
        (
            "Find a person raising their right arm in the hall and take them to the bathroom.",
            (
                "[{guide: {a: person, is: raising right arm, in: {the: hall}}, "
                "to: {in: {the: bathroom}}}]"
            ),
        ),
        (
            "Meet Jane in the office and tell her the time.",
            f"[{{meet: {JANE}}}, then, {{tell: time, to: {JANE}}}]",
        ),
        (
            "Meet Jane in the office then look for her in the hall.",
            f"[{{meet: {JANE}}}, then, {{find: {{the: person, name: Jane, in: {{the: hall}}}}}}]",
        ),
        (
            "Go to the office then find Jane and answer a question.",
            f"[{{tell: answer, to: {JANE}}}]",
        ),
        ("Answer the quiz of Jane in the office.", f"[{{tell: answer, to: {JANE}}}]"),
        (
            "Get an apple from the shelf and give it to the lying person in the office.",
            (
                "[{move: {a: apple, at: {the: shelf}}, "
                "to: {at: {the: person, is: lying, in: {the: office}}}}]"
            ),
        ),
        ("Give Jane a cup.", "[{move: {a: cup}, to: {at: {the: person, name: Jane}}}]"),
        (
            "Tell me what is the biggest object on the shelf.",
            "[{tell: which, of: {the: thing, pick: biggest, on_top: {the: shelf}}}]",
        ),
        (
            "Tell me how many cups there are on the table.",
            "[{tell: count, of: {all: cup, on_top: {the: table}}}]",
        ),
        (
            "Tell me how many people in the office are wearing blue jackets",
            "[{tell: count, of: {all: person, wears: blue jacket, in: {the: office}}}]",
        ),
        (
            "Tell the name of the person at the sofa to the person at the desk.",
            (
                "[{tell: name, of: {the: person, at: {the: sofa}}, "
                "to: {the: person, at: {the: desk}}}]"
            ),
        ),
        ("Tell me what color the cup on the desk is.",
         "[{tell: color, of: {the: cup, on_top: {the: desk}}}]"),
        ("Say something about yourself to Jane in the office", f"[{{tell: yourself, to: {JANE}}}]"),
        ("Tell your team's name to Jane in the office", f"[{{tell: team_name, to: {JANE}}}]"),
        ("Tell me a joke.", "[{tell: joke}]"),
    ],
)  # fmt: skip
def test_people_are_read(text: str, goal: str) -> None:
    """The word order is that of the form; what is found first is part of what is done then."""
    assert interpret(text) == Goal.model_validate(yaml.safe_load(goal))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Follow the woman in the kitchen.", "woman"),
        ("Greet the person wearing a purple wazzle.", "wazzle"),
        ("Meet Jane and call the police.", "police"),
        ("Follow the grumpy person.", "grumpy"),
        ("Greet jzxq in the office.", "jzxq"),
    ],
)
def test_what_is_not_known_of_people_is_named(text: str, words: str) -> None:
    found = interpret(text)
    assert isinstance(found, NotUnderstood), found
    assert any(words in said for said in found.words), found


def test_nobody_is_led_to_a_place_that_is_not_said() -> None:
    assert isinstance(interpret("Guide Jane."), Ask)


def test_things_stay_them_beside_people() -> None:
    """Cups are carried, and nobody is led, by "take them"."""
    found = interpret("Greet Jane, then collect the cups and take them to the kitchen.")
    goal = Goal.model_validate(
        yaml.safe_load(
            "[{meet: {the: person, name: Jane}}, then, "
            "{move: {all: cup}, to: {in: {the: kitchen}}}]"
        )
    )
    assert found == goal


def test_a_guest_room_is_a_room() -> None:
    found = interpret("Take the towels to the guest room.")
    goal = [{"move": {"all": "towel"}, "to": {"in": {"the": "guest room"}}}]
    assert found == Goal.model_validate(goal)


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        ("[{tell: time, of: {the: cup}}]", "expected nothing in of"),
        ("[{tell: count}]", "expected of"),
        ("[{meet: {the: person, wears: red wazzle}}]", "unknown garment"),
        ("[{move: {the: cup, name: Jane}, to: me}]", "neither a name"),
        ("[{guide: {the: person}}]", "to"),
    ],
)
def test_a_wrong_form_is_named(goal: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Goal.model_validate(yaml.safe_load(goal))


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (f"{{meet: {JANE}}}", "meet Jane in the office"),
        (f"{{tell: team_name, to: {JANE}}}", "tell Jane in the office the team name"),
        ("{tell: count, of: {all: cup}}", "tell you the count of all cups"),
        ("{follow: {a: person, is: waving}}", "follow a waving person"),
        (
            "{guide: {the: person, wears: red coat}, to: {in: {the: hall}}}",
            "guide the person wearing a red coat to the hall",
        ),
    ],
)
def test_a_request_about_people_has_words(goal: str, words: str) -> None:
    (request,) = Goal.model_validate([yaml.safe_load(goal)]).requests
    assert request_words(request) == words
