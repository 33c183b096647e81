"""Language models of random weights, made in a tenth of a second, for tests where torch is."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

HAS_TORCH = all(importlib.util.find_spec(n) for n in ("torch", "transformers", "tokenizers"))
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_CORPUS = [
    "Navigate[table_0] Pick[cup_0] Place[cup_0, on, table_1, None, None] Done[] Assigned!",
    "Thought: I look for the cup in the kitchen_0, then I bring it to the living_room_0.",
    "Object.100: table in kitchen_0. Result: Successful execution! No object updates.",
]


def make_tiny(folder: Path, *, template: str | None = TEMPLATE, context: int = 4096) -> Path:
    """A Qwen2 of two layers with its own byte-level tokenizer; head size 32, which vLLM needs."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    raw: Any = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    raw.train_from_iterator(_CORPUS, trainer)
    end, pad = "<|end|>", "<|pad|>"
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=end, pad_token=pad)
    tokenizer.chat_template = template
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=context,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
