"""Language models of random weights, made in a tenth of a second, for tests where torch is."""

from __future__ import annotations

import importlib.util
import sys
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


def make_adapter(model: Path, folder: Path) -> Path:
    """A LoRA adapter of random weights, strong enough to change what the model says."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    config = LoraConfig(r=8, lora_alpha=64, target_modules=["q_proj", "v_proj"])
    adapted = get_peft_model(AutoModelForCausalLM.from_pretrained(model), config)
    for name, weights in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.5)
    adapted.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    # In the environment of the model server, which has what this one may lack.
    target = Path(sys.argv[1])
    make_adapter(make_tiny(target / "tiny"), target / "adapter")
