from __future__ import annotations

from planner.world.second_guess import guess_states, score_of, take_guesses


def test_guesses_travel_among_the_states_of_a_message_with_their_scores() -> None:
    guesses = (("pen", 0.55), ("toy_airplane", 0.3), ("cup", 0.05))
    states = {"clean": True, "maybe_clean": True, "maybe_20_fork": False}
    assert take_guesses({**states, **guess_states(guesses)}) == (states, guesses)
    assert take_guesses({"clean": False}) == ({"clean": False}, ())


def test_what_is_no_guess_has_no_score() -> None:
    assert score_of((("pen", 0.5),), "pen") == 0.5
    assert score_of((("pen", 0.5),), "cup") == 0.0
