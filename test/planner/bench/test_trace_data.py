"""Traces made from runs: of the demonstrator and of another planner, resumed, and guarded."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from planner.bench.runs.manifest import SuiteEpisode
from planner.bench.trace_data import TraceRecipe, _drawn, make_traces, practising
from planner.cli import main
from planner.planning.learned.chooser import read_planner, shipped_planner, write_planner
from planner.training.learned.training import Left, examples_of
from planner.training.traces.folder import read_traces
from planner.training.traces.record import Trace
from planner.training.traces.rules import TraceRules
from planner.world.errors import PlannerError
from planner.world.share import config_dir

RULES = TraceRules(keep_failed=True)


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("episodes")
    for name in ("bedside_0", "night_light_0"):
        shutil.copy(config_dir() / "episodes" / "train" / f"{name}.json", folder)
    return folder


def made(episodes: Path, output: Path, **changed: object) -> tuple[list[Trace], list[int]]:
    recipe = TraceRecipe(str(episodes), shard=1, **changed)  # type: ignore[arg-type]
    shards: list[int] = []
    make_traces(output, recipe, lambda done, _of, _traces: shards.append(done))
    return list(read_traces(output)), shards


@pytest.mark.slow
def test_the_demonstrator_gives_dialogues_in_numbers(episodes: Path, tmp_path: Path) -> None:
    traces, _ = made(episodes, tmp_path / "traces")
    assert len(traces) == 2
    for trace in traces:
        calls = [turn.call for turn in trace.turns]
        assert trace.reward == 1
        assert trace.provenance.source == "expert"
        assert calls[-1] == "Done[]"
        assert max(turn.gain for turn in trace.turns) > 0
        # Each interaction follows a walk to its target, and only known numbers are spoken of.
        pick = next(i for i, call in enumerate(calls) if call.startswith("Pick["))
        assert calls[pick - 1] == calls[pick].replace("Pick", "Navigate")


@pytest.mark.slow
def test_a_killed_run_goes_on_and_gives_the_same(episodes: Path, tmp_path: Path) -> None:
    whole, _ = made(episodes, tmp_path / "whole")
    again, shards = made(episodes, tmp_path / "again")
    assert shards == [1, 2]
    (tmp_path / "again" / "shard-00001.jsonl").unlink()
    again, shards = made(episodes, tmp_path / "again")
    assert shards == [2]
    assert again == whole


@pytest.mark.slow
def test_other_planners_are_recorded_as_they_are(episodes: Path, tmp_path: Path) -> None:
    traces, _ = made(
        episodes, tmp_path / "words", planner="words", most=1, agents=(2,), rules=RULES
    )
    assert {trace.provenance.source for trace in traces} == {"words"}
    assert {trace.agent for trace in traces} == {"agent_0", "agent_1"}


def test_evaluation_episodes_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "traces", str(tmp_path), "--episodes", "heldout"]) != 0
    assert "cannot be trained on: its split is" in capsys.readouterr().err


@pytest.mark.slow
def test_in_practice_the_expert_says_what_it_would_have_called(
    episodes: Path, tmp_path: Path
) -> None:
    recipe = practising(TraceRecipe(str(episodes), shard=1, most=1), shipped_planner())
    make_traces(tmp_path / "practice", recipe, lambda *_: None)
    (trace,) = read_traces(tmp_path / "practice")
    assert trace.provenance.source == "learned"
    shown = [turn.shown for turn in trace.turns if turn.shown]
    assert len(shown) > 1
    # It speaks of numbers, as the learner has to.
    assert all(call == "Done[]" or "[Object." in call for call in shown)
    # What is learned is the expert's call, whatever was called instead.
    model = read_planner(shipped_planner())
    left = Left()
    examples = list(examples_of(trace, model.weights, model.vocabulary, left))
    assert len(examples) == left.taken > 0
    assert left.taken + left.not_a_choice == len(shown)


@pytest.mark.slow
def test_practice_with_other_weights_is_another_recipe(episodes: Path, tmp_path: Path) -> None:
    recipe = practising(TraceRecipe(str(episodes), shard=1, most=1), shipped_planner())
    make_traces(tmp_path / "practice", recipe, lambda *_: None)
    model = read_planner(shipped_planner())
    others = tmp_path / "others.safetensors"
    write_planner(others, replace(model, notes={"made": "otherwise"}))
    with pytest.raises(PlannerError, match="practice"):
        make_traces(tmp_path / "practice", practising(recipe, others), lambda *_: None)


def test_bags_are_no_practice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, weights = str(tmp_path / "bag"), str(shipped_planner())
    words = ["train", "traces", str(tmp_path / "made"), "--from-bag", bag, "--practice", weights]
    assert main(words) != 0
    assert "--practice is of --episodes" in capsys.readouterr().err


def test_some_episodes_are_drawn_from_all_kinds(tmp_path: Path) -> None:
    # A pack is sorted by kind: the first of it are all of one.
    suite = tuple(
        SuiteEpisode(tmp_path, f"{kind}_{number}", "train_0", number, "Tidy up.", "0")
        for kind in ("heterogeneous", "rearrange", "spatial", "temporal")
        for number in range(100)
    )

    def drawn(seed: int, most: int = 40) -> tuple[SuiteEpisode, ...]:
        return _drawn(suite, TraceRecipe("", seed=seed, most=most))

    kinds = Counter(entry.episode_id.split("_")[0] for entry in drawn(1))
    assert len(drawn(1)) == 40
    assert len(set(drawn(1))) == 40
    assert min(kinds[kind] for kind in ("heterogeneous", "rearrange", "spatial", "temporal")) >= 4
    assert drawn(1) == drawn(1)
    assert drawn(1) == tuple(sorted(drawn(1), key=suite.index))
    assert drawn(1) != drawn(2)
    assert drawn(1, most=0) == drawn(1, most=400) == drawn(2, most=500) == suite
