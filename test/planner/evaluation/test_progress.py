"""What a person says who looks at the result (HELPER-D83)."""

from __future__ import annotations

import pytest

from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import DONE, complaint, feedback
from planner.evaluation.task import Proposition


def read(name: str, **arguments: object) -> Proposition:
    document = {"propositions": [{"function_name": name, "args": arguments}]}
    return read_evaluation(document, "test").propositions[0]  # type: ignore[arg-type]


ON_PLATE = read(
    "is_on_top",
    objects=["tomato_slice_0", "tomato_slice_1", "tomato_slice_2"],
    number=2,
    receptacles=["plate_0"],
)
CLEAN = read("is_clean", objects=["plate_0"], number=1)


@pytest.mark.parametrize(
    ("proposition", "subtask", "thing", "state"),
    [
        (ON_PLATE, "put 2 of the tomato slices on the plate", "tomato slice", "on the plate"),
        (CLEAN, "make the plate clean", "plate", "clean"),
        (
            read("is_filled_with_coffee", objects=["cup_3"], number=1),
            "make the cup filled with coffee",
            "cup",
            "filled with coffee",
        ),
        (
            read("is_inside", objects=["fork_0"], number=1, receptacles=["basket_0", "basket_1"]),
            "put the fork into the basket",
            "fork",
            "in the basket",
        ),
        (
            read("is_in_room", objects=["ball_0"], number=1, rooms=["living_room_0", "kitchen_0"]),
            "bring the ball into the living room or kitchen",
            "ball",
            "in the living room or kitchen",
        ),
        (read("is_on_floor", objects=["rug_0"], number=1), "put the rug on the floor", "rug", "on"),
        (read("is_open", objects=["fridge_0"], number=1), "get the fridge open", "fridge", "open"),
        (
            read("is_next_to", entities_a=["cup_0"], number=1, entities_b=["bowl_0"]),
            "put the cup next to the bowl",
            "cup",
            "next to the bowl",
        ),
    ],
)
def test_a_sentence_has_the_subtask_the_object_and_the_wanted_state(
    proposition, subtask, thing, state
) -> None:
    said = complaint(proposition)
    assert said.startswith(f'The subtask "{subtask}" failed: the {thing} should be {state}')


def test_there_is_one_sentence_for_each_unmet_state() -> None:
    both = (ON_PLATE, CLEAN)
    assert feedback(both, [False, False]) == f"{complaint(ON_PLATE)} {complaint(CLEAN)}"
    assert feedback(both, [True, False]) == complaint(CLEAN)
    assert feedback(both, [True, True]) == DONE


def test_names_of_entities_are_not_said() -> None:
    assert "_" not in feedback((ON_PLATE, CLEAN), [False, False])


def test_progress_of_another_goal_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        feedback((CLEAN,), [True, False])
