"""Vision models of a few thousand random weights: LLaVA-OneVision, OWLv2 and SigLIP class."""

from __future__ import annotations

from pathlib import Path

from planner.memory.vlm import TASK

PICTURE_PX, PATCH_PX = 64, 32

TEMPLATE = (
    "{% for turn in messages %}<|im_start|>{{ turn['role'] }}\n"
    "{% for part in turn['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tiny_vision_model(folder: Path, *, hidden: int = 64, context: int = 16384) -> Path:
    """Writes the model, its tokenizer and picture processor; returns the folder."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        LlavaOnevisionConfig,
        LlavaOnevisionForConditionalGeneration,
        LlavaOnevisionImageProcessorPil,
        PreTrainedTokenizerFast,
        Qwen2Config,
        SiglipVisionConfig,
    )

    torch.manual_seed(1)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<video>"]
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    words.train_from_iterator(
        [TASK, "Add (192, 192):cup with the Object.100\nNo updates\nRemove 149\nUpdate 149"],
        trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        eos_token=special[2],
        pad_token=special[0],
        additional_special_tokens=special[1:],
        chat_template=TEMPLATE,
    )
    ids = {word: tokenizer.convert_tokens_to_ids(word) for word in special}
    config = LlavaOnevisionConfig(
        text_config=Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=hidden,
            intermediate_size=2 * hidden,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=context,
            eos_token_id=ids["<|im_end|>"],
            pad_token_id=ids["<|endoftext|>"],
        ),
        vision_config=SiglipVisionConfig(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=PICTURE_PX,
            patch_size=PATCH_PX,
            vision_use_head=False,
        ),
        image_token_index=ids["<image>"],
        video_token_index=ids["<video>"],
        image_token_id=ids["<image>"],
        video_token_id=ids["<video>"],
        image_grid_pinpoints=[[PICTURE_PX, PICTURE_PX]],
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
    )
    LlavaOnevisionForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    LlavaOnevisionImageProcessorPil(
        size={"height": PICTURE_PX, "width": PICTURE_PX},
        image_grid_pinpoints=[[PICTURE_PX, PICTURE_PX]],
    ).save_pretrained(folder)
    return folder


def _words_tokenizer(length: int) -> object:
    """One token a word of a small vocabulary, as CLIP class models take them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = ["[PAD]", "[END]", "[UNK]", "a", "photo", "of", "cup", "book", "red", "ball"]
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(known)}, unk_token=known[2]))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token=known[0],
        eos_token=known[1],
        unk_token=known[2],
        model_max_length=length,
    )


_SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def make_tiny_owl(folder: Path) -> Path:
    """Writes an OWLv2 class model with its processor; returns the folder."""
    import torch
    from transformers import Owlv2Config, Owlv2ForObjectDetection
    from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil

    torch.manual_seed(2)
    config = Owlv2Config(
        text_config={**_SMALL, "vocab_size": 10, "max_position_embeddings": 16},
        vision_config={**_SMALL, "image_size": 64, "patch_size": 16},
        projection_dim=32,
    )
    model = Owlv2ForObjectDetection(config)
    with torch.no_grad():
        # Fresh weights throw every box out of the picture; small ones leave it at its cell.
        for weights in model.box_head.parameters():
            weights.mul_(0.05)
    model.save_pretrained(folder)
    _words_tokenizer(16).save_pretrained(folder)  # type: ignore[attr-defined]
    Owlv2ImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder


def make_tiny_siglip(folder: Path) -> Path:
    """Writes a SigLIP class model with its processor; returns the folder."""
    import torch
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    torch.manual_seed(3)
    config = SiglipConfig(
        text_config={**_SMALL, "vocab_size": 10, "max_position_embeddings": 16},
        vision_config={**_SMALL, "image_size": 32, "patch_size": 16},
    )
    SiglipModel(config).save_pretrained(folder)
    _words_tokenizer(16).save_pretrained(folder)  # type: ignore[attr-defined]
    SiglipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def make_tiny_align(folder: Path) -> Path:
    """Writes an ALIGN class model with its processor; returns the folder."""
    import torch
    from transformers import (
        AlignConfig,
        AlignModel,
        AlignProcessor,
        BertTokenizer,
        EfficientNetImageProcessor,
    )

    torch.manual_seed(4)
    config = AlignConfig(
        text_config={**_SMALL, "vocab_size": 10, "max_position_embeddings": 64},
        vision_config={
            "image_size": 32,
            "width_coefficient": 0.1,
            "depth_coefficient": 0.1,
            "hidden_dim": 32,
        },
        projection_dim=32,
    )
    AlignModel(config).save_pretrained(folder)
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "photo", "of", "cup", "red", "ball"]
    vocabulary = {word: number for number, word in enumerate(known)}
    tokenizer = BertTokenizer(vocab=vocabulary, model_max_length=64)
    pictures = EfficientNetImageProcessor(size={"height": 32, "width": 32}, crop_size=None)
    AlignProcessor(pictures, tokenizer).save_pretrained(folder)
    return folder


def make_tiny_zoedepth(folder: Path) -> Path:
    """Writes a ZoeDepth model for pictures of 32 pixels, with its processor; returns the folder."""
    import torch
    from transformers import BeitConfig, ZoeDepthConfig, ZoeDepthForDepthEstimation
    from transformers.models.zoedepth.image_processing_pil_zoedepth import (
        ZoeDepthImageProcessorPil,
    )

    torch.manual_seed(1)
    backbone = BeitConfig(
        image_size=32,
        patch_size=16,
        num_hidden_layers=4,
        hidden_size=32,
        intermediate_size=32,
        num_attention_heads=2,
        out_indices=[1, 2, 3, 4],
        reshape_hidden_states=False,
        use_relative_position_bias=True,
    )
    config = ZoeDepthConfig(
        backbone_config=backbone,
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        bottleneck_features=8,
        num_attractors=[4, 2, 2, 1],
        bin_embedding_dim=8,
        num_relative_features=4,
        bin_configurations=[{"n_bins": 8, "min_depth": 0.001, "max_depth": 10.0, "name": "nyu"}],
        num_patch_transformer_layers=None,
    )
    ZoeDepthForDepthEstimation(config).save_pretrained(folder)
    ZoeDepthImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder
