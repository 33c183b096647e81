"""What is said of a request, in questions and reports."""

import pytest
from grounded import goal

from planner.grounding.records import request_words


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("{make: {all: lamp}, be: powered off}", "switch off all lamps"),
        ("{make: {the: kettle}, be: filled with water}", "fill the kettle with water"),
        ("{make: {the: cup}, be: dirty}", "make the cup dirty"),
        ("{make: {a: plate, n: 2}, be: [clean, dusted]}", "clean 2 plates and dust 2 plates"),
        (
            "{move: {all: clothes, but: {all: jacket}}, to: {in: {the: hamper}}}",
            "put all clothes except all jackets in the hamper",
        ),
        ("{go: {in: {the: kitchen}}}", "go to the kitchen"),
        ("{go: {next_to: {the: table}}}", "go next to the table"),
        ("{move: {some: knife}, to: {in: {the: sink}}}", "put some knives in the sink"),
        (
            "{move: {all: cup, at: {the: playroom}}, to: {at: {the: table}}}",
            "bring all cups that are in the playroom to the table",
        ),
        (
            "{move: {the: cup, on_top: {the: table}}, to: {in: {the: sink}}}",
            "put the cup that is on the table in the sink",
        ),
        ("{make: {the: stove}, be: powered on, who: speaker}", "you switch on the stove"),
        ("{move: {the: cup}, to: me}", "bring the cup to you"),
        ("{move: {the: cup}, to: usual}", "put the cup where it belongs"),
        ("{move: {all: cup}, to: usual}", "put all cups where they belong"),
        (
            "{move: [{the: cup}, {the: pan}], to: usual}",
            "put the cup and the pan where they belong",
        ),
    ],
)
def test_requests_are_said_in_plain_english(form: str, words: str) -> None:
    (request,) = goal(f"[{form}]").steps[0]
    assert request_words(request) == words
