"""HD: fine-tuning of a causal model to dialogues, with a tiny one that the test makes."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import make_tiny

from planner.cli import main
from planner.commands.planner_training import add_finetuned, tuning_of
from planner.models.caller import ModelCall
from planner.models.chat import Message, Request, Speaker
from planner.models.recorded import DialogueWriter, HeadLine, read_dialogue
from planner.training.chat_tuning import (
    SINGLE_CALLS,
    Chat,
    ChatTurn,
    chats_of,
    read_chats,
    tune_chats,
)
from planner.training.tuning import (
    CHECKPOINT,
    IGNORED,
    TuningProgress,
    TuningRecipe,
    kept,
    step_count,
)
from planner.world.errors import FileError, PlannerError

TINY = TuningRecipe(rate=5e-2, rank=4, alpha=16, dropout=0.0, batch=2, epochs=30, save_every=5)
CALLS = ("Navigate[Object.101]", "Pick[Object.114]", "Done[]")


def _message(speaker: Speaker, text: str) -> dict[str, str]:
    return {"role": speaker.value, "content": text}


def _talk(room: str, calls: tuple[str, ...]) -> dict[str, object]:
    messages = [
        _message(Speaker.SYSTEM, "You plan."),
        _message(Speaker.USER, f"Task: cup. Object.101: table in {room}_0"),
    ]
    for call in calls:
        messages.append(_message(Speaker.ASSISTANT, f"{call}\nAssigned!"))
        messages.append(_message(Speaker.USER, "Result: Successful execution!"))
    return {"messages": messages[:-1], "episode_id": room}


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "talks.jsonl"
    rooms = [_talk("kitchen", CALLS), _talk("bedroom", CALLS[::2])]
    path.write_text("".join(json.dumps(talk) + "\n" for talk in rooms))
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("torch", "transformers", "tokenizers", "peft", "llguidance"):
        pytest.importorskip(name, reason=f"needs the extra train ({name})")
    import torch

    torch.set_num_threads(1)
    return make_tiny(tmp_path_factory.mktemp("model") / "tiny")


def test_tables_6_and_8_are_the_defaults() -> None:
    """EPM-T6, EPM-T8."""
    from planner.training.chat_tuning import DDAFT, HD, TARGETS

    assert TARGETS == ("q_proj", "v_proj")
    assert (HD.rate, HD.alpha, HD.rank, HD.dropout) == (2.5e-4, 128, 32, 0.01)
    assert (HD.batch, HD.epochs) == (10, 30)
    assert (DDAFT.rate, DDAFT.alpha, DDAFT.rank, DDAFT.dropout) == (1e-5, 64, 128, 0.01)
    assert (DDAFT.batch, DDAFT.epochs) == (8, 25)


def test_partnrs_recipe_has_its_rank_alpha_and_steps() -> None:
    """PARTNR-7.7, whatever the number of samples; checkpoints of others stay as they were."""
    assert (SINGLE_CALLS.rank, SINGLE_CALLS.alpha, SINGLE_CALLS.dropout) == (132, 128, 0.01)
    assert [step_count(samples, SINGLE_CALLS) for samples in (1, 10, 10**6)] == [40_000] * 3
    assert kept(SINGLE_CALLS)["steps"] == 40_000
    assert "steps" not in kept(TINY)
    assert step_count(10, TINY) == 150
    parser = argparse.ArgumentParser()
    add_finetuned(parser)
    words = ["samples.jsonl", "--model", "m", "--out", "o"]
    assert tuning_of(parser.parse_args(words)) == SINGLE_CALLS
    fewer = tuning_of(parser.parse_args([*words, "--tuning-steps", "3"]))
    assert (fewer.steps, fewer.rank) == (3, 132)
    with pytest.raises(PlannerError, match="--tuning-steps is -1, below 0"):
        tuning_of(parser.parse_args([*words, "--tuning-steps", "-1"]))


def test_samples_of_single_calls_are_dialogues_of_two_turns(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"episode_id": "e", "prompt": "Task: cup.", "target": "Done[]"}))
    (chat,) = read_chats([path])
    assert chat.turns == (
        ChatTurn(Speaker.USER, "Task: cup."),
        ChatTurn(Speaker.ASSISTANT, "Done[]", is_learned=True),
    )
    path.write_text(json.dumps({"prompt": "Task: cup."}))
    with pytest.raises(FileError, match="line 1"):
        read_chats([path])


def test_only_the_assistants_turns_are_learned(talks: Path) -> None:
    """EPM-2.7."""
    chat, _ = read_chats([talks])
    assert [turn.text for turn in chat.turns if turn.is_learned] == [
        f"{call}\nAssigned!" for call in CALLS
    ]
    assert all(turn.speaker is Speaker.ASSISTANT for turn in chat.turns if turn.is_learned)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 2: Invalid JSON"),
        ('{"messages": []}', "line 2.messages: List should have at least 2"),
        ('{"messages": [{"role": "user"}, {"role": "user"}]}', "line 2.messages.0.content: Field"),
        (json.dumps(_talk("bath", ())), "line 2.messages: List should have at least 2"),
    ],
)
def test_a_wrong_line_is_named(talks: Path, line: str, reason: str) -> None:
    first = talks.read_text().splitlines()[0]
    talks.write_text(f"{first}\n{line}\n")
    with pytest.raises(FileError) as error:
        read_chats([talks])
    assert str(error.value).startswith(f"{talks}: {reason}")


def test_a_dialogue_of_a_run_is_learned_without_its_refused_replies(tmp_path: Path) -> None:
    head = HeadLine(
        episode_id="e",
        seed=1,
        instruction="cup",
        planner="react",
        model="m",
        agents=("agent_0", "agent_1"),
        axes={},
    )
    writer = DialogueWriter(head)
    messages = [Message(Speaker.USER, "Task: cup")]
    for cycle, (reply, error) in enumerate((("Jump[]", "no such action"), ("Done[]", "")), 1):
        call = ModelCall(
            planner="react",
            model="m",
            messages=tuple(messages),
            reply=f"{reply}\nAssigned!",
            agents=("agent_0",),
            cycle=cycle,
            error=error,
        )
        writer.add(call, 0, 0.0)
        messages.append(Message(Speaker.ASSISTANT, f"{reply}\nAssigned!"))
        messages.append(Message(Speaker.USER, "Result: Unexpected failure! - no such action"))
    path = tmp_path / "e.dialogue.jsonl"
    path.write_text(writer.text())
    (chat,) = chats_of(read_dialogue(path), "e-1")
    assert [(turn.text, turn.is_learned) for turn in chat.turns] == [
        ("Task: cup", False),
        ("Jump[]\nAssigned!", False),
        ("Result: Unexpected failure! - no such action", False),
        ("Done[]\nAssigned!", True),
    ]


def test_losses_are_on_what_the_model_says_and_its_end(tiny: Path, talks: Path) -> None:
    from transformers import AutoTokenizer

    from planner.training.chat_tuning import encode

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    chat = read_chats([talks])[0]
    tokens = encode(tokenizer, chat)
    learned = tokenizer.decode([label for label in tokens.labels if label != IGNORED])
    assert learned == "".join(f"{call}\nAssigned!<|end|>\n" for call in CALLS)
    assert all(
        label in (token, IGNORED) for token, label in zip(tokens.ids, tokens.labels, strict=True)
    )
    # What is asked in use is the same text, token by token.
    asked = [{"role": t.speaker.value, "content": t.text} for t in chat.turns[:2]]
    text = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert list(tokens.ids[: len(prompt)]) == prompt
    assert tokens.labels[len(prompt) - 1] == IGNORED
    assert tokens.labels[len(prompt)] != IGNORED
    tokenizer.chat_template = "{{ messages | length }}"
    with pytest.raises(PlannerError, match="rewrites earlier turns"):
        encode(tokenizer, chat)


def _reply(model: Path, adapter: Path | None, chat: Chat, turns: int) -> str:
    from planner.models.in_process import InProcessModel

    messages = tuple(Message(turn.speaker, turn.text) for turn in chat.turns[:turns])
    request = Request(messages, stop=("Assigned!",), max_tokens=24)
    return asyncio.run(InProcessModel(model, adapter=adapter).complete(request)).text.strip()


def test_a_whole_model_says_what_it_learned(tiny: Path, talks: Path, tmp_path: Path) -> None:
    from planner.training.chat_tuning import Trained, tune_chats

    chat = read_chats([talks])[0]
    told: list[TuningProgress] = []
    recipe = replace(TINY, rate=1e-2, batch=1, epochs=60, save_every=60)
    done = tune_chats([chat], tiny, tmp_path, recipe, told.append, trained=Trained.WHOLE)
    assert told[-1].loss < 0.1 * told[0].loss
    assert (done.model, done.adapter) == (tmp_path / "model", None)
    assert [_reply(done.model, None, chat, turns) for turns in (2, 4, 6)] == [*CALLS]


def test_samples_teach_the_same_one_by_one_or_at_once(
    tiny: Path, talks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = [*read_chats([talks]), *read_chats([talks])[:1]]
    losses: dict[int, list[float]] = {}
    for tokens in (1, 10_000):
        monkeypatch.setattr("planner.training.chat_tuning._TOKENS_AT_ONCE", tokens)
        told: list[TuningProgress] = []
        recipe = replace(TINY, batch=3, epochs=4)
        tune_chats(chats, tiny, tmp_path / str(tokens), recipe, told.append)
        losses[tokens] = [at.loss for at in told]
    assert losses[1][-1] < losses[1][0]
    assert losses[10_000] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.slow
def test_an_adapter_and_the_merged_model_are_the_same(
    tiny: Path, talks: Path, tmp_path: Path
) -> None:
    from planner.training.chat_tuning import Trained, tune_chats

    chats = read_chats([talks])
    told: list[TuningProgress] = []
    made = {}
    recipe = replace(TINY, rate=2e-2)
    projections = ["q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    for kind in (Trained.ADAPTER, Trained.MERGED):
        folder = tmp_path / kind
        for _ in range(2):
            made[kind] = tune_chats(
                chats, tiny, folder, recipe, told.append, trained=kind, targets=projections
            )
        # Done is done.
        assert len(told) == 30 * len(made)
    adapter, merged = made[Trained.ADAPTER], made[Trained.MERGED]
    assert (adapter.model, adapter.adapter) == (tiny, tmp_path / "adapter/adapter")
    assert (merged.model, merged.adapter) == (tmp_path / "merged/model", None)
    assert told[29].loss < 0.9 * told[0].loss
    replies = [_reply(done.model, done.adapter, chats[0], 2) for done in (adapter, merged)]
    assert replies[0] == replies[1]
    assert replies[0] != _reply(tiny, None, chats[0], 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "given", "matrices"),
    [
        ("hd", ["--rank", "4", "--batch", "2", "--epochs", "12"], (4, 128)),
        # PARTNR's rank, alpha and batch; of its steps these are as many as a test has time for.
        ("finetuned", ["--tuning-steps", "12"], (132, 128)),
    ],
)
def test_a_killed_run_continues_and_ends_as_if_it_was_never_killed(
    command: str,
    given: list[str],
    matrices: tuple[int, int],
    tiny: Path,
    talks: Path,
    tmp_path: Path,
) -> None:
    data = {"hd": talks, "finetuned": _samples(tmp_path)}[command]
    words = ["train", command, str(data), "--model", str(tiny), "--save-every", "1", *given]
    words.append("--out")
    killed = [sys.executable, "-m", "planner.cli", *words, str(tmp_path / "killed")]
    # As many threads as this process has: sums of another order differ in the last bit.
    threads = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(killed, stdout=subprocess.PIPE, text=True, env=threads)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 3 "):
            process.send_signal(signal.SIGKILL)
            break
    assert process.wait(120) == -signal.SIGKILL
    process.stdout.close()
    adapters = [tmp_path / name / "adapter" for name in ("killed", "whole")]
    for adapter in adapters:
        assert main([*words, str(adapter.parent)]) == 0
    made = [(adapter / "adapter_model.safetensors").read_bytes() for adapter in adapters]
    assert made[0] == made[1]
    config = json.loads((adapters[0] / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == matrices
    assert sorted(config["target_modules"]) == ["q_proj", "v_proj"]
    # It loads again, and says something.
    assert isinstance(_reply(tiny, adapters[0], read_chats([data])[0], 1), str)


def _samples(folder: Path) -> Path:
    """A file as `planner bench samples` writes it."""
    path = folder / "samples.jsonl"
    lines = [{"episode_id": "e", "prompt": f"Task: {n}.", "target": c} for n, c in enumerate(CALLS)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_bad_input_is_one_clear_error(tiny: Path, talks: Path, tmp_path: Path) -> None:
    from planner.training.chat_tuning import tune_chats

    chats = read_chats([talks])

    def tune(folder: Path, **more: object) -> None:
        recipe = replace(TINY, epochs=1)
        tune_chats(chats, tiny, folder, recipe, lambda at: None, **more)  # type: ignore[arg-type]

    tune(tmp_path / "a")
    longer = [Chat("long", (ChatTurn(Speaker.USER, "a b c " * 3000), *chats[0].turns))]
    with pytest.raises(PlannerError, match=r"long: \d+ tokens do not fit into the model's 4096"):
        tune_chats(longer, tiny, tmp_path / "b", TINY, lambda at: None)
    with pytest.raises(FileError, match="another recipe, model or data set"):
        tune_chats(chats[:1], tiny, tmp_path / "a", replace(TINY, epochs=1), lambda at: None)
    with pytest.raises(PlannerError, match="no projections called no_proj"):
        tune(tmp_path / "c", targets=["no_proj"])
    with pytest.raises(PlannerError, match="no dialogue to learn from"):
        tune_chats([], tiny, tmp_path / "d", TINY, lambda at: None)
    with pytest.raises(PlannerError, match="is not a model folder"):
        tune_chats(chats, tmp_path, tmp_path / "e", TINY, lambda at: None)


def _as_llama(tiny: Path, folder: Path) -> Path:
    """The tiny model in the family whose adapters are written as GGUF files too."""
    import torch
    from transformers import AutoConfig, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    shape = AutoConfig.from_pretrained(tiny).to_dict()
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers")
    names += ("num_attention_heads", "num_key_value_heads")
    LlamaForCausalLM(LlamaConfig(**{name: shape[name] for name in names})).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    return folder


def test_training_begins_with_an_adapter_of_the_same_matrices(
    tiny: Path, talks: Path, tmp_path: Path
) -> None:
    chats, tiny = read_chats([talks]), _as_llama(tiny, tmp_path / "llama")
    told: list[TuningProgress] = []
    recipe = replace(TINY, rate=2e-2, epochs=15)
    made = tune_chats(chats, tiny, tmp_path / "first", recipe, told.append)
    first, loss = made.adapter, told[-1].loss
    # What it had learned is there at its first step.
    learned = told[0].loss - loss
    assert learned > 0.1
    for start in (first, made.packed):
        begun = len(told)
        again = tmp_path / f"next{begun}"
        tune_chats(chats, tiny, again, replace(recipe, epochs=1), told.append, start=start)
        assert told[begun].loss == pytest.approx(loss, abs=0.1 * learned)
    other = replace(recipe, rank=2)
    with pytest.raises(PlannerError, match="first/adapter: its matrices are of another model"):
        tune_chats(chats, tiny, tmp_path / "other", other, told.append, start=first)
    with pytest.raises(PlannerError, match=r"talks\.jsonl: is not the folder of an adapter"):
        tune_chats(chats, tiny, tmp_path / "none", recipe, told.append, start=talks)


def test_dialogues_may_be_too_long_for_a_small_machine(tiny: Path, tmp_path: Path) -> None:
    def chat(words: int) -> Chat:
        told = ChatTurn(Speaker.USER, "cup " * words)
        return Chat("talk", (told, ChatTurn(Speaker.ASSISTANT, "Done[]", is_learned=True)))

    def learned(longest: int) -> str:
        folder = tmp_path / str(longest)
        recipe = replace(TINY, batch=1, epochs=1)
        tune_chats([chat(1), chat(200)], tiny, folder, recipe, steps.append, longest=longest)
        return str(torch.load(folder / CHECKPOINT, weights_only=True)["identity"])

    import torch

    steps: list[TuningProgress] = []
    assert '"samples": "1 ' in learned(100)
    assert '"samples": "2 ' in learned(0)
    with pytest.raises(PlannerError, match="every dialogue has more than 2 tokens"):
        learned(2)
