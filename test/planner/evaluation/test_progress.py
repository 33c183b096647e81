"""What a person says who looks at the result (HELPER-D83), its names, and its copy on disk."""

from __future__ import annotations

import pytest

from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import (
    DONE,
    CriteriaProgress,
    Latched,
    LatchFile,
    Mode,
    Progress,
    complaint,
    criteria_word,
    feedback,
    is_understood,
    variant_text,
)
from planner.evaluation.task import Proposition
from planner.world.errors import FileError


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
        (
            read("is_on_floor", objects=["rug_0"], number=1),
            "put the rug on the floor",
            "rug",
            "on the floor",
        ),
        (
            read("is_on_top", objects=["cup_0", "cup_1", "mug_0"], number=2, receptacles=["shelf"]),
            "put 2 of the cups or mugs on the shelf",
            "cup or mug",
            "on the shelf",
        ),
        (
            read("is_on_top", objects=["floor_lamp_0"], receptacles=["floor_living_room_0"]),
            "put the floor lamp on the living room",
            "floor lamp",
            "on the living room",
        ),
        (
            read("is_next_to", entities_a=["cup_0"], entities_b=["floor_lamp_1"]),
            "put the cup next to the floor lamp",
            "cup",
            "next to the floor lamp",
        ),
        (
            read("is_clustered", entities=[["cup_0", "mug_0"], ["bowl_0", "pan_1"], ["fork_0"]]),
            "put the cup or mug and the bowl or pan and the fork together",
            "cup or mug",
            "close to the others",
        ),
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
    assert said == f'The subtask "{subtask}" failed: the {thing} should be {state}.'


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


def test_a_result_names_how_and_by_which_goal_it_was_judged() -> None:
    asked = Progress(1.0, True, 5, (), "", Mode.STRICT, Variant.BOXES)
    understood = Progress(1.0, True, 5, (), "", Mode.STRICT, Variant.EDGES, understood=True)
    assert (variant_text(asked), variant_text(understood)) == ("boxes", "edges, as understood")
    assert not is_understood(variant_text(asked))
    assert is_understood(variant_text(understood))


def test_criteria_are_met_or_not_or_there_are_none() -> None:
    met, unmet = (CriteriaProgress(done, 0.5, (), None, "") for done in (True, False))
    assert [criteria_word(each) for each in (None, met, unmet)] == ["", "met", "not met"]


GOAL = {"propositions": ["a"]}


def latched(step: int = 7) -> Latched:
    return Latched(
        episode_id="dinner",
        mode=Mode.STRICT,
        step=step,
        evaluation=GOAL,
        latches={"first_step": [3, None]},
    )


def test_latches_come_back_for_the_same_task_and_no_earlier_a_step(tmp_path) -> None:
    file = LatchFile(tmp_path / "deep" / "latches", "dinner")
    assert file.read(Mode.STRICT, 9, GOAL) is None
    file.write(latched())
    assert file.path == tmp_path / "deep" / "latches" / "dinner.json"
    assert list(file.folder.iterdir()) == [file.path], "nothing half written is left"
    for step in (7, 8):
        assert file.read(Mode.STRICT, step, GOAL) == latched()
    assert file.read(Mode.STRICT, 6, GOAL) is None, "of an earlier run"
    assert file.read(Mode.PUBLISHED, 9, GOAL) is None
    assert file.read(Mode.STRICT, 9, {"propositions": ["b"]}) is None
    file.write(latched(8))
    assert file.read(Mode.STRICT, 9, GOAL) == latched(8)
    file.remove()
    file.remove()
    assert file.read(Mode.STRICT, 9, GOAL) is None


def test_latches_that_cannot_be_kept_are_errors_of_their_file(tmp_path) -> None:
    (tmp_path / "taken").write_text("")
    blocked = LatchFile(tmp_path / "taken", "dinner")
    with pytest.raises(FileError) as caught:
        blocked.write(latched())
    assert (caught.value.file, caught.value.field) == (str(blocked.path), "")
    assert caught.value.reason == "cannot be written: File exists"
    file = LatchFile(tmp_path, "dinner")
    file.path.mkdir()
    with pytest.raises(FileError) as caught:
        file.remove()
    assert (caught.value.file, caught.value.field) == (str(file.path), "")
    assert caught.value.reason.startswith("cannot be removed: [Errno ")
    file.path.rmdir()
    file.path.write_text('{"version": 1}')
    with pytest.raises(FileError, match=r"dinner\.json: version: "):
        file.read(Mode.STRICT, 9, GOAL)
