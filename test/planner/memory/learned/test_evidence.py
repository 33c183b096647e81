from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.memory.learned.evidence import Evidence

CLASSES = ("apple", "banana", "cup", "kettle")
looks = st.lists(
    st.tuples(st.sampled_from(CLASSES), st.floats(0.0, 1.0), st.integers(4, 400)), max_size=40
)


def test_the_second_guess_that_comes_again_wins_over_first_guesses_that_differ() -> None:
    evidence = Evidence()
    for wrong in ("apple", "banana", "kettle"):
        evidence.add(((wrong, 0.5), ("cup", 0.4)), 100)
    assert evidence.best == "cup"
    assert evidence.margin > 0


def test_a_near_look_outweighs_looks_from_afar() -> None:
    evidence = Evidence()
    for _ in range(2):
        evidence.add((("kettle", 0.5),), 4)
    evidence.add((("cup", 0.95),), 300)
    assert evidence.best == "cup"


def test_what_is_seen_now_overcomes_what_was_seen_for_long() -> None:
    evidence = Evidence()
    for _ in range(500):
        evidence.add((("cup", 0.99),), 300)
    for _ in range(15):
        evidence.add((("bowl", 0.99),), 300)
    assert evidence.best == "bowl"


def test_without_a_look_there_is_no_class() -> None:
    assert (Evidence().best, Evidence().margin, Evidence().margin_over("cup")) == ("", 0.0, 0.0)


@given(looks)
def test_the_best_class_leads_and_no_class_is_ruled_out(
    seen: list[tuple[str, float, int]],
) -> None:
    evidence = Evidence()
    for name, chance, cells in seen:
        evidence.add(((name, chance),), cells)
    assert evidence.margin >= 0
    assert all(evidence.margin_over(name) >= 0 for name in CLASSES)
    assert all(0 <= weight <= 50 for weight in evidence.weights.values())


def test_only_what_looks_speak_for_almost_as_much_is_a_second_guess() -> None:
    evidence = Evidence()
    for _ in range(3):
        evidence.add((("cup", 0.8), ("bowl", 0.3), ("kettle", 0.15), ("fork", 0.025)), 100)
    assert [name for name, _ in evidence.second_guesses("cup")] == ["bowl", "kettle"]
    assert all(0.3 <= score <= 1.0 for _, score in evidence.second_guesses("cup"))
    assert evidence.second_guesses("kettle")[0] == ("cup", 1.0)
    assert Evidence().second_guesses("cup") == ()


def test_many_second_guesses_are_cut_to_the_likeliest() -> None:
    evidence = Evidence()
    evidence.add((("a", 0.9), ("b", 0.5), ("c", 0.4), ("d", 0.3), ("e", 0.2)), 100)
    assert [name for name, _ in evidence.second_guesses("a")] == ["b", "c", "d"]
