"""llguidance and, where it is installed, xgrammar behind one face: does a text fit a grammar?"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from typing import Any

from llguidance import LLMatcher, LLTokenizer
from llguidance.gbnf_to_lark import any_to_lark

_BYTES = LLTokenizer("byte")
HAS_XGRAMMAR = all(importlib.util.find_spec(name) for name in ("xgrammar", "torch"))


def llguidance(text: str) -> Any:
    compiled = LLMatcher.grammar_from_lark(any_to_lark(text))
    matcher = LLMatcher(_BYTES, compiled)
    assert not matcher.is_error(), matcher.get_error()
    return compiled


def llguidance_accepts(compiled: Any, text: str) -> bool:
    matcher = LLMatcher(_BYTES, compiled)
    tokens = _BYTES.tokenize_str(text)
    return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())


def llguidance_speaks(compiled: Any, seed: int, most: int = 4000) -> str:
    """What a model of random weights says: every byte by chance among those allowed."""
    chance = random.Random(seed)
    matcher = LLMatcher(_BYTES, compiled)
    said = bytearray()
    while not matcher.is_stopped() and len(said) < most:
        allowed = [i for i, bias in enumerate(matcher.compute_logit_bias()) if bias]
        token = chance.choice(allowed)
        if token == _BYTES.eos_token:
            break
        assert matcher.consume_token(token)
        said.append(token)
    return said.decode()


def xgrammar(text: str) -> Callable[[str], bool]:
    import xgrammar

    tokenizer = xgrammar.TokenizerInfo(
        [bytes([i]) for i in range(256)] + [b"</s>"], stop_token_ids=[256]
    )
    compiled = xgrammar.GrammarCompiler(tokenizer, max_threads=1).compile_grammar(text)

    def accepts(text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return all(matcher.accept_token(byte) for byte in text.encode()) and bool(
            matcher.accept_token(256)
        )

    return accepts
