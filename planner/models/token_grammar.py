"""Grammars over the tokens of a model in this process, by llguidance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.models.chat import ModelError

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
