"""Fine-tunes a causal language model to dialogues, given as tokens with a loss (EPM-2.7)."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from planner.models.chat import Speaker
from planner.models.recorded import Dialogue, Turn
from planner.models.replies.turn import END_OF_TURN
from planner.planning.numbered_dialogue import Wording
from planner.training.traces.record import Trace, learned_calls, messages_of
from planner.training.tuning import (
    ADAPTER,
    IGNORED,
    LLAMA,
    TuningProgress,
    TuningRecipe,
    chosen,
    kept,
    learning_rate,
    read_adapter,
    resume_checkpoint,
    save_checkpoint,
    step_count,
    write_adapter,
)
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.files import read_lines

# Dialogues of planners as training samples; only the planner's words have a loss (EPM-2.7).
#
# A file has one JSON object a line, in the format that `datasets` and TRL read:
#
#     {"messages": [{"role": "system", "content": "..."}, {"role": "user", "content": "..."},
#                   {"role": "assistant", "content": "Navigate[Object.101]\nAssigned!"}, ...]}
#
# Other fields are ignored. A turn of the assistant with `"learned": false` has no loss. A line of
# `planner bench samples` is a dialogue of two messages, `prompt` and `target`.

CHATS_ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A message; `is_learned` = it has a loss, which only the assistant's may have."""

    speaker: Speaker
    text: str
    is_learned: bool = False


@dataclass(frozen=True, slots=True)
class Chat:
    """One agent's dialogue from the first message to the last reply; `name` is for errors."""

    name: str
    turns: tuple[ChatTurn, ...]


def chats_of(dialogue: Dialogue, name: str) -> list[Chat]:
    """The dialogues of an episode, one for each agent that was asked.

    Replies that were refused stay, because later turns answer them, but are not learned. The last
    prompt counts, so what was shortened for a full context stays so.
    """
    found = []
    for agent in dialogue.head.agents:
        own = [t for t in dialogue.turns if agent in t.line.agents and t.line.is_answered]
        if own:
            found.append(Chat(f"{name} {agent}", _turns(own)))
    return [chat for chat in found if any(turn.is_learned for turn in chat.turns)]


def _turns(own: Sequence[Turn]) -> tuple[ChatTurn, ...]:
    """The last prompt with its reply; the replies in it are those of the earlier calls."""
    refused = {_said(turn.line.reply) for turn in own if turn.line.error}
    last = own[-1]
    turns = [
        ChatTurn(
            message.speaker,
            message.text,
            message.speaker is Speaker.ASSISTANT and _said(message.text) not in refused,
        )
        for message in last.messages
    ]
    if not last.line.error:
        turns.append(ChatTurn(Speaker.ASSISTANT, _said(last.line.reply), is_learned=True))
    return tuple(turns)


def _said(reply: str) -> str:
    """A reply as the next prompt repeats it."""
    return f"{reply.partition(END_OF_TURN)[0].strip()}\n{END_OF_TURN}"


def chats_of_traces(
    traces: Iterable[Trace], name: str, wording: Wording = Wording.PAPER
) -> list[Chat]:
    """The dialogues of traces that solved their task and have a call to imitate."""
    found = []
    for number, trace in enumerate(traces, 1):
        learned = {place for place, _ in learned_calls(trace)}
        turns = tuple(
            ChatTurn(message.speaker, message.text, place in learned)
            for place, message in enumerate(messages_of(trace, wording))
        )
        if trace.reward and learned:
            found.append(Chat(f"{name} trace {number}", turns))
    return found


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Speaker
    content: str
    learned: bool = True


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")
    messages: list[_Message] = Field(min_length=2)

    @model_validator(mode="before")
    @classmethod
    def _read_sample(cls, given: object) -> object:
        if not isinstance(given, dict) or "messages" in given or "prompt" not in given:
            return given
        words = (("user", given["prompt"]), ("assistant", given.get("target")))
        return {"messages": [{"role": role, "content": text} for role, text in words]}


def read_chats(files: Iterable[Path]) -> list[Chat]:
    """The dialogues of files.

    Raises:
        FileError: with file, line and field, for one that cannot be read or teaches nothing.
    """
    return [chat for path in files for chat in _of_file(path)]


def _of_file(path: Path) -> list[Chat]:
    found = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            read = _Line.model_validate_json(line)
        except ValidationError as error:
            plain = from_validation(path, error)
            where = f"line {number}" + (f".{plain.field}" if plain.field else "")
            raise FileError(path, where, plain.reason) from None
        turns = tuple(
            ChatTurn(m.role, m.content, m.role is Speaker.ASSISTANT and m.learned)
            for m in read.messages
        )
        if not any(turn.is_learned for turn in turns):
            raise FileError(path, f"line {number}", "has no turn of the assistant to learn")
        found.append(Chat(f"{path} line {number}", turns))
    return found


# A dialogue as tokens of a model, and which of them have a loss.


@dataclass(frozen=True, slots=True)
class ChatTokens:
    """(n,) token ids, and (n,) labels: the token itself, or `IGNORED` where it has no loss."""

    ids: tuple[int, ...]
    labels: tuple[int, ...]


def encode(tokenizer: Any, chat: Chat) -> ChatTokens:
    """The tokens of a dialogue by the model's own chat template.

    A learned turn has its loss from its first token to the mark that ends it, as the model has to
    say it; all that it is told has none.

    Args:
        tokenizer: a fast tokenizer of transformers with a chat template.
        chat: the dialogue.

    Raises:
        PlannerError: if the template changes what was said before when a turn is added, since the
            model would then be asked about other words than it learned from.
    """
    turns = [{"role": turn.speaker.value, "content": turn.text} for turn in chat.turns]
    try:
        text = _applied(tokenizer, turns, ask=False)
        spans = []
        for place, turn in enumerate(chat.turns):
            if turn.is_learned:
                before = _applied(tokenizer, turns[:place], ask=True)
                after = _applied(tokenizer, turns[: place + 1], ask=False)
                if not (text.startswith(after) and after.startswith(before)):
                    raise PlannerError(
                        f"{chat.name}: the chat template of the model rewrites earlier turns, "
                        "so a dialogue cannot be learned as a whole"
                    )
                spans.append((len(before), len(after)))
    except PlannerError:
        raise
    except Exception as error:
        raise PlannerError(f"{chat.name}: the model's chat template failed: {error}") from None
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = tuple(int(token) for token in encoded["input_ids"])
    labels = tuple(
        token if any(low <= begin and end <= high for low, high in spans) else IGNORED
        for token, (begin, end) in zip(ids, encoded["offset_mapping"], strict=True)
    )
    return ChatTokens(ids, labels)


def _applied(tokenizer: Any, turns: list[dict[str, str]], *, ask: bool) -> str:
    return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=ask))


MODEL, PACKED = "model", ".gguf"
# More would exceed the memory of small machines.
_TOKENS_AT_ONCE = 1024
_SHORT = 512
# EPM-T6 and EPM-T8: query and value projections.
TARGETS = ("q_proj", "v_proj")
HD = TuningRecipe(rate=2.5e-4, alpha=128, rank=32, dropout=0.01, batch=10, epochs=30)
# PARTNR-7.7; batch: of its four GPUs together. It gives no learning rate: ours.
SINGLE_CALLS = TuningRecipe(rate=1e-4, alpha=128, rank=132, dropout=0.01, batch=8, steps=40_000)
DDAFT = TuningRecipe(rate=1e-5, alpha=64, rank=128, dropout=0.01, batch=8, epochs=25)


class Trained(StrEnum):
    """What is trained and written.

    ADAPTER: LoRA matrices. MERGED: the same, merged into the model. WHOLE: all weights.
    """

    ADAPTER = "adapter"
    MERGED = "merged"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result: a model's folder, and an adapter's unless the model has all.

    `packed` is the same adapter as a GGUF file, for a model of the LLaMA family.
    """

    model: Path
    adapter: Path | None
    packed: Path | None = None


def tune_chats(
    chats: Sequence[Chat],
    model: Path,
    folder: Path,
    recipe: TuningRecipe,
    on_progress: Callable[[TuningProgress], None],
    *,
    trained: Trained = Trained.ADAPTER,
    targets: Sequence[str] = TARGETS,
    longest: int = 0,
    start: Path | None = None,
) -> Tuned:
    """Fine-tunes to the end of the recipe, resuming from the folder's checkpoint if there is one.

    Args:
        chats: the dialogues.
        model: folder of the base model, as `save_pretrained` wrote it; not changed.
        folder: for the checkpoint, and `adapter/` or `model/`.
        recipe: how to train.
        on_progress: called after each step.
        trained: what.
        targets: ends of the names of the projections that get LoRA matrices.
        longest: dialogues of more tokens are left out, for small machines; 0 = none.
        start: folder or GGUF file of an adapter of the same matrices to begin with; None =
            matrices that do nothing yet.

    Returns:
        What `local:` and a server take.

    Raises:
        PlannerError: without the extra `train`, for a model or a dialogue that cannot be used.
        FileError: for a checkpoint of another training, or a folder that cannot be written.
    """
    try:
        import torch
    except ImportError as error:
        raise PlannerError(f"fine-tuning needs the extra `train`: {error}") from None
    if not chats:
        raise PlannerError("there is no dialogue to learn from")
    torch.manual_seed(recipe.seed)
    net, tokenizer = _loaded(model, recipe)
    encoded = [(encode(tokenizer, chat), chat) for chat in chats]
    samples = [_fitting(t, c, net) for t, c in encoded if not longest or len(t.ids) <= longest]
    if not samples:
        raise PlannerError(f"every dialogue has more than {longest} tokens")
    if max(len(sample.ids) for sample in samples) <= _SHORT:
        # A processor computes the fused attention of short ones in half precision slowly.
        net.set_attn_implementation("eager")
    whole = trained is Trained.WHOLE
    net = net.float() if whole else _with_matrices(net, model, targets, recipe)
    if start is not None:
        _begin_with(net, start, model)
    weights = [p for p in net.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=recipe.rate, weight_decay=0.0)
    steps = step_count(len(samples), recipe)
    identity = {
        "recipe": kept(recipe),
        "model": model.name,
        "trained": "whole" if whole else "matrices",
        "targets": [*targets],
        "samples": _digest(samples),
    }
    if start is not None:
        identity["start"] = start.name
    begin = resume_checkpoint(folder, identity, lambda m: _take(net, m), optimiser)
    started = time.monotonic()
    net.train()
    for step in range(begin, steps):
        rate = learning_rate(step, steps, recipe)
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch = [samples[i] for i in chosen(step, len(samples), recipe)]
        loss = _gather(net, batch, recipe.device)
        torch.nn.utils.clip_grad_norm_(weights, recipe.clip)
        optimiser.step()
        optimiser.zero_grad()
        on_progress(TuningProgress(step + 1, steps, loss, rate, time.monotonic() - started))
        if (step + 1) % recipe.save_every == 0 or step + 1 == steps:
            save_checkpoint(folder, identity, step + 1, _given(net), optimiser)
            if trained is Trained.ADAPTER:
                # One that is broken off can be used as far as it came.
                _write(net, tokenizer, model, folder, trained)
    return _write(net, tokenizer, model, folder, trained)


def _loaded(model: Path, recipe: TuningRecipe) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (model / "config.json").is_file():
        raise PlannerError(f"{model}: is not a model folder: no config.json")
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(model, local_files_only=True)
        net: Any = AutoModelForCausalLM.from_pretrained(model, local_files_only=True)
    except (OSError, ValueError, ImportError) as error:
        raise PlannerError(f"{model}: cannot be loaded: {error}") from None
    if not tokenizer.chat_template:
        raise PlannerError(f"{model}: its tokenizer has no chat template")
    if not tokenizer.is_fast:
        raise PlannerError(f"{model}: its tokenizer is not a fast one (tokenizer.json)")
    return net.to(recipe.device), tokenizer


def _fitting(tokens: ChatTokens, chat: Chat, net: Any) -> ChatTokens:
    """Refuses a dialogue that the model cannot read whole, rather than cutting it."""
    context = int(getattr(net.config, "max_position_embeddings", 0) or 1 << 30)
    if len(tokens.ids) > context:
        raise PlannerError(
            f"{chat.name}: {len(tokens.ids)} tokens do not fit into the model's {context}"
        )
    return tokens


def _with_matrices(net: Any, model: Path, targets: Sequence[str], recipe: TuningRecipe) -> Any:
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise PlannerError(f"fine-tuning needs the extra `train`: {error}") from None
    names = [n for n, _ in net.named_modules() if n.rpartition(".")[2] in targets]
    if not names:
        raise PlannerError(f"{model}: has no projections called {', '.join(targets)}")
    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=[*targets],
        bias="none",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(net, config)


def _begin_with(net: Any, start: Path, model: Path) -> None:
    """Takes the matrices of an adapter, which must have those that are trained and no others."""
    if not _is_adapted(net):
        raise PlannerError(f"{start}: is an adapter, and all weights are trained")
    try:
        import torch
        from peft import load_peft_weights

        if start.suffix == PACKED:
            given = {n: torch.from_numpy(v) for n, v in read_adapter(start, model).items()}
        else:
            given = load_peft_weights(str(start), device="cpu")
    except (OSError, ValueError) as error:
        raise PlannerError(f"{start}: is not the folder of an adapter: {error}") from None
    shapes = {name: tuple(weights.shape) for name, weights in given.items()}
    wanted = {name: tuple(weights.shape) for name, weights in _given(net).items()}
    if shapes != wanted:
        raise PlannerError(f"{start}: its matrices are of another model, rank or --targets")
    _take(net, given)


def _is_adapted(net: Any) -> bool:
    return hasattr(net, "peft_config")


def _given(net: Any) -> Any:
    """The trained weights, for a checkpoint."""
    if not _is_adapted(net):
        return {name: weights.detach().cpu() for name, weights in net.state_dict().items()}
    from peft import get_peft_model_state_dict

    return {n: weights.detach().cpu() for n, weights in get_peft_model_state_dict(net).items()}


def _take(net: Any, weights: Any) -> None:
    """Loads the trained weights of a checkpoint."""
    if _is_adapted(net):
        from peft import set_peft_model_state_dict

        set_peft_model_state_dict(net, weights)
    else:
        net.load_state_dict(weights)


def _gather(net: Any, samples: Sequence[ChatTokens], device: str) -> float:
    """Accumulates the gradient of a batch; returns the mean loss of its learned tokens."""
    import torch
    from peft.helpers import disable_input_dtype_casting

    # The first token is predicted from nothing.
    count = sum(label != IGNORED for sample in samples for label in sample.labels[1:])
    is_half = next(net.parameters()).dtype is torch.bfloat16
    total = 0.0
    for group in _together(samples):
        # What is filled up is behind all that is learned, so that nothing learned attends to it.
        longest = len(group[0].ids)
        ids = torch.tensor([(*s.ids, *[0] * (longest - len(s.ids))) for s in group], device=device)
        labels = torch.tensor(
            [(*s.labels, *[IGNORED] * (longest - len(s.labels))) for s in group], device=device
        )[:, 1:]
        with (
            torch.autocast(ids.device.type, torch.bfloat16, is_half),
            disable_input_dtype_casting(net, active=_is_adapted(net)),
        ):
            states = _inner(net)(input_ids=ids, use_cache=False)[0][:, :-1]
            # Where the next token is learned: the vocabulary is a fifth of a small model's work.
            logits = net.get_output_embeddings()(states[labels != IGNORED])
        loss = torch.nn.functional.cross_entropy(
            logits.float(), labels[labels != IGNORED], reduction="sum"
        )
        (loss / count).backward()
        total += float(loss.detach()) / count
    return total


def _together(samples: Sequence[ChatTokens]) -> Iterator[list[ChatTokens]]:
    """Samples of like length that are computed at once: short ones are many, a long one alone."""
    group: list[ChatTokens] = []
    for sample in sorted(samples, key=lambda s: len(s.ids), reverse=True):
        if group and (len(group) + 1) * len(group[0].ids) > _TOKENS_AT_ONCE:
            yield group
            group = []
        group.append(sample)
    yield group


def _inner(net: Any) -> Any:
    """The layers without the head."""
    return (net.base_model.model if _is_adapted(net) else net).base_model


def _digest(samples: Sequence[ChatTokens]) -> str:
    """A hash of what is learned, so that a checkpoint is not continued with other dialogues."""
    found = sha256()
    for sample in samples:
        found.update(repr(sample).encode())
    return f"{len(samples)} {found.hexdigest()[:16]}"


def _write(net: Any, tokenizer: Any, model: Path, folder: Path, trained: Trained) -> Tuned:
    """Writes the result aside, then renames it, so that a half written one is never used."""
    try:
        if trained is Trained.ADAPTER:
            _save(folder / ADAPTER, net.save_pretrained)
            packed = None
            if net.config.model_type == LLAMA:
                packed = write_adapter(folder / ADAPTER, model, folder / f"{ADAPTER}{PACKED}")
            return Tuned(model, folder / ADAPTER, packed)
        whole = net if trained is Trained.WHOLE else net.merge_and_unload()
        _save(folder / MODEL, whole.save_pretrained, tokenizer.save_pretrained)
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error}") from None
    return Tuned(folder / MODEL, None)


def _save(folder: Path, *savers: Callable[[str], object]) -> None:
    aside = folder.with_name(folder.name + ".part")
    shutil.rmtree(aside, ignore_errors=True)
    for save in savers:
        save(str(aside))
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)
