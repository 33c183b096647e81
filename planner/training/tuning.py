"""What all fine-tuning shares: the recipe, its steps, and a checkpoint to continue from."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.models.gguf import check_gguf
from planner.world.errors import FileError, PlannerError

ADAPTER, CHECKPOINT = "adapter", "tuning.pt"
# The label of a token without loss.
IGNORED = -100


@dataclass(frozen=True, slots=True)
class TuningRecipe:
    """EPM-T4; values that it does not give are marked ours.

    Attributes:
        rate: maximum learning rate; rises during warm-up, then decays linearly to zero.
        warm_up: share of the steps. Ours.
        alpha, rank, dropout: of the LoRA matrices.
        batch: samples per step.
        epochs: passes over the samples.
        steps: of the optimiser, whatever the number of samples; 0 = those of the epochs.
        clip: maximum norm of the gradient. Ours.
        seed: determines the matrices, the order and the dropout. Ours.
        device: torch device.
        save_every: steps between checkpoints.
    """

    rate: float = 2e-5
    warm_up: float = 0.03
    alpha: int = 128
    rank: int = 64
    dropout: float = 0.01
    batch: int = 64
    epochs: float = 4.0
    clip: float = 1.0
    seed: int = 1
    device: str = "cpu"
    save_every: int = 50
    steps: int = 0


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """The progress after a step: the mean loss of the answer tokens in its batch."""

    step: int
    steps: int
    loss: float
    rate: float
    elapsed_s: float


def kept(recipe: TuningRecipe) -> dict[str, object]:
    """What a checkpoint must agree in: everything except where and how it is computed."""
    found = {k: v for k, v in asdict(recipe).items() if k not in ("device", "save_every")}
    if not recipe.steps:
        # As checkpoints were written before there was such a number.
        del found["steps"]
    return found


def step_count(samples: int, recipe: TuningRecipe) -> int:
    """The steps of a recipe over so many samples."""
    return recipe.steps or max(1, math.ceil(samples * recipe.epochs / recipe.batch))


def learning_rate(step: int, steps: int, recipe: TuningRecipe) -> float:
    """The rate of a step: a linear rise, then a linear decay to zero."""
    warm = max(1, round(recipe.warm_up * steps))
    if step < warm:
        return recipe.rate * (step + 1) / warm
    return recipe.rate * max(0.0, (steps - step) / max(1, steps - warm))


def chosen(step: int, samples: int, recipe: TuningRecipe) -> list[int]:
    """A step's samples: each epoch in a new order, batches crossing epochs."""
    places = []
    for place in range(step * recipe.batch, (step + 1) * recipe.batch):
        epoch, number = divmod(place, samples)
        places.append((epoch, number))
    orders = {
        epoch: np.random.default_rng([recipe.seed, 3, epoch]).permutation(samples)
        for epoch in {epoch for epoch, _ in places}
    }
    return [int(orders[epoch][number]) for epoch, number in places]


def save_checkpoint(
    folder: Path, identity: Mapping[str, object], step: int, matrices: Any, optimiser: Any
) -> None:
    """Writes the state after `step` steps: the trained weights, the optimiser, the random state.

    Raises:
        FileError: if it cannot be written.
    """
    import torch

    content = {
        "identity": json.dumps(identity, sort_keys=True),
        "step": step,
        "matrices": matrices,
        "optimiser": optimiser.state_dict(),
        "random": torch.get_rng_state(),
    }
    aside = folder / (CHECKPOINT + ".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(content, aside)
        aside.replace(folder / CHECKPOINT)
    except OSError as error:
        raise FileError(folder / CHECKPOINT, "", f"cannot be written: {error.strerror}") from None


def resume_checkpoint(
    folder: Path,
    identity: Mapping[str, object],
    load: Callable[[Any], None],
    optimiser: Any,
) -> int:
    """Loads a checkpoint if there is one; returns the step to continue from.

    Args:
        folder: of the training.
        identity: what it must agree in.
        load: takes the trained weights.
        optimiser: takes its state.

    Raises:
        FileError: if it is none, or of another training.
    """
    import torch

    path = folder / CHECKPOINT
    if not path.is_file():
        return 0
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        kept = json.loads(content["identity"])
    except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
        raise FileError(path, "", f"is not a checkpoint: {error}") from None
    if kept != json.loads(json.dumps(identity)):
        raise FileError(path, "", f"is of another recipe, model or data set: {kept}")
    load(content["matrices"])
    optimiser.load_state_dict(content["optimiser"])
    torch.set_rng_state(content["random"])
    return int(content["step"])


# GGUF files and training: a model's weights out of one, and a LoRA adapter into one.

LLAMA = "llama"
# Tokenizers that split numbers into digits, by llama.cpp's name; transformers does not see that.
_SINGLE_DIGITS = ("smollm",)


def unpack(file: Path, folder: Path, dtype: str = "bfloat16") -> Path:
    """Writes the weights of a GGUF file as a folder that transformers and training read.

    Quantised weights are written as what they stand for.

    Args:
        file: of a model of the LLaMA family.
        folder: to write; must not be there yet.
        dtype: of the weights: bfloat16 or float32.

    Raises:
        FileError: if the file is not in the format, or cannot be read whole.
        PlannerError: without the extra `train`, for another architecture, or if the folder exists.
    """
    check_gguf(file)
    if folder.exists():
        raise PlannerError(f"{folder}: exists already")
    try:
        import gguf
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
    except ImportError as error:
        raise PlannerError(f"unpacking a model needs the extra `train`: {error}") from None
    place = {"gguf_file": file.name, "local_files_only": True}
    try:
        fields: Any = gguf.GGUFReader(str(file)).fields
        kind, splits = (_word(fields, f) for f in ("general.architecture", "tokenizer.ggml.pre"))
        if kind != LLAMA:
            raise PlannerError(f"{file}: its architecture is {kind}, not {LLAMA}")
        tokenizer: Any = AutoTokenizer.from_pretrained(file.parent, **place)
        packed: Any = AutoModelForCausalLM.from_pretrained(
            file.parent, dtype=torch.float32, **place
        )
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise FileError(file, "", f"cannot be read: {error}") from None
    if splits in _SINGLE_DIGITS:
        _split_digits(tokenizer)
    # `save_pretrained` refuses what was read from GGUF, so its weights are given to a new one.
    shape = packed.config.to_dict()
    shape.pop("quantization_config", None)
    net: Any = LlamaForCausalLM(LlamaConfig(**shape))
    net.load_state_dict(packed.state_dict())
    net.to(getattr(torch, dtype)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _word(fields: Mapping[str, Any], name: str) -> str:
    return str(fields[name].contents()) if name in fields else ""


def _split_digits(tokenizer: Any) -> None:
    from tokenizers import pre_tokenizers

    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )


# A LoRA adapter of peft as llama.cpp reads it. The format (version 3, little-endian): counts of
# tensors and fields, the fields, name, shape, type and place of each tensor, then their numbers,
# each at a multiple of 32 bytes.

_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_TENSOR = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(\S+)\.lora_([AB])\.weight")
_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_ALIGNMENT, _VERSION, _TEXT, _FLOAT, _F16 = 32, 3, 8, 6, 1
Half = NDArray[np.float16]


def write_adapter(adapter: Path, model: Path, file: Path) -> Path:
    """Writes a LoRA adapter of peft as a GGUF file, in half precision.

    Args:
        adapter: folder, as `save_pretrained` wrote it.
        model: folder of its base, of the LLaMA family.
        file: to write.

    Raises:
        FileError: for an adapter or a model of another kind, or a file that cannot be written.
    """
    from safetensors.numpy import load_file

    shape = _json(model / "config.json")
    if shape.get("model_type") != LLAMA:
        raise FileError(model / "config.json", "model_type", f"is not {LLAMA}")
    config = _json(adapter / _CONFIG)
    for field in ("use_dora", "use_rslora"):
        if config.get(field):
            raise FileError(adapter / _CONFIG, field, "is something that llama.cpp has not")
    heads = _heads(shape)
    try:
        weights = load_file(adapter / _WEIGHTS)
    except (OSError, ValueError, KeyError) as error:
        raise FileError(adapter / _WEIGHTS, "", f"cannot be read: {error}") from None
    tensors: dict[str, Half] = {}
    for name, values in sorted(weights.items()):
        found = _TENSOR.fullmatch(name)
        if found is None or found[2] not in _NAMES:
            raise FileError(adapter / _WEIGHTS, name, "is no matrix that llama.cpp has a place for")
        layer, place, side = found[1], _NAMES[found[2]], found[3]
        # Only the second matrix makes what is rotated.
        if side == "B" and place in heads:
            values = rotated(values, heads[place])
        tensors[f"blk.{layer}.{place}.weight.lora_{side.lower()}"] = values.astype(np.float16)
    fields: dict[str, str | float] = {
        "general.type": "adapter",
        "general.architecture": LLAMA,
        "adapter.type": "lora",
        "adapter.lora.alpha": float(config["lora_alpha"]),
    }
    try:
        file.write_bytes(_packed(fields, tensors))
    except OSError as error:
        raise FileError(file, "", f"cannot be written: {error.strerror}") from None
    return file


def read_adapter(file: Path, model: Path) -> dict[str, NDArray[np.float32]]:
    """The matrices of an adapter for a model as `write_adapter` wrote it, by peft's names.

    Raises:
        FileError: for another file.
    """
    import gguf

    check_gguf(file)
    heads = _heads(_json(model / "config.json"))
    places = {short: place for place, short in _NAMES.items()}
    found: dict[str, NDArray[np.float32]] = {}
    try:
        reader: Any = gguf.GGUFReader(str(file))
        for tensor in reader.tensors:
            _, layer, short, _, side = tensor.name.split(".")
            values = np.asarray(tensor.data, np.float32)
            if side == "lora_b" and short in heads:
                values = rotated(values, heads[short], back=True)
            name = f"{layer}.{places[short]}.lora_{side[-1].upper()}.weight"
            found[f"base_model.model.model.layers.{name}"] = values
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise FileError(file, "", f"is not an adapter: {error}") from None
    return found


def _heads(shape: Mapping[str, Any]) -> Mapping[str, int]:
    heads = int(shape["num_attention_heads"])
    return {"attn_q": heads, "attn_k": int(shape.get("num_key_value_heads") or heads)}


def rotated(values: NDArray[Any], heads: int, *, back: bool = False) -> NDArray[Any]:
    """The rows of a projection in llama.cpp's order: it rotates neighbours, transformers halves.

    Args:
        values: (heads * size, n).
        heads: of the attention.
        back: from that order.
    """
    pairs = values.shape[0] // heads // 2
    sizes = (heads, pairs, 2) if back else (heads, 2, pairs)
    apart = values.reshape(*sizes, *values.shape[1:])
    return apart.swapaxes(1, 2).reshape(values.shape)


def _json(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return read if isinstance(read, dict) else {}


def _packed(fields: Mapping[str, str | float], tensors: Mapping[str, Half]) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", _VERSION, len(tensors), len(fields))]
    for name, value in fields.items():
        kind = _TEXT if isinstance(value, str) else _FLOAT
        said = _text(value) if isinstance(value, str) else struct.pack("<f", value)
        parts += [_text(name), struct.pack("<I", kind), said]
    begin = 0
    for name, values in tensors.items():
        # Its sizes are the other way round.
        sizes = values.shape[::-1]
        parts += [_text(name), struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)]
        parts.append(struct.pack("<IQ", _F16, begin))
        begin += len(_filled(values.tobytes()))
    head = _filled(b"".join(parts))
    return head + b"".join(_filled(values.tobytes()) for values in tensors.values())


def _filled(content: bytes) -> bytes:
    return content + bytes(-len(content) % _ALIGNMENT)


def _text(words: str) -> bytes:
    return struct.pack("<Q", len(words.encode())) + words.encode()
