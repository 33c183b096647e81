"""The network of `learned` as a learner, on the traces that a run kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.bench.runs.engines import OneProcess
from planner.bench.runs.manifest import find_suite
from planner.bench.runs.runner import BenchRollouts
from planner.bench.runs.settings import RunSettings
from planner.cli import main
from planner.planning.learned.chooser import (
    PlannerModel,
    chooser_shapes,
    read_planner,
    shipped_planner,
    write_planner,
)
from planner.planning.learned.network import reader_shapes
from planner.training.improvement.loop import NetworkLearner
from planner.training.improvement.sampler import Draw, FixedDraws
from planner.training.learned.training import MODEL_FILE, ChooserProgress, ChooserRecipe
from planner.training.traces.folder import learnable_path, read_shard
from planner.world.errors import FileError, PlannerError

TASK = "desk_tidy_0"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights that know words, and nothing about them."""
    vocabulary = read_planner(shipped_planner()).vocabulary
    rng = np.random.default_rng(1)
    shapes = {**reader_shapes(len(vocabulary)), **chooser_shapes()}
    weights = {n: rng.normal(0, 0.1, s).astype(np.float32) for n, s in shapes.items()}
    path = tmp_path_factory.mktemp("base") / "base.safetensors"
    write_planner(path, PlannerModel(vocabulary, weights, {}))
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the expert did, kept as a trace."""
    settings = RunSettings(planner="expert", agents=1, keeps_traces=True)
    rollouts = BenchRollouts(
        TASK, find_suite(TASK), lambda policy: settings, OneProcess, lambda *row: None
    )
    source = FixedDraws([Draw(TASK, 0)])
    rollouts.run(None, source, tmp_path_factory.mktemp("runs") / "run")
    (ended,) = source.ended()
    assert ended.success
    assert ended.trace is not None
    return ended.trace


@pytest.mark.slow
def test_a_run_keeps_the_traces_of_any_planner(trace: Path) -> None:
    (kept,) = read_shard(learnable_path(trace))
    assert (kept.provenance.source, kept.provenance.episode_id, kept.reward) == ("expert", TASK, 1)
    assert kept.turns[-1].call == "Done[]"
    assert all("Object." in turn.call for turn in kept.turns[:-1])
    assert any(turn.gain > 0 for turn in kept.turns)


def test_a_fit_starts_from_the_base_and_learns_the_calls(
    base: Path, trace: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs the extra train (torch)")
    told: list[ChooserProgress] = []
    learner = NetworkLearner(base, ChooserRecipe(steps=400, batch=16), told.append)
    for name in ("first", "again"):
        learner.fit([trace], tmp_path / name)
    assert told[1].loss < 0.7 * told[0].loss
    # Not the bytes: safetensors writes the header's entries in any order.
    again, after = (read_planner(tmp_path / n / MODEL_FILE) for n in ("again", "first"))
    assert all(np.array_equal(after.weights[n], again.weights[n]) for n in after.weights)
    before = read_planner(base)
    changed = {n for n in before.weights if not np.array_equal(before.weights[n], after.weights[n])}
    assert "choose0.weight" in changed
    assert changed <= set(chooser_shapes()), "the reader stays"


def test_bad_input_is_one_clear_error(
    base: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learner = NetworkLearner(base, ChooserRecipe(steps=1), lambda at: None)
    with pytest.raises(PlannerError, match="0 episodes have no choice to learn from"):
        learner.fit([], tmp_path)
    with pytest.raises(FileError, match="cannot be read"):
        learner.fit([tmp_path / "none"], tmp_path)
    words = ["train", "ddaft", TASK, "--learner", "network", "--evaluate", "none"]
    words += ["--start", str(base), "--out", str(tmp_path / "out")]
    for more, reason in (
        (["--steps", "0"], "--steps is 0, below 1"),
        (["--max-cycles", "2"], "--max-cycles is for --learner causal"),
        (["--start", str(trace)], "cannot be read"),
    ):
        assert main([*words, *more]) == 2
        assert reason in capsys.readouterr().err


@pytest.mark.slow
def test_a_temperature_draws_calls_and_the_seed_repeats_them(base: Path, tmp_path: Path) -> None:
    calls = []
    for place, temperature in enumerate((0.0, 0.0, 1.0, 1.0)):
        options = {"learned_model": str(base), "learned_temperature": temperature}
        settings = RunSettings(planner="learned", agents=1, keeps_traces=True, options=options)
        rollouts = BenchRollouts(
            TASK, find_suite(TASK), lambda policy, s=settings: s, OneProcess, lambda *row: None
        )
        numbers = (0, 0, 0, 1)
        source = FixedDraws([Draw(TASK, numbers[place])])
        rollouts.run(None, source, tmp_path / str(place))
        (ended,) = source.ended()
        assert ended.trace is not None
        (kept,) = read_shard(learnable_path(ended.trace))
        calls.append([turn.call for turn in kept.turns])
    assert calls[0] == calls[1]
    assert calls[2] != calls[0]
    assert calls[2] != calls[3], "another roll-out has another seed"
