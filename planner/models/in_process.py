"""A language model in this process: transformers, constrained to the grammar by llguidance.

Requests that arrive together, such as those of several episodes or of the agents of a team, are
answered as one batch. One thread does all the work; a canceled or late request leaves its batch at
the next token. Needs the extra `local`.
"""

from __future__ import annotations

import asyncio
import math
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.models.chat import (
    Completion,
    ContextFullError,
    Message,
    ModelError,
    Request,
    Timings,
    Usage,
    cut_at,
)

# Grammars over the tokens of a model in this process, by llguidance.

_CACHED = 256


class TokenMatcher:
    """The state of one reply within its grammar."""

    def __init__(self, matcher: Any, vocabulary: int) -> None:
        self._matcher = matcher
        self._mask: NDArray[np.int32] = np.zeros((vocabulary + 31) // 32, np.int32)

    def forbid(self, logits: Any) -> None:
        """Sets the logits of tokens that may not come next to minus infinity."""
        import torch

        self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
        bits = np.unpackbits(self._mask.view(np.uint8), bitorder="little")
        logits.masked_fill_(torch.from_numpy(bits[: logits.shape[0]] == 0), -math.inf)

    def take(self, token: int) -> bool:
        """Advances by a token; returns whether the reply must end after it."""
        self._matcher.consume_token(token)
        return bool(self._matcher.is_stopped())


class TokenGrammars:
    """The grammars of one tokenizer; recent ones stay compiled."""

    def __init__(self, name: str, tokenizer: Any, vocabulary: int) -> None:
        """Takes transformers' tokenizer, its `name`, and the width of the model's output.

        Raises:
            ImportError: without llguidance.
        """
        import llguidance.hf

        self._name, self._vocabulary = name, vocabulary
        self._words = llguidance.hf.from_tokenizer(tokenizer, n_vocab=vocabulary)
        self._compiled: dict[str, Any] = {}

    def matcher(self, grammar: str) -> TokenMatcher:
        """A matcher at the start of a reply.

        Raises:
            ModelError: for an invalid grammar.
        """
        from llguidance import LLMatcher
        from llguidance.gbnf_to_lark import any_to_lark

        if grammar not in self._compiled:
            if len(self._compiled) >= _CACHED:
                self._compiled.clear()
            try:
                compiled = LLMatcher.grammar_from_lark(any_to_lark(grammar))
            except Exception as error:
                raise ModelError(f"{self._name}: bad grammar: {error}") from None
            self._compiled[grammar] = LLMatcher(self._words, compiled)
        matcher = self._compiled[grammar].deep_copy()
        if matcher.is_error():
            raise ModelError(f"{self._name}: bad grammar: {matcher.get_error()}")
        return TokenMatcher(matcher, self._vocabulary)


NEEDS_EXTRA = "a model in this process needs the extra `local`: pip install -e '.[local]'"
MAX_ROWS = 16
# How long the first request of a batch waits for others.
GATHER_S = 0.003
# Stop strings are searched in this many last tokens of a reply.
_TAIL = 24


@dataclass
class _Row:
    """One request in a batch."""

    prompt: list[int]
    request: Request
    began_s: float
    future: Future[Completion] = field(default_factory=Future)
    matcher: TokenMatcher | None = None
    noise: Any = None
    said: list[int] = field(default_factory=list)
    first_s: float = math.nan
    finish: str = ""
    error: str = ""


class InProcessModel:
    """One model from a folder, as `save_pretrained` wrote it."""

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "cpu",
        adapter: Path | None = None,
        temperature: float = 0.0,
        max_rows: int = MAX_ROWS,
    ) -> None:
        """Loads the model and starts its thread.

        Args:
            folder: with config.json, model.safetensors, tokenizer.json and a chat template.
            device: `cpu`, `cuda`, ...
            adapter: folder of a LoRA adapter (peft), merged into the weights.
            temperature: 0 = always the most likely token.
            max_rows: largest batch.

        Raises:
            ModelError: without the extra, or for a folder without a model or a chat template.
        """
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise ModelError(f"{NEEDS_EXTRA} ({error})") from None
        if not (folder / "config.json").is_file():
            raise ModelError(f"{folder}: is not a model folder: no config.json")
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
            if adapter is not None:
                from peft import PeftModel

                model = PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
        except (OSError, ValueError, ImportError) as error:
            raise ModelError(f"{folder}: cannot be loaded: {error}") from None
        if not self._tokenizer.chat_template:
            raise ModelError(f"{folder}: its tokenizer has no chat template")
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._torch, self._model = torch, model.to(device).eval()
        self._device, self._temperature = device, temperature
        self.name, self._max_rows = folder.name, max_rows
        self._context = int(getattr(model.config, "max_position_embeddings", 0) or 1 << 30)
        vocabulary = int(model.get_output_embeddings().weight.shape[0])
        try:
            self._grammars = TokenGrammars(folder.name, self._tokenizer, vocabulary)
        except ImportError as error:
            raise ModelError(f"{NEEDS_EXTRA} ({error})") from None
        self._rows: queue.SimpleQueue[_Row | None] = queue.SimpleQueue()
        self.batches: list[int] = []
        self._thread = threading.Thread(target=self._serve, name="model", daemon=True)
        self._thread.start()

    async def complete(self, request: Request) -> Completion:
        """The model's reply, computed as one row of a batch.

        Raises:
            ContextFullError: if the prompt and the longest reply do not fit into the context.
            ModelError: for a bad grammar, pictures, or a timeout.
        """
        prompt = self._prompt(request.messages)
        if len(prompt) + request.max_tokens > self._context:
            raise ContextFullError(
                f"{self.name}: the model's context is full: {len(prompt)} tokens of the prompt "
                f"and {request.max_tokens} of the answer do not fit into {self._context}"
            )
        row = _Row(prompt, request, time.monotonic())
        if request.grammar:
            row.matcher = self._grammars.matcher(request.grammar)
        self._rows.put(row)
        try:
            return await asyncio.wrap_future(row.future)
        finally:
            row.error = row.error or "cancelled"

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        if any(message.pictures for message in messages):
            raise ModelError(f"{self.name}: does not accept images")
        turns = [{"role": m.speaker.value, "content": m.text} for m in messages]
        try:
            text = self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:
            raise ModelError(f"{self.name}: its chat template failed: {error}") from None
        return [int(t) for t in self._tokenizer(text, add_special_tokens=False)["input_ids"]]

    # The model's thread

    def _serve(self) -> None:
        while (first := self._rows.get()) is not None:
            rows = [first]
            until_s = time.monotonic() + GATHER_S
            while len(rows) < self._max_rows:
                try:
                    more = self._rows.get(timeout=max(until_s - time.monotonic(), 0.0))
                except queue.Empty:
                    break
                if more is None:
                    self._rows.put(None)
                    break
                rows.append(more)
            self.batches.append(len(rows))
            del self.batches[:-1000]
            self._answer(rows)

    def _answer(self, rows: list[_Row]) -> None:
        try:
            with self._torch.inference_mode():
                self._generate(rows)
        except Exception as error:
            for row in rows:
                row.error = row.error or f"the model failed: {error}"
        for row in rows:
            self._conclude(row)

    def _conclude(self, row: _Row) -> None:
        if row.future.cancelled() or not row.future.set_running_or_notify_cancel():
            return
        if row.error or not row.finish:
            reason = row.error or "no answer"
            row.future.set_exception(ModelError(f"{self.name}: {reason}"))
            return
        text = self._tokenizer.decode(row.said, skip_special_tokens=True)
        text = cut_at(text, row.request.stop)
        usage = Usage(len(row.prompt), 0, len(row.said))
        timings = Timings(row.first_s, time.monotonic() - row.began_s)
        row.future.set_result(Completion(text, usage, timings, row.finish))

    def _generate(self, rows: list[_Row]) -> None:
        """Generates all rows token by token; shorter prompts are padded on the left."""
        torch, width = self._torch, max(len(row.prompt) for row in rows)
        pad = self._tokenizer.pad_token_id
        ids = torch.tensor([[pad] * (width - len(r.prompt)) + r.prompt for r in rows])
        mask = torch.tensor([[0] * (width - len(r.prompt)) + [1] * len(r.prompt) for r in rows])
        ids, mask = ids.to(self._device), mask.to(self._device)
        for row in rows:
            row.noise = torch.Generator().manual_seed(row.request.seed or 0)
        cache = None
        while any(not row.finish and not row.error for row in rows):
            places = (mask.cumsum(-1) - 1).clamp(min=0)
            answer = self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=places[:, -ids.shape[1] :],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            cache = answer.past_key_values
            logits = answer.logits[:, -1, :].float().cpu()
            chosen = [
                pad if row.finish or row.error else self._next(row, logits[number])
                for number, row in enumerate(rows)
            ]
            ids = torch.tensor(chosen, device=self._device)[:, None]
            mask = torch.cat([mask, torch.ones_like(ids)], dim=1)

    def _next(self, row: _Row, logits: Any) -> int:
        """Picks the next token of a row, which may be its last."""
        torch = self._torch
        if row.matcher is not None:
            row.matcher.forbid(logits)
        if self._temperature > 0:
            # Gumbel noise from the row's own seed: its reply must not depend on the rest of the
            # batch.
            uniform = torch.rand(logits.shape, generator=row.noise).clamp(1e-12, 1 - 1e-7)
            logits = logits / self._temperature - torch.log(-torch.log(uniform))
        token = int(logits.argmax())
        if math.isnan(row.first_s):
            row.first_s = time.monotonic() - row.began_s
        self._take(row, token)
        return token

    def _take(self, row: _Row, token: int) -> None:
        if token == self._tokenizer.eos_token_id:
            row.finish = "stop"
            return
        row.said.append(token)
        if row.matcher is not None and row.matcher.take(token):
            row.finish = "stop"
        tail = self._tokenizer.decode(row.said[-_TAIL:], skip_special_tokens=True)
        if any(word in tail for word in row.request.stop):
            row.finish = "stop"
        elif not row.finish and len(row.said) >= row.request.max_tokens:
            row.finish = "length"
        elif not row.finish and time.monotonic() - row.began_s > row.request.deadline_s:
            row.error = f"no complete answer within {row.request.deadline_s:.1f} s"

    async def close(self) -> None:
        """Ends the thread after the pending requests."""
        self._rows.put(None)
        await asyncio.to_thread(self._thread.join, 10.0)
