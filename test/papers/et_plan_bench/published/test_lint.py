"""ET-Plan-Bench's criteria under lint: what holds at the start, and reference plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papers.et_plan_bench.published.task_graphs import import_into_graphs
from planner.cli import main
from planner.episodes.episode_file import write_episode
from planner.episodes.lint.goal import Rule
from planner.episodes.lint.linting import Linter

TASK = {
    "task": "Put the apple into the fridge.",
    "task_completion_criterion": "(CLOSE, robot, apple)(INSIDE, apple, fridge)(ON, apple, table)",
    "env_id": 1,
    "ground_truth_plan": [
        "<char0> [walk] <kitchen> (1)",
        "<char0> [walk] <table> (2)",
        "<char0> [walk] <apple> (3)",
        "<char0> [grab] <apple> (3)",
        "<char0> [walk] <bedroom> (5)",
        "<char0> [walk] <fridge> (4)",
        "<char0> [putin] <apple> (3) <fridge> (4)",
    ],
}


def _episode(folder: Path, **criteria: object) -> Path:
    """The task in its graph, with some of its criteria changed."""
    path = folder / "tasks.json"
    path.write_text(json.dumps(TASK), encoding="utf-8")
    result = import_into_graphs([path])
    result.write(folder)
    (made,) = result.episodes
    assert made.criteria is not None
    changed = made.criteria.model_copy(update=criteria)
    bare = {"criteria": changed, "evaluation": None, "task_types": ()}
    return write_episode(made.model_copy(update=bare), folder)


def test_a_sound_task_has_no_error_and_its_plan_holds(tmp_path: Path, capsys) -> None:
    assert main(["episodes", "lint", str(_episode(tmp_path))]) == 0
    assert "reference plans: 1 of 1 meet their criteria" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("criteria", "rule", "field", "reason"),
    [
        (
            {"success": (("INSIDE", "fridge", "kitchen"),)},
            Rule.CONTRADICTION,
            "criteria.success.0",
            "fridge_4 is not inside kitchen_1 at the start, and nothing changes that",
        ),
        (
            {"intermediate": (("ON", "table", "fridge"),)},
            Rule.CONTRADICTION,
            "criteria.intermediate.0",
            "table_2 is not on fridge_4 at the start",
        ),
        (
            {"success": (("ON", "apple", "table"),)},
            Rule.ALREADY_SATISFIED,
            "criteria.success",
            "already at the start",
        ),
    ],
)
def test_what_stands_against_the_criteria_is_refused(
    criteria: dict[str, object], rule: Rule, field: str, reason: str, tmp_path: Path
) -> None:
    names = {"apple": "apple_3", "fridge": "fridge_4", "table": "table_2", "kitchen": "kitchen_1"}
    variables = {word: (name,) for word, name in names.items()}
    path = _episode(tmp_path, variables=variables, **criteria)
    found = [f for f in Linter().lint(path).findings if f.rule is not Rule.NO_EVALUATION]
    assert [(f.rule, f.field) for f in found] == [(rule, field)]
    assert reason in found[0].reason


def test_a_plan_that_does_not_do_it_is_reported_with_the_reason(tmp_path: Path, capsys) -> None:
    calls = ("Navigate[kitchen_1]", "Pick[apple_3]", "Place[apple_3, within, fridge_4, None, None]")
    path = _episode(tmp_path, reference_calls=calls)
    assert main(["episodes", "lint", "--json", str(path)]) == 0
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    assert report["reference_plan"] is False
    reasons = [f["reason"] for f in report["findings"] if f["rule"] == "reference-plan"]
    assert reasons == [
        "step 3, Place[apple_3, within, fridge_4, None, None]: violated precondition: close"
    ]
