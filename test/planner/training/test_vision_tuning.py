"""LoRA fine-tuning of a vision-language model, with a tiny one that the test makes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from tiny_vision_model import make_tiny_vision_model

from planner.cli import main
from planner.memory.vlm import operation_grammar
from planner.models.chat import Message, Picture, Request, Speaker
from planner.training.tuning import (
    CHECKPOINT,
    TuningProgress,
    TuningRecipe,
    chosen,
    learning_rate,
)
from planner.training.vision_tuning import (
    TRAIN_FILE,
    Sample,
    SampleKind,
    read_conversations,
    tune,
    write_balanced,
    write_samples,
)
from planner.world.errors import FileError, PlannerError

TINY = TuningRecipe(rate=2e-2, rank=4, alpha=8, batch=3, epochs=8, save_every=1)


def make_data(root: Path) -> Path:
    answers = {
        SampleKind.NONE: "No updates",
        SampleKind.UPDATE: "Update 149 (10, 20):cup",
        SampleKind.ADD: "Add (192, 96):cup with the Object.100",
    }
    samples = [
        Sample(np.full((384, 384, 3), 40 * i, np.uint8), f"view {i}", answer, kind)
        for i, (kind, answer) in enumerate(answers.items())
    ]
    write_samples(root, 0, "sample", samples)
    write_balanced(root, 1, 1)
    return root


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("epm"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("torch", "transformers", "peft", "llguidance"):
        pytest.importorskip(name, reason=f"needs the extra train ({name})")
    return make_tiny_vision_model(tmp_path_factory.mktemp("model"))


def test_the_papers_numbers_are_the_defaults() -> None:
    """EPM-T4."""
    paper = TuningRecipe()
    assert (paper.rate, paper.batch, paper.epochs) == (2e-5, 64, 4)
    assert (paper.alpha, paper.rank, paper.dropout) == (128, 64, 0.01)
    steps = 35_565
    assert learning_rate(0, steps, paper) < learning_rate(500, steps, paper) < paper.rate
    top = max(learning_rate(step, steps, paper) for step in range(0, steps, 50))
    assert top == pytest.approx(paper.rate, rel=1e-2)
    halfway = learning_rate(steps // 2, steps, paper)
    assert halfway == pytest.approx(paper.rate / 2 / 0.97, rel=1e-2)
    assert learning_rate(steps - 1, steps, paper) < 1e-3 * paper.rate


def test_each_epoch_sees_each_sample_once_in_an_order_of_its_own() -> None:
    recipe = replace(TINY, batch=4)
    places = [n for step in range(5) for n in chosen(step, 10, recipe)]
    assert sorted(places[:10]) == sorted(places[10:]) == [*range(10)]
    assert places[:10] != places[10:]


def test_conversations_are_read_and_a_wrong_line_is_named(data: Path, tmp_path: Path) -> None:
    read = read_conversations(data)
    assert [c.prompt for c in read] == ["view 0", "view 1", "view 2"]
    assert read[1].answer == "Update 149 (10, 20):cup"
    assert read[1].image()[0, 0].tolist() == [40, 40, 40]
    good = (data / TRAIN_FILE).read_text().splitlines()
    for line, reason in (
        ("{", "line 2"),
        (json.dumps({**json.loads(good[0]), "images": []}), "is not one picture"),
        (json.dumps({"images": ["x.png"]}), "messages"),
    ):
        (tmp_path / TRAIN_FILE).write_text(f"{good[0]}\n{line}\n")
        with pytest.raises(FileError, match=reason):
            read_conversations(tmp_path)
    (tmp_path / TRAIN_FILE).write_text("")
    with pytest.raises(FileError, match="holds no samples"):
        read_conversations(tmp_path)
    (tmp_path / TRAIN_FILE).write_text(good[0] + "\n")
    with pytest.raises(FileError, match="cannot be read as a picture"):
        read_conversations(tmp_path)[0].image()


def test_datasets_reads_the_conversations(data: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra train")
    rows = datasets.load_dataset("json", data_files=str(data / TRAIN_FILE), split="train")
    assert rows.num_rows == 3
    assert rows[0]["messages"][0]["content"][0]["type"] == "image"
    assert rows[0]["images"] == ["shard-00000/000001.png"]


def test_loss_falls_the_adapter_loads_back_and_the_updater_runs_with_it(
    data: Path, model: Path, tmp_path: Path
) -> None:
    from planner.models.in_process_vision import InProcessVision

    told: list[TuningProgress] = []
    samples = read_conversations(data)
    adapter = tune(samples, model, tmp_path, TINY, told.append)
    assert [at.step for at in told] == [*range(1, 9)]
    losses = [at.loss for at in told]
    assert losses[-1] < 0.9 * losses[0]
    settings = json.loads((adapter / "adapter_config.json").read_text())
    assert (settings["r"], settings["lora_alpha"], settings["lora_dropout"]) == (4, 8, 0.01)
    with safe_open(str(adapter / "adapter_model.safetensors"), framework="np") as file:
        names = [*file.keys()]
    for part in ("vision_tower", "language_model"):
        assert any(part in name for name in names)
    assert not any("lm_head" in name or "projector" in name for name in names)
    plain, tuned = InProcessVision(model), InProcessVision(model, adapter=adapter)
    question = Message(Speaker.USER, samples[2].prompt, (Picture.of(samples[2].image()),))
    asked = Request((question,), grammar=operation_grammar([]), accepts_partial=True)
    assert asyncio.run(tuned.complete(asked)).text
    logits = [_first_logits(each, samples[2]) for each in (plain, tuned)]
    assert not np.allclose(*logits)
    # Done is done: another call has nothing left to do and leaves the same adapter.
    again: list[TuningProgress] = []
    assert tune(samples, model, tmp_path, TINY, again.append) == adapter
    assert again == []
    with pytest.raises(FileError, match="another recipe, model or data set"):
        tune(samples, model, tmp_path, replace(TINY, rank=2), again.append)
    (tmp_path / CHECKPOINT).write_bytes(b"half")
    with pytest.raises(FileError, match="is not a checkpoint"):
        tune(samples, model, tmp_path, TINY, again.append)
    with pytest.raises(PlannerError, match="is not an adapter folder"):
        InProcessVision(model, adapter=tmp_path)


def _first_logits(seer: object, sample: object) -> np.ndarray:
    import torch

    loaded = seer._loaded  # type: ignore[attr-defined]
    with torch.inference_mode():
        inputs = loaded.encoded(sample.image(), sample.prompt)  # type: ignore[attr-defined]
        return np.asarray(loaded.model(**inputs).logits[0, -1].float().numpy())


def test_a_killed_run_continues_and_ends_as_if_it_was_never_killed(
    data: Path, model: Path, tmp_path: Path
) -> None:
    words = ["train", "memory", str(data), str(model)]
    given = [*("--rate", "3e-3", "--rank", "4", "--alpha", "8"), *("--batch", "3", "--epochs", "8")]
    given += ["--save-every", "1"]
    killed = [sys.executable, "-m", "planner.cli", *words, str(tmp_path / "killed"), *given]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(killed, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 3 "):
            process.send_signal(signal.SIGKILL)
            break
    assert process.wait(60) == -signal.SIGKILL
    process.stdout.close()
    time.sleep(0.1)
    assert main([*words, str(tmp_path / "killed"), *given]) == 0
    assert main([*words, str(tmp_path / "whole"), *given]) == 0
    made = [
        (tmp_path / name / "adapter" / "adapter_model.safetensors").read_bytes()
        for name in ("killed", "whole")
    ]
    assert made[0] == made[1]
