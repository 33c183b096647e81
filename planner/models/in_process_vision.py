"""A vision-language model inside this process, held to the operations' grammar token by token."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from planner.models.vision_model import NEEDS_EXTRA, load_vision_model
from planner.world.errors import PlannerError
from planner.world.observation import RgbImage

MOST_TOKENS = 512


class InProcessSeer:
    """One LLaVA-OneVision class model of a folder; for one thread."""

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "cpu",
        adapter: Path | None = None,
        timeout_s: float = 30.0,
        most_tokens: int = MOST_TOKENS,
    ) -> None:
        """Loads the model.

        Args:
            folder: of the model; see `load_vision_model`.
            device: torch's name.
            adapter: folder of a LoRA adapter, as `planner train memory` writes it.
            timeout_s: after which an answer is cut off where it is.
            most_tokens: after which likewise.

        Raises:
            PlannerError: without the extra `vlm`, or where the folder holds no such model.
        """
        try:
            import llguidance.hf
        except ImportError as error:
            raise PlannerError(f"{NEEDS_EXTRA} ({error})") from None
        self._loaded = load_vision_model(folder, device=device, adapter=adapter)
        self._timeout_s, self._most_tokens = timeout_s, most_tokens
        self._vocabulary = int(self._loaded.model.get_output_embeddings().weight.shape[0])
        self._words = llguidance.hf.from_tokenizer(self._loaded.tokenizer, n_vocab=self._vocabulary)

    def answer(self, image: RgbImage, prompt: str, grammar: str) -> str:
        """See `Seer`; an answer that is cut off ends after its last whole operation."""
        import torch

        loaded = self._loaded
        inputs = loaded.encoded(image, prompt)
        matcher = self._matcher(grammar)
        mask = np.zeros((self._vocabulary + 31) // 32, np.int32)
        end = loaded.tokenizer.eos_token_id
        until_s = time.monotonic() + self._timeout_s
        said: list[int] = []
        done, cache = False, None
        fed = dict(inputs)
        with torch.inference_mode():
            while not done and len(said) < self._most_tokens and time.monotonic() < until_s:
                made = loaded.model(**fed, past_key_values=cache, use_cache=True, logits_to_keep=1)
                cache = made.past_key_values
                logits = made.logits[0, -1].float().cpu()
                matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes)
                allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")
                refused = torch.from_numpy(allowed[: logits.shape[0]] == 0)
                token = int(logits.masked_fill(refused, -torch.inf).argmax())
                if token == end:
                    done = True
                    break
                said.append(token)
                matcher.consume_token(token)
                done = matcher.is_stopped()
                fed = self._next(fed, token)
        text = str(loaded.tokenizer.decode(said, skip_special_tokens=True))
        if not done:
            text = text.rpartition("\n")[0]
        if not text:
            raise PlannerError(
                f"the memory's model {loaded.name} gave no whole operation in "
                f"{self._timeout_s:g} s and {self._most_tokens} tokens"
            )
        return text

    def _next(self, fed: dict[str, Any], token: int) -> dict[str, Any]:
        """The inputs of the next step: the new token alone, the rest is in the cache."""
        import torch

        mask = fed["attention_mask"]
        return {
            "input_ids": torch.tensor([[token]], device=mask.device),
            "attention_mask": torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1),
        }

    def _matcher(self, grammar: str) -> Any:
        from llguidance import LLMatcher
        from llguidance.gbnf_to_lark import any_to_lark

        try:
            matcher = LLMatcher(self._words, LLMatcher.grammar_from_lark(any_to_lark(grammar)))
        except Exception as error:
            raise PlannerError(f"{self._loaded.name}: bad grammar: {error}") from None
        if matcher.is_error():
            raise PlannerError(f"{self._loaded.name}: bad grammar: {matcher.get_error()}")
        return matcher
