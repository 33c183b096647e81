"""Success by roll-outs: points with intervals, and a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from planner.bench.runs.success_curves import draw_success_curves, success_curves
from planner.cli import main
from planner.evaluation.statistics import Interval
from planner.training.improvement.journal import CURVE, Curve, CurvePoint
from planner.world.errors import PlannerError


def made_curve(
    algorithm: str, successes: tuple[int, ...], *, seed: int = 1, learner: str = "base"
) -> Curve:
    points = tuple(
        CurvePoint(iteration=i, samples=100 * i, traces=10 * i, episodes=10, successes=n)
        for i, n in enumerate(successes)
    )
    return Curve(algorithm=algorithm, learner=learner, seed=seed, points=points)


def test_one_run_has_exact_intervals_and_several_those_of_their_mean() -> None:
    curves = [
        made_curve("ddaft", (2, 5)),
        made_curve("ddaft", (4, 7), seed=2),
        made_curve("dast", (3, 4)),
    ]
    lines = success_curves(curves)
    assert [*lines] == ["ddaft", "dast"]
    first, last = (point.success for point in lines["ddaft"])
    assert (first.value, last.value, last.n) == (pytest.approx(0.3), pytest.approx(0.6), 2)
    assert last.interval is Interval.STUDENT_T
    assert lines["dast"][1].success.interval is Interval.CLOPPER_PEARSON
    assert [point.samples for point in lines["dast"]] == [0, 100]


def test_a_policy_scored_in_several_rounds_has_an_interval_over_tasks() -> None:
    of_tasks = ((True,) * 5, (True,) * 5, (False,) * 5, (False,) * 5)
    (point,) = made_curve("ddaft", (10,)).points
    rounds = point.model_copy(update={"episodes": 20, "by_task": of_tasks})
    curve = made_curve("ddaft", (10,)).model_copy(update={"points": (rounds,)})
    (found,) = success_curves([curve])["ddaft"]
    assert (found.success.value, found.success.n) == (0.5, 4)
    assert found.success.high - found.success.low > 0.8


def test_learners_are_told_apart_and_runs_of_other_lengths_are_refused() -> None:
    lines = success_curves([made_curve("ddaft", (1,)), made_curve("ddaft", (2,), learner="small")])
    assert [*lines] == ["ddaft, base", "ddaft, small"]
    with pytest.raises(PlannerError, match="runs of ddaft have different numbers of roll-outs"):
        success_curves([made_curve("ddaft", (1, 2)), made_curve("ddaft", (1,), seed=2)])


def test_no_two_lines_have_the_same_colour() -> None:
    curves = [made_curve(f"a{n}", (n, n)) for n in range(9)]
    picture = np.asarray(draw_success_curves(curves), np.int64).reshape(-1, 3)
    vivid = picture[picture.max(axis=1) - picture.min(axis=1) > 100]
    _, counts = np.unique(vivid @ (1 << 16, 1 << 8, 1), return_counts=True)
    assert (counts > 200).sum() == 9


def test_the_command_draws_runs_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, successes in (("ddaft", (2, 8)), ("dast", (2, 5))):
        (tmp_path / name).mkdir()
        (tmp_path / name / CURVE).write_text(made_curve(name, successes).model_dump_json())
    target = tmp_path / "curves.png"
    folders = [str(tmp_path / name) for name in ("ddaft", "dast")]
    assert main(["bench", "curves", *folders, "-o", str(target)]) == 0
    assert "ddaft: 0.80 [0.44, 0.97] after 100 roll-outs" in capsys.readouterr().out
    with Image.open(target) as picture:
        assert picture.size == (900, 420)
    assert main(["bench", "curves", str(tmp_path), "-o", str(target)]) == 2
    assert "curve.json: cannot be read" in capsys.readouterr().err
