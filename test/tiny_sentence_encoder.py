"""A sentence encoder of random weights, of the BERT class, with a token for each word."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def make_tiny_sentence_encoder(folder: Path, texts: Iterable[str], *, hidden: int = 32) -> Path:
    """Writes the model and its tokenizer, which knows the words of `texts`; returns the folder."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(1)
    special = ["[PAD]", "[UNK]"]
    known = special + sorted({word for text in texts for word in text.lower().split()})
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(known)}, unk_token=special[1]))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = BertConfig(
        vocab_size=len(known),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token=special[0], unk_token=special[1]
    ).save_pretrained(folder)
    return folder
