"""`planner serve`: the right vLLM command for a model and GPU memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.models.serve import GIB, ModelSize, detect_gpus, plan_for, size_of

LLAMA_8B = {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
}


def folder(path: Path, weights_gib: float = 15.0, **config: object) -> Path:
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(LLAMA_8B | config))
    with (path / "model.safetensors").open("wb") as file:
        file.truncate(int(weights_gib * GIB))
    return path


def command(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["serve", *words, "--dry-run"]) == 0
    return capsys.readouterr().out.splitlines()[-1].split()


def value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def test_an_8b_model_on_one_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = folder(tmp_path / "m")
    words = command(capsys, str(model), "--gpu-memory", "24", "--gpus", "1")
    assert words[:3] == ["vllm", "serve", str(model)]
    assert value(words, "--tensor-parallel-size") == "1"
    assert value(words, "--max-model-len") == "16384"
    assert "--enable-prefix-caching" in words
    assert "--enable-prompt-tokens-details" in words
    assert "--enable-lora" not in words


def test_the_cache_of_a_token_is_computed_from_the_files(tmp_path: Path) -> None:
    size = size_of(str(folder(tmp_path / "m")))
    assert size.kv_bytes == 2 * 32 * 8 * 128 * 2
    assert size.weights_gib == pytest.approx(15.0)
    assert size.context == 131072


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", 130.4),
        ("Qwen/Qwen2.5-0.5B-Instruct", 0.93),
        ("org/Llama-3.1-8B-Instruct-AWQ", 4.5),
        ("org/Llama-3.1-8B-Instruct-FP8", 7.8),
    ],
)
def test_the_size_by_the_name(name: str, gib: float) -> None:
    assert size_of(name).weights_gib == pytest.approx(gib, rel=0.02)


def test_as_few_gpus_as_hold_it() -> None:
    big = size_of("meta-llama/Llama-3.3-70B-Instruct")
    assert plan_for(big, 80.0, 8, 16384).gpus == 2
    assert plan_for(big, 40.0, 8, 16384).gpus == 8
    assert plan_for(big, 141.0, 4, 16384).gpus == 2


def test_a_shorter_context_where_memory_is_short() -> None:
    size = ModelSize(15.0, 131072, 131072, "test")
    plan = plan_for(size, 21.0, 1, 16384)
    assert plan.context < 16384
    assert plan.context % 16 == 0
    assert plan.sequences == 1
    assert plan_for(size, 80.0, 1, 16384).sequences > 20


def test_no_longer_a_context_than_the_model_has() -> None:
    assert plan_for(ModelSize(1.0, 1000, 4096, "test"), 24.0, 1, 16384).context == 4096


def test_adapters_are_served_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The paper's rank 132 is none that vLLM takes: the next one is."""
    adapter = tmp_path / "a"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"r": 132}')
    words = command(
        capsys,
        "org/Llama-3.1-8B",
        "--gpu-memory",
        "40",
        "--gpus",
        "1",
        "--adapter",
        f"a1={adapter}",
    )
    assert value(words, "--lora-modules") == f"a1={adapter}"
    assert value(words, "--max-lora-rank") == "256"


def test_the_cpu_build_for_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = command(capsys, str(folder(tmp_path / "m")), "--cpu", "--context", "1024")
    assert "vllm.entrypoints.openai.api_server" in words
    assert value(words, "--dtype") == "float32"


def test_the_server_is_run_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is run is what is printed, and its exit status is the command's."""
    said = tmp_path / "said.txt"
    server = tmp_path / "vllm"
    server.write_text(f'#!/bin/sh\necho vllm "$@" > {said}\nexit 7\n')
    server.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    words = ["serve", str(folder(tmp_path / "m")), "--gpu-memory", "24", "--gpus", "1"]
    assert main(words) == 7
    assert said.read_text().strip() == capsys.readouterr().out.splitlines()[-1]
    server.unlink()
    assert main(words) == 1
    assert "vllm" in capsys.readouterr().err.lower()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["llama", "--gpu-memory", "24"], "does not tell the model's size"),
        (["org/m-70B", "--gpu-memory", "24", "--gpus", "1"], "take a smaller or a quantized"),
        (["org/m-8B", "--gpu-memory", "24", "--adapter", "a1"], "NAME=FOLDER"),
        (["org/m-8B", "--gpu-memory", "24", "--adapter", "a=/nowhere"], "adapter_config.json"),
    ],
)
def test_what_cannot_be_served_is_reported(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *words, "--dry-run"]) == 2
    assert reason in capsys.readouterr().err


def test_without_a_gpu_it_says_what_to_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("planner.models.serve.shutil.which", lambda name: None)
    assert detect_gpus() == (0.0, 0)
    assert main(["serve", "org/m-8B"]) == 2
    assert "--gpu-memory" in capsys.readouterr().err
    assert main(["serve", "org/m-8B", "--gpu-memory", "24", "--gpus", "1"]) == 1
    assert "environment of its own" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{", '{"num_hidden_layers": "x"}'])
def test_a_broken_config_is_reported(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(text)
    assert main(["serve", str(tmp_path), "--gpu-memory", "24"]) == 2
    assert "config.json" in capsys.readouterr().err
