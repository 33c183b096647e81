"""What a task asks for, in words."""

from planner.planning.errands import Sought, Where


def test_a_sought_thing_reads_like_a_phrase() -> None:
    fridge = Sought("fridge", Where.INSIDE, Sought("kitchen"))

    assert str(Sought("apple", Where.CLOSE, fridge)) == "apple close to fridge inside kitchen"
    assert str(Sought("apple")) == "apple"
