"""`planner demo-spot`: places, troubles and the two shares; the runs themselves need the SDK."""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from pathlib import Path

import pytest

from planner.bringup_arguments import Arguments
from planner.command_line import EXIT_INTERRUPTED
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode
from planner.evaluation.task import Predicate
from planner.evaluation.trace import (
    CallLine,
    EndLine,
    EpisodeLine,
    EpisodeTrace,
    TraceAgent,
    TracedProposition,
)
from planner.world.errors import PlannerError
from planner.world.files import parse_model
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind
from sim_bridge.spot.demo import (
    Run,
    add_arguments,
    backend_settings,
    is_plan_right,
    last_line,
    nodes,
    run,
    shuffle,
    table,
)
from sim_bridge.spot.options import SpotOptions

TASKS = sorted((config_dir() / "spot_scenarios").glob("*.json"))


def trace(*calls: tuple[str, int], predicate: Predicate = Predicate.IS_ON_TOP) -> EpisodeTrace:
    goal = TracedProposition("the cup is on the bed", predicate, (("cup_0",), ("bed_0",)))
    return EpisodeTrace(
        EpisodeLine(
            "spot",
            "train_0",
            (TraceAgent("agent_0", AgentKind.ROBOT),),
            (goal,),
            Mode.STRICT,
            Variant.BOXES,
        ),
        EndLine(100, 0.0, False, (False,), (None,)),
        tuple(
            CallLine("agent_0", text, index, index + 1, code)
            for index, (text, code) in enumerate(calls)
        ),
    )


PICK, PLACE = "Pick[cup_0]", "Place[cup_0, on, bed_0, None, None]"


@pytest.mark.parametrize(
    ("calls", "planned"),
    [
        ([(PICK, 0), (PLACE, 0)], True),
        ([(PICK, 0), (PLACE, 7)], True),
        ([(PICK, 7), (PLACE, 7)], True),
        ([(PICK, 7), ("Navigate[bed_0]", 0)], False),
        ([(PLACE, 7)], False),
        ([("Pick[bowl_0]", 0), ("Place[bowl_0, on, bed_0, None, None]", 0)], False),
        ([(PICK, 0), ("Place[cup_0, within, bed_0, None, None]", 0)], False),
        ([(PICK, 0), (PLACE, 0), (PICK, 0)], False),
        ([], False),
    ],
)
def test_planning_success_is_a_plan_that_would_have_done_it(
    calls: list[tuple[str, int]], planned: bool
) -> None:
    """EPM-5: correct plan even if a skill failed."""
    assert is_plan_right(trace(*calls)) is planned


def test_a_goal_that_holds_was_planned_well() -> None:
    done = trace((PICK, 0))
    assert is_plan_right(replace(done, end=replace(done.end, success=True))) is True


def test_a_goal_that_no_plan_of_places_answers_is_left_out() -> None:
    assert is_plan_right(trace((PICK, 0), predicate="is_clean")) is None


def test_only_the_task_planner_is_bounded() -> None:
    arguments = Arguments.from_text({"planner": "expert", "episode": str(TASKS[0])})
    bounded = {node.name: node.parameters.get("max_calls") for node in nodes(arguments, 25)}
    assert bounded.pop("task_planner") == 25
    assert set(bounded.values()) == {None}


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim_bridge.spot.demo.has_sdk", lambda: False)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(PlannerError, match="needs the Spot SDK: make spot"):
        run(parser.parse_args([]))
    with pytest.raises(SystemExit):
        parser.parse_args(["--max-calls", "0"])


def test_the_papers_shares() -> None:
    """EPM-C41: 14/20 is 70 %, 11/20 is 55 %."""
    runs = [Run(f"t{n % 4}", n, n < 14, n < 11, n < 11, True, 0.0, 1, 0, "") for n in range(20)]
    lines = table(runs)
    assert lines[-1].split()[:3] == ["all", "20", "70%"]
    assert "(14/20)" in lines[-1]
    assert "55% (11/20)" in lines[-1]
    assert len(lines) == 6


@pytest.mark.parametrize("task", TASKS, ids=lambda path: path.stem)
def test_things_lie_elsewhere_on_the_same_furniture_each_run(task: Path, tmp_path: Path) -> None:
    """EPM-1.4: active objects at random on the indicated receptacle."""
    original, _ = load_episode(task)
    seen = set()
    for seed in range(3):
        things = shuffle(task, tmp_path / "one.json", random.Random(seed))
        moved, _ = load_episode(tmp_path / "one.json")
        assert things
        for was, now in zip(original.objects, moved.objects, strict=True):
            assert (was.name, was.parent, was.part) == (now.name, now.parent, now.part)
            assert (was.pose == now.pose) or now.name in things
        assert moved.evaluation == original.evaluation
        seen.add(tuple(item.pose for item in moved.objects))
    assert len(seen) == 3


def test_the_settings_of_a_run_are_settings_of_the_backend() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(["--slips", "0.4", "--sticks", "0"])
    options = parse_model(backend_settings(args, "cup_0"), SpotOptions, "test")
    assert options.noise.failed_grasps == 0.4
    assert [(t.kind, t.name) for t in options.troubles] == [("overlook", "cup_0")]
    assert Path(options.layout).is_file()
    with pytest.raises(SystemExit):
        parser.parse_args(["--slips", "1.5"])


def test_a_signal_that_ends_a_run_ends_the_series(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = []

    def stopped(specs: object, make_writer: object, *, stopped_status: int) -> int:
        begun.append(specs)
        return stopped_status

    monkeypatch.setattr("sim_bridge.spot.demo.has_sdk", lambda: True)
    monkeypatch.setattr("sim_bridge.spot.demo.run_nodes", stopped)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args(["--runs", "2", "-o", str(tmp_path)])) == EXIT_INTERRUPTED
    assert len(begun) == 1
    assert "stopped; the series ends here" in capsys.readouterr().out


def test_the_last_line_has_both_verdicts_and_names_runs_in_which_they_differ() -> None:
    same = [Run("bread", n, True, n < 2, n < 2, True, 0.0, 1, 0, "") for n in range(3)]
    assert last_line(same, 0) == "verdicts: live 2 of 3, bags 2 of 3, the same in each run"
    other = Run("cup", 7, True, True, False, False, 0.0, 1, 0, "")
    assert last_line([*same, other], 1) == (
        "verdicts: live 3 of 4, bags 2 of 4, DIFFERENT in cup 7; 1 not judged"
    )
