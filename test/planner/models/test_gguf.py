"""Models in GGUF files, in a process of their own; the real model where `make smollm` was run."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planner.models import gguf
from planner.models.chat import Message, ModelError, Request, Speaker
from planner.models.gguf import (
    SMOLLM2_PACKAGE,
    Engine,
    GgufModel,
    LlamaProcess,
    check_gguf,
    shipped_adapters,
    smollm2_file,
)
from planner.models.model_choice import ModelChoice, open_model
from planner.world.errors import FileError, PlannerError

HAS_ENGINE = importlib.util.find_spec("xllamacpp") is not None
needs_engine = pytest.mark.skipif(not HAS_ENGINE, reason="needs the extra smollm")
needs_model = pytest.mark.skipif(
    not HAS_ENGINE or importlib.util.find_spec(SMOLLM2_PACKAGE) is None, reason="needs make smollm"
)
HELLO = (Message(Speaker.USER, "Say hello."),)
TWO_WORDS = 'root ::= "Navigate[" ("cup" | "sink") "]"'


def small(**more: object) -> Engine:
    return Engine(str(smollm2_file()), context=1024, slots=1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "does not begin with 'GGUF'"), (b"PK\x03\x04", "GGUF file")]
)
def test_another_file_is_named_before_anything_starts(
    content: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(FileError, match=words) as caught:
        open_model(ModelChoice(f"gguf:{path}"))
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read: No such file"):
        check_gguf(tmp_path / "none.gguf")


def test_an_adapter_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "adapter.gguf"
    path.write_bytes(b"none")
    with pytest.raises(PlannerError, match=r"adapter\.gguf.*not a GGUF file"):
        open_model(ModelChoice("smollm2", options={"adapter": str(path)}))


def test_an_adapter_may_be_named_that_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf, "config_dir", lambda: tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "react.smollm2.gguf").write_bytes(b"PK")
    (tmp_path / "models" / "planner.safetensors").write_bytes(b"")
    assert list(shipped_adapters()) == ["react"]
    # A command line has made a path of it.
    for name in ("react", str(tmp_path / "react")):
        with pytest.raises(FileError, match=r"react\.smollm2\.gguf.*not a GGUF file"):
            ModelChoice("smollm2", options={"adapter": name}).check()
    with pytest.raises(PlannerError, match=r"no such file, nor one that ships \(react\)"):
        ModelChoice("smollm2", options={"adapter": "recat"}).check()


def test_without_the_packages_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    with pytest.raises(ModelError, match="make smollm"):
        smollm2_file()
    with pytest.raises(ModelError, match="the extra `smollm`"):
        LlamaProcess(Engine("model.gguf"))


@needs_engine
def test_weights_that_are_no_model_end_with_the_librarys_reason(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match=r"^cut\.gguf: cannot be loaded: .+") as caught:
        LlamaProcess(Engine(str(path)))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@needs_model
def test_a_reply_follows_the_grammar_and_the_dialogue_is_read_once() -> None:
    async def talk() -> None:
        model = GgufModel(small(), "smollm2")
        long = (Message(Speaker.USER, "A cup stands on the table. " * 20),)
        first = await model.complete(Request(long, grammar=TWO_WORDS, max_tokens=16))
        assert first.text in ("Navigate[cup]", "Navigate[sink]")
        # The mark that ends the turn has none.
        assert len(first.logprobs) == first.usage.reply_tokens - 1 > 0
        said = (*long, Message(Speaker.ASSISTANT, first.text), *HELLO)
        second = await model.complete(Request(said, grammar=TWO_WORDS, max_tokens=16))
        assert second.usage.cached_tokens >= 0.9 * first.usage.prompt_tokens
        await model.close()
        assert model.pid is None

    asyncio.run(talk())


@pytest.mark.slow
@needs_model
def test_neither_an_adapter_nor_another_grammar_makes_it_read_a_dialogue_anew() -> None:
    async def talk() -> None:
        adapter = str(shipped_adapters()["react"])
        model = GgufModel(small(adapters=(adapter,)), "smollm2", adapter=0)
        rooms = ", ".join(f"chair_{number} in kitchen_0" for number in range(100, 140))
        said = [Message(Speaker.USER, rooms)]
        read = []
        for word in ("cup", "plate", "spoon"):
            grammar = f'root ::= "Pick[{word}_" ("1" | "2") "]\\nAssigned!"'
            reply = await model.complete(Request(tuple(said), grammar=grammar, max_tokens=24))
            assert reply.text.startswith(f"Pick[{word}_")
            read.append(reply.usage)
            said += [Message(Speaker.ASSISTANT, reply.text), Message(Speaker.USER, "Ok.")]
        await model.close()
        assert read[0].prompt_tokens > 300
        # All but the turn that is new, and a few tokens at the seam.
        for usage in read[1:]:
            assert usage.cached_tokens >= 0.9 * usage.prompt_tokens

    asyncio.run(talk())


@pytest.mark.slow
@needs_model
def test_sampling_is_by_seed() -> None:
    async def sample(seed: int) -> str:
        return (await model.complete(Request(HELLO, max_tokens=12, seed=seed))).text

    async def talk() -> list[str]:
        said = [await sample(seed) for seed in (1, 1, 2)]
        await model.close()
        return said

    model = GgufModel(small(), "smollm2", temperature=1.5)
    first, again, other = asyncio.run(talk())
    assert first == again != other


@pytest.mark.slow
@needs_model
def test_a_killed_process_costs_one_call() -> None:
    async def talk() -> None:
        model = GgufModel(small(), "smollm2")
        await model.complete(Request(HELLO, max_tokens=2))
        assert model.pid is not None
        # A reply that takes seconds whatever the model would say.
        long = Request(HELLO, grammar="root ::= [a-z]{800}", max_tokens=900)
        pending = asyncio.create_task(model.complete(long))
        await asyncio.sleep(0.5)
        os.kill(model.pid, signal.SIGKILL)
        with pytest.raises(ModelError, match=r"smollm2: llama\.cpp has crashed"):
            await pending
        assert (await model.complete(Request(HELLO, max_tokens=2))).text
        await model.close()

    asyncio.run(talk())


@pytest.mark.slow
@needs_model
def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import os, sys; from planner.models.gguf import *\n"
        "process = LlamaProcess(Engine(str(smollm2_file()), context=512, slots=1))\n"
        "print(process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    parent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pid = int(parent.stdout)
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().split()[2]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        asyncio.run(asyncio.sleep(0.1))
    pytest.fail(f"the process {pid} outlives its parent")


@pytest.mark.slow
@needs_model
def test_a_full_context_is_said() -> None:
    async def talk() -> None:
        model = GgufModel(small(), "smollm2")
        too_long = (Message(Speaker.USER, "cup " * 2000),)
        with pytest.raises(ModelError, match="context is full"):
            await model.complete(Request(too_long, max_tokens=4))
        await model.close()

    asyncio.run(talk())
