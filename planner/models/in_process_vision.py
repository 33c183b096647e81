"""A vision-language model in this process, constrained to a grammar token by token."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from planner.models.chat import (
    Completion,
    Message,
    ModelError,
    Picture,
    Request,
    Speaker,
    Timings,
    Usage,
    cut_at,
)
from planner.models.in_process import TokenGrammars
from planner.world.errors import FileError
from planner.world.files import read_document
from planner.world.observation import RgbImage

# LLaVA-OneVision class models of `transformers`, and how pictures become their tokens.
#
# Loaded from a folder on disk, never from a hub. The processor is assembled without its video part,
# the only one that needs torchvision: a torchvision that does not match the installed torch breaks
# every import of transformers. Used for inference (`in_process_vision`) and training
# (`planner.training.vision_tuning`). Needs the extra `vlm`.

NEEDS_EXTRA = (
    "a vision-language model in this process needs the extra `vlm`: pip install -e '.[vlm]'"
)
MODEL_TYPE = "llava_onevision"


@dataclass(frozen=True, slots=True)
class VisionModel:
    """A model with its tokenizer and processor; torch's objects stay untyped.

    Attributes:
        name: the folder's.
        model: `LlavaOnevisionForConditionalGeneration`.
        tokenizer: with a chat template.
        processor: of pictures and text.
        device: torch device.
    """

    name: str
    model: Any
    tokenizer: Any
    processor: Any
    device: str

    def encoded(self, image: RgbImage, prompt: str, answer: str | None = None) -> Mapping[str, Any]:
        """Tensors of a one-turn conversation, on the device.

        Args:
            image: (h, w, 3) uint8 RGB.
            prompt: the text beside it.
            answer: what the model says; None ends where its answer starts.
        """
        messages = [Message(Speaker.USER, prompt, (Picture.of(image),))]
        if answer is not None:
            messages.append(Message(Speaker.ASSISTANT, answer))
        return self.encoded_dialogue(messages)

    def encoded_dialogue(self, messages: Sequence[Message]) -> Mapping[str, Any]:
        """Tensors of a dialogue with one picture, on the device, ending where the reply starts.

        Raises:
            ModelError: for another number of pictures, or a dialogue that the chat template
                rejects.
        """
        pictures = [picture for message in messages for picture in message.pictures]
        if len(pictures) != 1:
            raise ModelError(f"{self.name}: reads one picture, got {len(pictures)}")
        turns = [
            {
                "role": m.speaker.value,
                "content": [
                    *({"type": "image"} for _ in m.pictures),
                    {"type": "text", "text": m.text},
                ],
            }
            for m in messages
        ]
        goes_on = messages[-1].speaker is not Speaker.ASSISTANT
        try:
            text = self.tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=goes_on
            )
        except Exception as error:
            raise ModelError(f"{self.name}: its chat template failed: {error}") from None
        image = pictures[0].image
        made = self.processor(images=[image], text=[text], return_tensors="pt")
        return {
            name: value.to(self.device)
            for name, value in made.items()
            if name in ("input_ids", "attention_mask", "pixel_values", "image_sizes")
        }


def load_vision_model(
    folder: Path, *, device: str = "cpu", adapter: Path | None = None
) -> VisionModel:
    """Reads a model's folder, as `save_pretrained` or the hub's download wrote it.

    Args:
        folder: with config.json, weights, tokenizer and chat template.
        device: torch device; float32 on `cpu`, else in bfloat16.
        adapter: folder of a LoRA adapter (peft), merged into the weights.

    Raises:
        ModelError: without the extra, or where the folder holds no such model.
    """
    try:
        import torch
        from transformers import AutoTokenizer, LlavaOnevisionForConditionalGeneration
    except ImportError as error:
        raise ModelError(f"{NEEDS_EXTRA} ({error})") from None
    _check_folder(folder)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = LlavaOnevisionForConditionalGeneration.from_pretrained(
            folder, local_files_only=True, dtype=dtype
        )
        processor = _processor(folder, tokenizer, model.config)
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: cannot be loaded: {error}") from None
    if not tokenizer.chat_template:
        tokenizer.chat_template = _template(folder)
    if adapter is not None:
        model = _adapted(model, adapter)
    return VisionModel(folder.name, model.to(device).eval(), tokenizer, processor, device)


def _check_folder(folder: Path) -> None:
    try:
        config = read_document(folder / "config.json")
    except FileError:
        raise ModelError(f"{folder}: is not a model folder: no readable config.json") from None
    kind = config.get("model_type") if isinstance(config, dict) else None
    if kind != MODEL_TYPE:
        raise ModelError(f"{folder}: config.json: model_type is {kind!r}, not {MODEL_TYPE!r}")


def _template(folder: Path) -> str:
    """The chat template of folders that store it with the processor."""
    try:
        read = read_document(folder / "chat_template.json")
    except FileError:
        read = None
    if not isinstance(read, dict) or "chat_template" not in read:
        raise ModelError(f"{folder}: has no chat template")
    return str(read["chat_template"])


def _adapted(model: Any, adapter: Path) -> Any:
    try:
        from peft import PeftModel
    except ImportError:
        raise ModelError(f"an adapter needs the extra `train`: {NEEDS_EXTRA}") from None
    if not (adapter / "adapter_config.json").is_file():
        raise ModelError(f"{adapter}: is not an adapter folder: no adapter_config.json")
    try:
        return PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{adapter}: does not fit the model: {error}") from None


def _processor(folder: Path, tokenizer: Any, config: Any) -> Any:
    from transformers import LlavaOnevisionImageProcessorPil, LlavaOnevisionProcessor
    from transformers.processing_utils import ProcessorMixin

    class ImageOnlyProcessor(LlavaOnevisionProcessor):  # type: ignore[misc,unused-ignore]
        # transformers derives a processor's parts from this signature, so it has no video.
        def __init__(self, image_processor: Any = None, tokenizer: Any = None, **_: Any) -> None:
            side = config.vision_config.image_size // config.vision_config.patch_size
            self.num_image_tokens = side * side
            self.vision_feature_select_strategy = config.vision_feature_select_strategy
            self.image_token, self.video_token = "<image>", "<video>"
            self.image_token_id = config.image_token_id
            self.video_token_id = config.video_token_id
            self.vision_aspect_ratio = config.vision_aspect_ratio
            ProcessorMixin.__init__(self, image_processor, tokenizer)

    pictures = LlavaOnevisionImageProcessorPil.from_pretrained(folder, local_files_only=True)
    if tokenizer.convert_tokens_to_ids("<image>") != config.image_token_id:
        raise ValueError("the tokenizer's <image> is not the model's image token")
    height = pictures.size.get("height", 0)
    if not math.isclose(height, config.vision_config.image_size):
        raise ValueError(f"pictures are made {height} high, the model takes another size")
    return ImageOnlyProcessor(pictures, tokenizer)


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
