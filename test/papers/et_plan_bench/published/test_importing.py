"""ET-Plan-Bench's tasks in both layouts, of our own content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from papers.et_plan_bench.published.importing import import_et_plan
from papers.et_plan_bench.published.task_graphs import import_into_graphs
from planner.cli import main
from planner.episodes.importing.importer import Imported
from planner.episodes.lint.linting import Linter
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Predicate
from planner.world.vocabulary import Relation

PLAN = [
    "<char0> [walk] <kitchen> (50)",
    "<char0> [walk] <kitchentable> (60)",
    "<char0> [walk] <apple> (211)",
    "<char0> [grab] <apple> (211)",
    "<char0> [walk] <fridge> (103)",
    "<char0> [open] <fridge> (103)",
    "<char0> [putin] <apple> (211) <fridge> (103)",
]
INTO_FRIDGE: dict[str, Any] = {
    "task": "Put the apple  into the fridge.",
    "task_completion_criterion": "(CLOSE, robot, apple)(CLOSE, robot, fridge)"
    "(INSIDE, apple, fridge)(ON, apple, kitchentable)",
    "env_id": 4,
    "ground_truth_plan": PLAN,
}
FIND: dict[str, Any] = {
    "task": "Where is the mug?",
    "task_completion_criterion": "(CLOSE, robot, cup)(ON, cup, desk)(FACING, cup, bed)",
    "env_id": 4,
    "ground_truth_plan": [
        "<char0> [walk] <bedroom> (7)",
        "<char0> [walk] <bed> (8)",
        "<char0> [walk] <desk> (9)",
        "<char0> [walk] <cup> (10)",
    ],
}
NEST: dict[str, Any] = {
    "task": "Put the apple into the box, then both into the fridge.",
    "task_completion_criterion": "STEP_1: (CLOSE, robot, apple)(INSIDE, apple, box) "
    "STEP_2:(CLOSE, robot, fridge)(INSIDE, box, fridge)",
    "env_id": 4,
    "ground_truth_plan": [
        *PLAN[:4],
        "<char0> [walk] <box> (5)",
        "<char0> [putin] <apple> (211) <box> (5)",
        "<char0> [walk] <fridge> (103)",
        "<char0> [putin] <box> (5) <fridge> (103)",
    ],
}
SPECIFIED: dict[str, Any] = {
    "id": "t1",
    "category": "navi_mani_relation",
    "scene": 12,
    "task": "Find an apple close to a cup and put it in a fridge in a kitchen.",
    "objects": {
        "A": {"class": "apple", "id": 211},
        "B": {"class": "cup", "id": 87},
        "C": {"class": "fridge", "id": 103},
        "D": {"class": "kitchen", "id": 50},
    },
    "intermediate": [["CLOSE", "robot", "A"], ["CLOSE", "A", "B"]],
    "success": [["CLOSE", "robot", "C"], ["INSIDE", "C", "D"], ["INSIDE", "A", "C"]],
    "gt": [
        ["WALK", "kitchen", 50],
        ["WALK", "kitchentable", 60],
        ["WALK", "cup", 87],
        ["WALK", "apple", 211],
        ["GRAB", "apple", 211],
        ["WALK", "fridge", 103],
        ["OPEN", "fridge", 103],
        ["PUTIN", "apple", 211, "fridge", 103],
    ],
}


def _write(folder: Path, *lines: object, name: str = "tasks.json") -> Path:
    path = folder / name
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def _imported(folder: Path, *lines: object) -> Imported:
    return import_et_plan([_write(folder, *lines)], 0)


def test_a_task_becomes_an_episode_that_can_be_judged(tmp_path: Path) -> None:
    (made,) = _imported(tmp_path, INTO_FRIDGE).episodes
    assert (made.episode_id, made.instruction) == ("tasks-1", "Put the apple into the fridge.")
    # VirtualHome's characters have two hands; one is free to open what the other's thing goes into.
    assert [agent.kind.value for agent in made.agents] == ["human"]
    (apple,) = made.objects
    assert apple.parent == "table_60"
    evaluation = read_evaluation(made.evaluation, "tasks")
    (goal,) = evaluation.propositions
    assert goal.predicate is Predicate.IS_INSIDE
    assert goal.lists[0] == ("apple_0",)
    assert "fridge_103" in goal.lists[1]


BOTH: dict[str, Any] = {
    "task": "Put the apple and the banana onto the desk.",
    "task_completion_criterion": "(ON, apple, desk)(ON, bananas, desk)",
    "env_id": 4,
    "ground_truth_plan": [
        *PLAN[:4],
        "<char0> [walk] <bananas> (212)",
        "<char0> [grab] <bananas> (212)",
        "<char0> [walk] <bedroom> (7)",
        "<char0> [walk] <desk> (9)",
        "<char0> [putback] <apple> (211) <desk> (9)",
        "<char0> [putback] <bananas> (212) <desk> (9)",
    ],
}


def test_as_many_arms_as_the_record_or_its_plan_has(tmp_path: Path) -> None:
    path = _write(tmp_path, INTO_FRIDGE, BOTH, SPECIFIED, {**SPECIFIED, "id": "t2", "arms": 2})
    for result in (import_et_plan([path], 0), import_into_graphs([path])):
        criteria = [made.criteria for made in result.episodes]
        assert [found.arms for found in criteria if found is not None] == [1, 2, 1, 2]


def test_criteria_and_plan_are_kept_whole(tmp_path: Path) -> None:
    (made,) = _imported(tmp_path, INTO_FRIDGE).episodes
    assert made.criteria is not None
    assert made.criteria.success == (
        ("CLOSE", "robot", "apple"),
        ("CLOSE", "robot", "fridge"),
        ("INSIDE", "apple", "fridge"),
    )
    # Where the plan takes it from is a condition of before, not of the end.
    assert made.criteria.intermediate == (("ON", "apple", "kitchentable"),)
    assert made.criteria.variables["apple"] == ("apple_0",)
    assert made.criteria.reference_plan[0] == ("WALK", "kitchen_50")
    assert len(made.criteria.reference_plan) == len(PLAN)
    # Rooms and things have other names here, furniture its class of ours and the same number.
    assert made.criteria.reference_calls == (
        "Navigate[kitchen_0]",
        "Navigate[table_60]",
        "Navigate[apple_0]",
        "Pick[apple_0]",
        "Navigate[fridge_103]",
        "Open[fridge_103]",
        "Place[apple_0, within, fridge_103, None, None]",
    )
    assert made.source is not None
    assert "(CLOSE, robot, fridge) is kept in criteria only" in made.source.not_taken


def test_what_the_judge_has_no_word_for_is_reported(tmp_path: Path) -> None:
    result = _imported(tmp_path, FIND)
    assert len(result.episodes) == 1
    assert ["near the robot" in item.reason for item in result.without_goal] == [True]


def test_a_thing_is_put_into_a_thing_before_both_go_on(tmp_path: Path) -> None:
    (made,) = _imported(tmp_path, NEST).episodes
    assert made.criteria is not None
    first = (("CLOSE", "robot", "apple"), ("INSIDE", "apple", "box"))
    assert made.criteria.intermediate == first
    evaluation = read_evaluation(made.evaluation, "tasks")
    inner, outer = evaluation.propositions
    assert (inner.predicate, inner.lists) == ("is_inside", (("apple_0",), ("storage_box_0",)))
    assert outer.lists[0] == ("storage_box_0",)
    assert evaluation.orders == (((0, 1),),)
    # The plan does not open the fridge, so that is open.
    assert made.furniture["fridge_103"].open is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("relation", "word", "found"),
    [
        ("INSIDE", "fryingpan", ("pan_0", Relation.WITHIN)),
        ("ON", "fryingpan", ("pan_0", Relation.WITHIN)),
        ("ON", "plate", ("plate_0", Relation.ON)),
    ],
)
def test_things_start_in_and_on_things(
    relation: str, word: str, found: tuple[str, Relation], tmp_path: Path
) -> None:
    (made,) = _imported(tmp_path, _into_fridge_from(relation, word)).episodes
    apple = next(item for item in made.objects if item.class_name == "apple")
    assert (apple.parent, apple.relation) == found


def test_what_lint_refuses_is_left_out_with_its_reason(tmp_path: Path) -> None:
    # Nothing can be in or on a candle.
    result = _imported(tmp_path, _into_fridge_from("ON", "candle"))
    assert result.episodes == ()
    (fault,) = result.left_out
    assert "apple_0 is not on candle_0 at the start, and nothing changes that" in fault.reason


def _into_fridge_from(relation: str, word: str) -> dict[str, Any]:
    """The apple's task, with the apple in or on something on the table."""
    criterion = f"(ON, {word}, kitchentable)({relation}, apple, {word})(INSIDE, apple, fridge)"
    plan = [*PLAN[:2], f"<char0> [walk] <{word}> (61)", *PLAN[2:]]
    return {**INTO_FRIDGE, "task_completion_criterion": criterion, "ground_truth_plan": plan}


def test_what_stays_in_place_is_not_carried(tmp_path: Path) -> None:
    plan = [line.replace("apple", "chair") for line in PLAN]
    result = _imported(tmp_path, {**INTO_FRIDGE, "ground_truth_plan": plan})
    (fault,) = result.left_out
    assert fault.reason == "the plan takes a chair, which stays in place here"


def test_the_layout_of_the_specification_is_read_too(tmp_path: Path) -> None:
    (made,) = _imported(tmp_path, SPECIFIED).episodes
    assert made.criteria is not None
    assert made.criteria.category == "navi_mani_relation"
    assert made.criteria.variables["A"] == ("apple_0",)
    assert ("CLOSE", "A", "B") in made.criteria.intermediate
    (goal,) = read_evaluation(made.evaluation, "tasks").propositions
    assert goal.lists == (("apple_0",), made.criteria.variables["C"])


def test_two_words_for_one_class_stay_two_things(tmp_path: Path) -> None:
    plan = ["<char0> [walk] <kitchen> (1)", "<char0> [walk] <kitchentable> (2)"]
    task = {
        "task": "Pudding and sundae into the fridge.",
        "task_completion_criterion": "(INSIDE, pudding, fridge)(INSIDE, sundae, fridge)",
        "env_id": 1,
        "ground_truth_plan": [
            *plan,
            "<char0> [walk] <pudding> (3)",
            "<char0> [walk] <sundae> (4)",
            "<char0> [walk] <fridge> (5)",
            "<char0> [putin] <pudding> (3) <fridge> (5)",
            "<char0> [putin] <sundae> (4) <fridge> (5)",
        ],
    }
    (made,) = _imported(tmp_path, task).episodes
    lists = [p.lists[0] for p in read_evaluation(made.evaluation, "tasks").propositions]
    assert sorted(lists) == [("yogurt_0",), ("yogurt_1",)]
    assert made.source is not None
    assert "pudding is a yogurt here" in made.source.not_taken


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task_completion_criterion": "(LEFT, robot, apple)"}, "'LEFT' is not one of"),
        ({"task_completion_criterion": "(CLOSE, robot)"}, "is not a triple"),
        ({"task_completion_criterion": "apple in fridge"}, "text outside"),
        ({"task_completion_criterion": "(CLOSE, robot, unicorn)"}, "nothing like 'unicorn'"),
        ({"task_completion_criterion": "(CLOSE, robot, pear)"}, "nor plan show where a pear is"),
        ({"ground_truth_plan": ["rm -rf /"]}, "is not a script line"),
        ({"ground_truth_plan": []}, "nor plan show where a fridge is"),
        ({"env_id": -1}, "env_id"),
        ({"env_id": 10**30}, "env_id"),
    ],
)
def test_what_cannot_be_imported_has_its_reason(
    change: Mapping[str, object], words: str, tmp_path: Path
) -> None:
    result = _imported(tmp_path, {**INTO_FRIDGE, **change})
    assert not result.episodes
    (fault,) = result.left_out
    assert words in fault.reason


@pytest.mark.slow
def test_an_unknown_field_rejects_nothing_and_is_noted(tmp_path: Path) -> None:
    entity = {**SPECIFIED["objects"]["A"], "colour": "green"}
    objects = {**SPECIFIED["objects"], "A": entity}
    lines = [{**INTO_FRIDGE, "colour": "red"}, {**SPECIFIED, "objects": objects}, FIND]
    result = _imported(tmp_path, *lines)
    assert [e.source is not None for e in result.episodes] == [True] * 3
    assert "the field 'colour' is not known" in result.report["not_taken"]["tasks-1"]  # type: ignore[index]


def test_criteria_say_where_things_are_before_the_plan_does(tmp_path: Path) -> None:
    task = {
        "task": "Find the pear on the desk.",
        "task_completion_criterion": "(CLOSE, robot, pear)(ON, pear, desk)(INSIDE, desk, bedroom)"
        "(ON, desk, floor)(ON, pear, wall)",
        "env_id": 4,
        "ground_truth_plan": ["<char0> [walk] <kitchen> (50)", "<char0> [walk] <pear> (3)"],
    }
    (made,) = _imported(tmp_path, task).episodes
    (pear,) = made.objects
    assert pear.parent.startswith("desk_")
    assert made.criteria is not None
    # A floor is that of any room, and a wall is nothing here.
    assert all(name.startswith("floor_") for name in made.criteria.variables["floor"])
    assert "wall" not in made.criteria.variables


def test_whether_on_or_within_is_what_criteria_and_furniture_say(tmp_path: Path) -> None:
    plan = [line.replace("putin", "put") for line in INTO_FRIDGE["ground_truth_plan"]]
    table = {
        "task": "Onto the table.",
        "task_completion_criterion": "(CLOSE, robot, apple)",
        "env_id": 4,
        "ground_truth_plan": [
            *plan[:4],
            "<char0> [walk] <coffeetable> (9)",
            "<char0> [putin] <apple> (211) <coffeetable> (9)",
        ],
    }
    made = _imported(tmp_path, {**INTO_FRIDGE, "ground_truth_plan": plan}, table).episodes
    calls = [e.criteria.reference_calls[-1] for e in made if e.criteria is not None]
    assert calls[0] == "Place[apple_0, within, fridge_103, None, None]"
    assert calls[1] == "Place[apple_0, on, table_9, None, None]"


@pytest.mark.slow
def test_every_line_is_an_episode_or_a_fault(tmp_path: Path) -> None:
    lines: list[object] = [
        INTO_FRIDGE,
        FIND,
        "{",
        "",
        "NaN",
        "[]",
        SPECIFIED,
        SPECIFIED,
        "[" * 5000,
    ]
    result = _imported(tmp_path, *lines)
    assert sum(result.read.values()) == len(lines) - 1
    assert len(result.episodes) + len(result.left_out) == len(lines) - 1
    assert [fault.episode_id for fault in result.left_out] == [f"line {n}" for n in (3, 5, 6, 8, 9)]


def test_the_command_writes_what_the_lint_accepts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = _write(tmp_path, INTO_FRIDGE, FIND)
    assert main(["episodes", "import", "et-plan-bench", str(path), "-o", str(out)]) == 0
    for file in ("tasks-1.json", "tasks-2.json"):
        assert Linter().lint(out / file).errors == 0
    report = json.loads((out / "import_report.json").read_text(encoding="utf-8"))
    assert (report["episodes"], report["with_goal"]) == (2, 1)


@pytest.mark.slow
def test_lint_carries_reference_plans_out_with_the_body(tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    find = {
        "task": "Where is the apple?",
        "task_completion_criterion": "(CLOSE, robot, apple)",
        "env_id": 4,
        "ground_truth_plan": PLAN[:3],
    }
    opened = [*PLAN[:3], PLAN[4], PLAN[5], *PLAN[2:5], PLAN[6]]
    # Takes it out again.
    undone = [*PLAN, PLAN[3]]
    plans = [{**INTO_FRIDGE, "ground_truth_plan": plan} for plan in (opened, undone)]
    path = _write(tmp_path, plans[0], find, plans[1])
    assert main(["episodes", "import", "et-plan-bench", str(path), "-o", str(out)]) == 0
    files = [str(out / f"tasks-{n}.json") for n in (1, 2, 3)]
    capsys.readouterr()
    main(["episodes", "lint", "--body", *files])
    text = capsys.readouterr().out
    assert "tasks-3.json: warning reference-plan" in text
    assert "reference plans: 2 of 3 meet their criteria" in text
