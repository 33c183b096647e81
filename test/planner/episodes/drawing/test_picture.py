"""The drawing of an episode shows its task and evaluation, legibly."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from legible import check_legible, words_of

from planner.episodes.drawing.furnishing import has_icon
from planner.episodes.drawing.picture import draw_episode
from planner.episodes.drawing.shapes import (
    Box,
    Path,
    Picture,
    Text,
    proposition_colour,
)
from planner.world.catalogue import default_catalogue
from planner.world.episode import Criteria, Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import find_episode, load_episode
from planner.world.share import config_dir

EPISODES = sorted(path.stem for path in (config_dir() / "episodes").glob("*/*.json"))
# One with slices, one with floors, one with a choice of rooms, one with three steps.
FEW = ("sandwich_0", "boots_pair_0", "three_bedrooms_0", "perishables_0")


def _lines(picture: Picture, index: int) -> list[Path]:
    """The arrows of a proposition, without their heads."""
    colour = proposition_colour(index)
    return [s for s in picture.shapes if isinstance(s, Path) and s.stroke == colour]


def _drawn(name: str, evaluation: Mapping[str, object] | None = None) -> Picture:
    episode, house = load_episode(name)
    if evaluation is not None:
        episode = episode.model_copy(update={"evaluation": dict(evaluation)})
    return draw_episode(episode, house)


@pytest.mark.parametrize("name", FEW)
def test_nothing_overlaps_or_is_cut_off(name: str) -> None:
    check_legible(_drawn(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", EPISODES)
def test_nothing_overlaps_or_is_cut_off_in_any_shipped_episode(name: str) -> None:
    check_legible(_drawn(name))


def test_there_is_a_frame_for_each_step() -> None:
    words = words_of(_drawn("perishables_0"))
    assert [word for word in words if word.startswith("Step")] == [
        "Step 1 of 3",
        "Step 2 of 3",
        "Step 3 of 3",
    ]
    assert "moved before" in words
    assert "Step 1 of 1" not in words_of(_drawn("book_row_0"))


def test_what_a_step_changes_shows_in_the_next() -> None:
    words = words_of(_drawn("demo_dinner"))
    assert words.count("dirty") == 1
    assert words.count("to be clean") == 1
    # In both frames, at different places.
    assert words.count("candle_0") == 2


def test_an_arrow_is_solid_for_all_and_dotted_for_a_choice() -> None:
    def drawn(number: int, *tables: str) -> Picture:
        args = {"objects": ["plate_0", "plate_1"], "receptacles": tables, "number": number}
        return _drawn(
            "demo_dinner", {"propositions": [{"function_name": "is_on_top", "args": args}]}
        )

    everything = drawn(2, "table_3")
    assert [line.dashed for line in _lines(everything, 0)] == [False, False]
    assert "1 of 2" not in words_of(everything)
    one = drawn(1, "table_3")
    assert [line.dashed for line in _lines(one, 0)] == [True, True]
    assert "1 of 2" in words_of(one)
    choice = drawn(2, "table_3", "table_0", "table_1")
    # From both plates to the middle, and from there to three tables.
    assert [line.dashed for line in _lines(choice, 0)] == [True] * 5


def test_a_thing_has_the_colour_of_its_first_proposition() -> None:
    picture = _drawn("demo_dinner")
    name = next(s for s in picture.shapes if isinstance(s, Text) and s.text == "candle_0")
    assert name.colour == proposition_colour(3)
    slots = [s for s in picture.shapes if isinstance(s, Box) and s.fill == "#2b3038"]
    assert {s.stroke for s in slots} >= {proposition_colour(i) for i in (0, 2, 3)}


def test_ties_gates_and_what_need_not_last_are_written() -> None:
    words = " ".join(words_of(_drawn("globe_tour_0")))
    assert "(need not last)" in words
    assert "1: after 0 has come true" in words
    words = " ".join(words_of(_drawn("three_bedrooms_0")))
    assert "3 and 4: the same room" in words
    assert "0, 1 and 2: a different room" in words
    assert "4: while 2 and 3 hold" in " ".join(words_of(_drawn("demo_dinner")))


def test_an_order_that_is_not_one_of_groups_is_written() -> None:
    episode, _ = load_episode("demo_dinner")
    assert episode.evaluation is not None
    order = {"type": "TemporalConstraint", "edges": [[0, 2], [1, 3], [2, 5]]}
    words = words_of(_drawn("demo_dinner", episode.evaluation | {"constraints": [order]}))
    assert "At any time" in words
    assert "3: later than 1" in words


def test_other_rooms_are_named_with_what_is_like_it_there() -> None:
    words = " ".join(words_of(_drawn("globe_tour_0")))
    assert "Not drawn: kitchen_0 (table_2)" in words


def test_what_the_house_lacks_is_named() -> None:
    args = {"objects": ["plate_0"], "receptacles": ["table_99"]}
    picture = _drawn(
        "demo_dinner", {"propositions": [{"function_name": "is_on_top", "args": args}]}
    )
    assert "Not in this house" in words_of(picture)
    assert "table_99" in words_of(picture)


def test_every_class_of_furniture_has_an_icon() -> None:
    assert not [name for name in default_catalogue().furniture if not has_icon(name)]


def test_what_cannot_be_drawn_is_refused(demo: tuple[Episode, House]) -> None:
    episode, house = demo
    bare = episode.model_copy(update={"evaluation": None})
    with pytest.raises(PlannerError, match="demo_dinner has no goal to draw"):
        draw_episode(bare, house)
    criteria = Criteria(variables={"a": ("cup_0",), "b": ("table_0",)}, success=(("ON", "a", "b"),))
    with pytest.raises(PlannerError, match="only criteria, which are not drawn"):
        draw_episode(bare.model_copy(update={"criteria": criteria}), house)


@pytest.fixture
def demo() -> tuple[Episode, House]:
    return load_episode(find_episode("demo_dinner"))


def test_no_two_propositions_have_the_same_colour() -> None:
    """Colours used to repeat from the eleventh on."""
    found = [proposition_colour(index) for index in range(60)]
    assert len(set(found)) == len(found)
    assert all(len(colour) == 7 for colour in found)
