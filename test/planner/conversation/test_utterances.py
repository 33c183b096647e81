"""What kind of thing is said to a robot that has a task; stop above all."""

from __future__ import annotations

import pytest

from planner.conversation.utterances import GO_ONS, STOPS, About, Kind, is_stop, utterance_of


@pytest.mark.parametrize("words", sorted(STOPS))
def test_each_way_of_saying_stop_is_one(words: tuple[str, ...]) -> None:
    text = " ".join(words)
    assert is_stop(text)
    assert is_stop(f"Robot, {text}!")
    assert is_stop(f"{text.upper()} PLEASE")


@pytest.mark.parametrize("words", sorted(GO_ONS))
def test_each_way_of_saying_go_on_is_one(words: tuple[str, ...]) -> None:
    assert utterance_of(f"OK, {' '.join(words)}.").kind is Kind.GO_ON


@pytest.mark.parametrize(
    "text",
    [
        "stpo", "stopp", "sotp", "stoooop", "wiat", "hlat", "freez", "enuogh", "pasue",
        "that's enough!!", "Stop. Stop! STOP!", "no no stop", "don't move", "Hold on a second",
        "Wait a minute, please", "stop, go on", "go on, no, stop", "wait, continue",
    ],
)  # fmt: skip
def test_stop_is_heard_with_slips_of_the_keys_and_with_go_on_in_one_breath(text: str) -> None:
    assert utterance_of(text).kind is Kind.STOP


@pytest.mark.parametrize(
    "text",
    [
        "stop by the kitchen", "wait until the kettle is empty", "stop the music", "pause the game",
        "freeze the peas", "hold the door", "enough plates for two", "halt at the door",
        "salt", "half",
        "stay in the kitchen", "put a stop sign on the wall", "the bus stop", "want", "don't stop",
        "put the cup in the sink and wait there", "stamp", "",
    ],
)  # fmt: skip
def test_these_words_within_another_sentence_are_no_stop(text: str) -> None:
    assert utterance_of(text).kind is not Kind.STOP
    assert not utterance_of(text).halts


@pytest.mark.parametrize(
    ("text", "kind", "rest"),
    [
        ("no, the blue one", Kind.CHANGE, "no, the blue one"),
        ("not the kitchen, the office", Kind.CHANGE, "not the kitchen, the office"),
        ("take the bowl instead of the cup", Kind.CHANGE, "take the bowl instead of the cup"),
        ("Leave the plates.", Kind.CHANGE, "Leave the plates"),
        ("And the cup too!", Kind.ADD, "the cup too"),
        ("please also bring the red book", Kind.ADD, "please bring the red book"),
        ("Afterwards, bring me the cup", Kind.QUEUE, "bring me the cup"),
        ("bring me the cup when you're done", Kind.QUEUE, "bring me the cup"),
        ("Instead bring me the cup.", Kind.REPLACE, "bring me the cup"),
        ("Forget that, bring me the cup.", Kind.REPLACE, "bring me the cup"),
        ("never mind", Kind.CANCEL, ""),
        ("thank you", Kind.CHAT, ""),
        ("put the book on the table", Kind.OTHER, "put the book on the table"),
    ],
)
def test_words_say_what_becomes_of_the_task(text: str, kind: Kind, rest: str) -> None:
    said = utterance_of(text)
    assert (said.kind, said.rest) == (kind, rest)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("what are you doing?", About.DOING),
        ("Hey, what are you doing there", About.DOING),
        ("How long will it take?", About.HOW_LONG),
        ("when are you done", About.HOW_LONG),
        ("what's left?", About.LEFT),
        ("are you done yet?", About.DONE),
        ("where are you?", About.WHERE),
        ("what are you holding?", About.HOLDING),
        ("what did I say?", About.TASK),
    ],
)
def test_questions_about_the_task(text: str, about: About) -> None:
    said = utterance_of(text)
    assert (said.kind, said.about) == (Kind.ASK, about)


def test_after_a_stop_the_rest_is_read() -> None:
    said = utterance_of("Stop, not the kitchen, the office.")
    assert said.halts
    assert (said.kind, said.rest) == (Kind.CHANGE, "not the kitchen, the office")
    said = utterance_of("Please stop what you are doing and come here.")
    assert said.halts
    assert (said.kind, said.rest) == (Kind.OTHER, "come here")
