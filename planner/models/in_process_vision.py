"""A vision-language model in this process, constrained to a grammar token by token."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

from planner.models.chat import Completion, ModelError, Request, Timings, Usage, cut_at
from planner.models.token_grammar import TokenGrammars
from planner.models.vision_model import NEEDS_EXTRA, load_vision_model


class InProcessVision:
    """One LLaVA-OneVision class model from a folder; answers one request at a time."""

    def __init__(self, folder: Path, *, device: str = "cpu", adapter: Path | None = None) -> None:
        """Loads the model.

        Args:
            folder: of the model; see `load_vision_model`.
            device: torch device.
            adapter: folder of a LoRA adapter, as `planner train memory` writes it.

        Raises:
            ModelError: without the extra `vlm`, or where the folder holds no such model.
        """
        self._loaded = load_vision_model(folder, device=device, adapter=adapter)
        vocabulary = int(self._loaded.model.get_output_embeddings().weight.shape[0])
        try:
            self._grammars = TokenGrammars(folder.name, self._loaded.tokenizer, vocabulary)
        except ImportError as error:
            raise ModelError(f"{NEEDS_EXTRA} ({error})") from None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vision")

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._loaded.name

    async def complete(self, request: Request) -> Completion:
        """The most likely reply; at the deadline the part so far, if that is accepted.

        Raises:
            ModelError: for a bad grammar, not exactly one picture, or a timeout.
        """
        given_up = Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._answer, request, given_up)
        finally:
            given_up.set()

    async def close(self) -> None:
        """Ends the model's thread."""
        self._thread.shutdown(wait=False)

    def _answer(self, request: Request, given_up: Event) -> Completion:
        import torch

        began_s, first_s = time.monotonic(), math.nan
        loaded = self._loaded
        fed: dict[str, Any] = dict(loaded.encoded_dialogue(request.messages))
        prompt_tokens = int(fed["input_ids"].shape[1])
        matcher = self._grammars.matcher(request.grammar) if request.grammar else None
        said: list[int] = []
        finish, cache = "length", None
        with torch.inference_mode():
            while finish != "stop" and len(said) < request.max_tokens:
                if given_up.is_set() or time.monotonic() - began_s > request.deadline_s:
                    break
                made = loaded.model(**fed, past_key_values=cache, use_cache=True, logits_to_keep=1)
                cache = made.past_key_values
                logits = made.logits[0, -1].float().cpu()
                if matcher is not None:
                    matcher.forbid(logits)
                token = int(logits.argmax())
                first_s = time.monotonic() - began_s if math.isnan(first_s) else first_s
                if token == loaded.tokenizer.eos_token_id:
                    finish = "stop"
                    break
                said.append(token)
                if matcher is not None and matcher.take(token):
                    finish = "stop"
                fed = _next(fed, token)
        if finish != "stop" and len(said) < request.max_tokens and not request.accepts_partial:
            raise ModelError(f"{self.name}: no complete answer within {request.deadline_s:.1f} s")
        text = str(loaded.tokenizer.decode(said, skip_special_tokens=True))
        cut = cut_at(text, request.stop)
        usage = Usage(prompt_tokens, 0, len(said))
        timings = Timings(first_s, time.monotonic() - began_s)
        return Completion(cut, usage, timings, "stop" if cut != text else finish)


def _next(fed: dict[str, Any], token: int) -> dict[str, Any]:
    """The inputs of the next step: only the new token; the rest is in the cache."""
    import torch

    mask = fed["attention_mask"]
    return {
        "input_ids": torch.tensor([[token]], device=mask.device),
        "attention_mask": torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1),
    }
