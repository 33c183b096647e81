"""Utterances from a stream, and what is done with their words; the spotter is a stand-in."""

from __future__ import annotations

import math
import struct

import pytest

from planner.voice.hearing import Confirmation, Heard, Listen, Step, Utterances
from planner.voice.part import RATE_HZ
from planner.voice.sentences import draw_sentences, every_word, words_of

BLOCK = RATE_HZ // 20
QUIET = struct.pack(f"<{BLOCK}h", *([3, -3] * (BLOCK // 2)))
LOUD = struct.pack(f"<{BLOCK}h", *(int(6000 * math.sin(k / 3)) for k in range(BLOCK)))
STOP = struct.pack(f"<{BLOCK}h", *([999] * BLOCK))


class StandIn:
    """Hears "stop" in one certain block."""

    def hear(self, pcm: bytes) -> bool:
        return pcm == STOP

    def forget(self) -> None:
        """Has nothing."""


def heard(blocks: list[bytes], listen: Listen, *, muted: bool = False) -> list[Heard]:
    utterances = Utterances(StandIn(), listen)
    found = (utterances.hear(block, is_muted=muted) for block in blocks)
    return [each for each in found if each != Heard()]


def test_what_is_said_while_the_button_is_held_is_one_utterance() -> None:
    ears = Utterances(StandIn(), Listen.PUSH)
    assert ears.hear(LOUD) == Heard()
    assert ears.push(True) == Heard()
    for block in (LOUD, QUIET, LOUD) * 3:
        assert ears.hear(block) == Heard()
    assert ears.push(False) == Heard(utterance=(LOUD + QUIET + LOUD) * 3)
    assert ears.push(False) == Heard()


@pytest.mark.parametrize("listen", [*Listen])
@pytest.mark.parametrize("muted", [False, True])
def test_stop_is_heard_at_once_without_the_button_and_beside_the_robots_voice(
    listen: Listen, muted: bool
) -> None:
    assert heard([QUIET, LOUD, STOP, LOUD], listen, muted=muted) == [Heard(stop=True)]


@pytest.mark.parametrize("listen", [*Listen])
def test_beside_stop_nothing_of_the_same_breath_is_a_task(listen: Listen) -> None:
    ears = Utterances(StandIn(), listen)
    ears.push(True)
    found = [ears.hear(block) for block in (*[LOUD] * 8, STOP, *[LOUD] * 8)]
    assert found.count(Heard(stop=True)) == 1
    assert ears.push(False) == Heard()
    assert {each.utterance for each in found} == {b""}


def test_without_the_button_quiet_ends_an_utterance_and_noises_are_none() -> None:
    talk = [*[QUIET] * 20, *[LOUD] * 12, *[QUIET] * 5, *[LOUD] * 12, *[QUIET] * 20]
    (found,) = heard(talk, Listen.ALWAYS)
    assert found.utterance.count(LOUD) == 24
    assert not found.stop
    assert heard([*[QUIET] * 40], Listen.ALWAYS) == []
    assert heard(talk, Listen.PUSH) == []
    assert heard(talk, Listen.ALWAYS, muted=True) == []


def test_an_utterance_without_an_end_is_cut() -> None:
    found = heard([*[QUIET] * 4, *[LOUD] * 500], Listen.ALWAYS)
    assert found
    assert all(len(each.utterance) <= 20 * 2 * RATE_HZ for each in found)


def test_a_task_that_may_be_misheard_waits_for_a_yes() -> None:
    words = Confirmation(confirms=True)
    assert words.take("put the cup in the sink") == Step(
        say="Did you say: put the cup in the sink?"
    )
    assert words.take("yes please") == Step(send="put the cup in the sink")
    assert words.take("put the cup in the bin").say
    assert words.take("no") == Step(say="I do nothing.")
    assert words.take("put the cup in the bin").say
    assert words.take("put the book in the bin").say.startswith("Did you say: put the book")


@pytest.mark.parametrize("said", ["stop", "wait a minute", "never mind", "go on", "cancel that"])
def test_what_halts_or_goes_on_never_waits(said: str) -> None:
    words = Confirmation(confirms=True)
    assert words.take(said) == Step(send=said)
    assert words.take("put the cup in the sink").say
    if said != "go on":
        assert words.take(said) == Step(send=said)
        assert words.take("yes") == Step(send="yes")


def test_an_answer_and_a_sure_ear_pass() -> None:
    assert Confirmation(confirms=True).take("the kitchen", is_answer=True).send == "the kitchen"
    assert Confirmation(confirms=False).take("open the door") == Step(send="open the door")
    assert Confirmation(confirms=False).take("  ") == Step(say="I did not understand.")
    assert "\n" not in Confirmation(confirms=False).take("open\nstop").send


def test_sentences_of_the_language_model_are_spoken_words() -> None:
    # So many that no word hangs on which nouns the catalogue has.
    drawn = list(draw_sentences(2000, 3))
    assert drawn == list(draw_sentences(2000, 3))
    assert ("stop",) in drawn
    assert {"kitchen", "please", "put"} <= {word for words in drawn for word in words}
    assert not any("<" in word or "{" in word for words in drawn for word in words)
    assert "refrigerator" in every_word()
    assert words_of("Put Ann's T-shirt in the box, please!") == (
        *("put", "ann's", "t-shirt", "in", "the", "box", "please"),
    )
