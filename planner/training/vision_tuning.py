"""Fine-tunes a vision-language model to EPM's updates, with samples made from frames."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from planner.memory.camera import point_at_pixel, project
from planner.memory.operations import MODEL_IMAGE_PX
from planner.memory.sightings import Visibility, sightings_of_images
from planner.memory.updater import Operation
from planner.memory.wording import PICKED, PLACED, describe, words_of
from planner.models.in_process_vision import VisionModel, load_vision_model
from planner.training.frames import shard_path
from planner.training.tuning import (
    ADAPTER,
    IGNORED,
    TuningProgress,
    TuningRecipe,
    chosen,
    kept,
    learning_rate,
    resume_checkpoint,
    save_checkpoint,
    step_count,
)
from planner.world.belief import Entity, OperationKind
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_lines
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame, RgbImage, Sighting
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import OPEN_FROM, EntityKind, Relation

# The output that EPM's model should give for an image, from ground truth (EPM-2.4).
#
# Ours where the paper is silent: only things in the image, or whose place is in the image, get an
# operation, since each needs pixel coordinates; a point without depth gets none.

# 0.001 % of the image, closer than 6 m.
TRAINING_VISIBILITY = Visibility(0.00001, 0.0, math.nextafter(6.0, 0.0))
PHANTOM_SHARE = 0.01
# A phantom was supposedly seen from this much further than the measured depth at its place.
_PHANTOM_BEHIND_M = (0.3, 2.0)


class SampleKind(StrEnum):
    """What a sample teaches; with several operations, the rarest kind counts."""

    NONE = "none"
    UPDATE = "update"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The paper's rules with their numbers.

    Attributes:
        visibility: when a thing is in view.
        update_known: whether a known thing on visible furniture is updated although nothing
            happened to it, which is the literal rule of the paper.
        phantom_share: share of steps that get a phantom to remove.
    """

    visibility: Visibility = TRAINING_VISIBILITY
    update_known: bool = True
    phantom_share: float = PHANTOM_SHARE


def labels(
    frame: CameraFrame, state: WorldState, known: Sequence[Entity], rules: LabelRules
) -> list[Operation]:
    """The correct operations for an image, with pixels of the model's image size.

    Names are those of ground truth, so that added things can be identified.
    """
    names = {e.instance_id: e.name for e in state.entities.values() if e.instance_id > 0}
    seen = {s.name: s for s in sightings_of_images(frame, names) if rules.visibility.shows(s)}
    by_name = {entity.name: entity for entity in known}
    made: list[Operation] = []
    for name, truth in state.entities.items():
        sighting, entity = seen.get(name), by_name.get(name)
        if truth.kind is EntityKind.FURNITURE and sighting and entity:
            operation = _furniture(entity, truth, sighting)
        elif truth.kind is EntityKind.OBJECT:
            operation = _thing(frame, entity, truth, sighting, _Supports(seen, by_name), rules)
        else:
            continue
        if operation is None or operation.pixel is None:
            continue
        if not isinstance(point_at_pixel(frame, operation.pixel), str):
            made.append(_scaled(operation, frame))
    return made


def kind_of(operations: Sequence[Operation]) -> SampleKind:
    """The kind of sample that these operations make."""
    kinds = {operation.kind for operation in operations}
    if OperationKind.REMOVE in kinds:
        return SampleKind.REMOVE
    if OperationKind.ADD in kinds:
        return SampleKind.ADD
    return SampleKind.UPDATE if kinds else SampleKind.NONE


def phantom(
    frame: CameraFrame, classes: Sequence[str], number: int, rng: np.random.Generator
) -> Entity | None:
    """A thing that does not exist, at a point in view, remembered from further away than it is.

    None if the image has no depth.
    """
    rows, columns = np.nonzero(np.isfinite(frame.depth_m) & (frame.depth_m > 0))
    if not rows.size:
        return None
    index = int(rng.integers(rows.size))
    found = point_at_pixel(frame, (float(columns[index]), float(rows[index])))
    if isinstance(found, str):
        return None
    point_m, depth_m = found
    class_name = classes[int(rng.integers(len(classes)))]
    return Entity(
        entity_id=number,
        name=f"phantom_{number}",
        class_name=class_name,
        is_furniture=False,
        description=words_of(class_name),
        position_m=point_m,
        seen_distance_m=depth_m + float(rng.uniform(*_PHANTOM_BEHIND_M)),
    )


@dataclass(frozen=True, slots=True)
class _Supports:
    """The numbered furniture in view."""

    seen: Mapping[str, Sighting]
    known: Mapping[str, Entity]

    def number(self, parent: str | None) -> int | None:
        entity = self.known.get(parent or "")
        shown = entity is not None and entity.is_furniture and entity.name in self.seen
        return entity.entity_id if entity is not None and shown else None


def _furniture(entity: Entity, truth: EntityState, sighting: Sighting) -> Operation | None:
    if truth.openness is None:
        return None
    is_open, was_open = truth.openness >= OPEN_FROM, (entity.openness or 0.0) >= OPEN_FROM
    if is_open == was_open:
        return None
    return Operation(
        OperationKind.UPDATE,
        entity_id=entity.entity_id,
        pixel=sighting.pixel,
        description=describe(entity.class_name, None, "open" if is_open else "closed"),
    )


def _thing(
    frame: CameraFrame,
    entity: Entity | None,
    truth: EntityState,
    sighting: Sighting | None,
    supports: _Supports,
    rules: LabelRules,
) -> Operation | None:
    held = truth.relation is Relation.HELD
    support = None if held else supports.number(truth.parent)
    text = describe(truth.class_name, None, "", support)
    if entity is None:
        if sighting is None or held:
            return None
        pixel = sighting.pixel
        return Operation(OperationKind.ADD, pixel=pixel, description=text, name=truth.name)
    if entity.picked != held:
        # A picked thing is located at its old place, which may be outside the image by now.
        where = entity.position_m if held else truth.box.center_m
        pixel_ = sighting.pixel if sighting is not None else _pixel(frame, where)
        return Operation(
            OperationKind.UPDATE,
            entity_id=entity.entity_id,
            pixel=pixel_,
            description=f"{text} {PICKED if held else PLACED}",
        )
    if held or sighting is None or support is None or not rules.update_known:
        return None
    return Operation(
        OperationKind.UPDATE, entity_id=entity.entity_id, pixel=sighting.pixel, description=text
    )


def _pixel(frame: CameraFrame, point_m: Vec3) -> tuple[float, float] | None:
    projected = project(frame.intrinsics, frame.pose, np.array([point_m], float))[0]
    u, v, depth_m = (float(value) for value in projected)
    intrinsics = frame.intrinsics
    inside = depth_m > 0 and 0 <= u < intrinsics.width_px and 0 <= v < intrinsics.height_px
    return (u, v) if inside else None


def _scaled(operation: Operation, frame: CameraFrame) -> Operation:
    """The operation with integer pixels of the model's image size."""
    assert operation.pixel is not None  # noqa: S101 - checked by the caller
    u, v = operation.pixel
    intrinsics = frame.intrinsics
    column = min(MODEL_IMAGE_PX - 1, int(u * MODEL_IMAGE_PX / intrinsics.width_px))
    row = min(MODEL_IMAGE_PX - 1, int(v * MODEL_IMAGE_PX / intrinsics.height_px))
    return Operation(
        operation.kind,
        operation.entity_id,
        (float(column), float(row)),
        operation.description,
        name=operation.name,
    )


# EPM's training samples: images with conversations, as read by `datasets` and TRL.
#
# A data set is a folder of shards, one per episode, each written to a temporary folder and renamed
# when complete. When all are there, `train.jsonl` lists the balanced selection. A line:
#     {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": ...}]},
#                   {"role": "assistant", "content": [{"type": "text", "text": ...}]}],
#      "images": ["shard-00000/000012.png"], "kind": "add", "episode": "bedside_0"}

SAMPLES_FILE, TRAIN_FILE = "samples.jsonl", "train.jsonl"


@dataclass(frozen=True, slots=True)
class Sample:
    """An image of (384, 384, 3), its prompt and the right answer."""

    image: RgbImage
    prompt: str
    answer: str
    kind: SampleKind


def write_samples(root: Path, index: int, episode: str, samples: Iterable[Sample]) -> int:
    """Writes a shard; one without samples means that the episode gave none.

    Raises:
        FileError: if it cannot be written.
    """
    folder = shard_path(root, index)
    aside = folder.with_name(folder.name + ".part")
    count = 0
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        with (aside / SAMPLES_FILE).open("w", encoding="utf-8") as lines:
            for count, sample in enumerate(samples, 1):
                picture = f"{count:06d}.png"
                done, body = cv2.imencode(".png", np.ascontiguousarray(sample.image[..., ::-1]))
                if not done:
                    raise FileError(aside / picture, "", "cannot be encoded")
                (aside / picture).write_bytes(body.tobytes())
                lines.write(_line(sample, f"{folder.name}/{picture}", episode) + "\n")
        aside.rename(folder)
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error}") from None
    return count


def _line(sample: Sample, picture: str, episode: str) -> str:
    user = [{"type": "image"}, {"type": "text", "text": sample.prompt}]
    record = {
        "messages": [
            {"role": "user", "content": user},
            {"role": "assistant", "content": [{"type": "text", "text": sample.answer}]},
        ],
        "images": [picture],
        "kind": sample.kind.value,
        "episode": episode,
    }
    return json.dumps(record, ensure_ascii=False)


def write_balanced(root: Path, shards: int, seed: int) -> tuple[dict[str, int], dict[str, int]]:
    """Writes `train.jsonl` from all shards; returns counts before and after balancing.

    Raises:
        FileError: for a shard that is missing or cannot be read.
    """
    lines: list[str] = []
    kinds: list[SampleKind] = []
    for index in range(shards):
        path = shard_path(root, index) / SAMPLES_FILE
        try:
            for line in read_lines(path):
                kinds.append(SampleKind(json.loads(line)["kind"]))
                lines.append(line.decode("utf-8").rstrip("\n"))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FileError(path, "", f"cannot be read: {error}") from None
    chosen = balanced(kinds, np.random.default_rng([seed, 5]))
    aside = root / (TRAIN_FILE + ".part")
    aside.write_text("".join(lines[i] + "\n" for i in chosen), encoding="utf-8")
    aside.replace(root / TRAIN_FILE)
    return _counts(kinds), _counts([kinds[i] for i in chosen])


def balanced(kinds: Sequence[SampleKind], rng: np.random.Generator) -> list[int]:
    """Indices of samples in equal shares of none, update and add, and 1 % of remove.

    Surplus samples are dropped at random; the order is kept.
    """
    places = {kind: np.flatnonzero([k is kind for k in kinds]) for kind in SampleKind}
    equal = [SampleKind.NONE, SampleKind.UPDATE, SampleKind.ADD]
    min_count = min(len(places[kind]) for kind in equal)
    # r of 3 n + r samples is one in a hundred.
    removes = round(3 * min_count * PHANTOM_SHARE / (1 - PHANTOM_SHARE))
    quotas = {**dict.fromkeys(equal, min_count), SampleKind.REMOVE: removes}
    chosen: list[int] = []
    for kind, count in quotas.items():
        chosen += rng.permutation(places[kind])[:count].tolist()
    return sorted(chosen)


def _counts(kinds: Sequence[SampleKind]) -> dict[str, int]:
    counted = Counter(kind.value for kind in kinds)
    return {kind.value: counted[kind.value] for kind in SampleKind}


@dataclass(frozen=True, slots=True)
class Conversation:
    """One training sample.

    Attributes:
        picture: the image file.
        prompt: the model's input.
        answer: the expected output.
    """

    picture: Path
    prompt: str
    answer: str

    def image(self) -> RgbImage:
        """(h, w, 3) uint8, red first.

        Raises:
            FileError: if the image cannot be read.
        """
        body = cv2.imread(str(self.picture), cv2.IMREAD_COLOR)
        if body is None:
            raise FileError(self.picture, "", "cannot be read as a picture")
        return np.asarray(np.ascontiguousarray(body[..., ::-1]), np.uint8)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class _Turn(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str
    content: list[_Part]


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")
    messages: list[_Turn]
    images: list[str]


def read_conversations(root: Path) -> list[Conversation]:
    """The samples listed in `train.jsonl`.

    Raises:
        FileError: if it is missing or empty, or a line has the wrong format.
    """
    path = root / TRAIN_FILE
    found = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            read = _Line.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise FileError(path, f"line {number} {where}".strip(), first["msg"]) from None
        roles = [turn.role for turn in read.messages]
        if roles != ["user", "assistant"] or len(read.images) != 1:
            raise FileError(path, f"line {number}", "is not one picture, question and answer")
        prompt, answer = (
            "".join(part.text for part in turn.content if part.type == "text")
            for turn in read.messages
        )
        found.append(Conversation(root / read.images[0], prompt, answer))
    if not found:
        raise FileError(path, "", "holds no samples")
    return found


def tune(
    samples: Sequence[Conversation],
    model: Path,
    folder: Path,
    recipe: TuningRecipe,
    on_progress: Callable[[TuningProgress], None],
) -> Path:
    """Fine-tunes to the end of the recipe, resuming from the folder's checkpoint if there is one.

    Args:
        samples: the training set.
        model: folder of the base model; see `load_vision_model`.
        folder: for the checkpoint and the adapter.
        recipe: how to train.
        on_progress: called after each step.

    Returns:
        The adapter's folder, which `InProcessVision` and peft can load.

    Raises:
        PlannerError: without the extra `train`, for an invalid model, or a checkpoint with
            another recipe, model or data set.
        FileError: if an image cannot be read.
    """
    try:
        import torch
        from peft import get_peft_model_state_dict, set_peft_model_state_dict
    except ImportError as error:
        raise PlannerError(f"fine-tuning needs the extra `train`: {error}") from None
    torch.manual_seed(recipe.seed)
    loaded = load_vision_model(model, device=recipe.device)
    net = _with_matrices(loaded, recipe)
    trained = [p for p in net.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.rate, weight_decay=0.0)
    steps = step_count(len(samples), recipe)
    identity = {"recipe": kept(recipe), "model": model.name, "samples": len(samples)}

    def load(matrices: Any) -> None:
        set_peft_model_state_dict(net, matrices)

    begin = resume_checkpoint(folder, identity, load, optimiser)
    started = time.monotonic()
    net.train()
    for step in range(begin, steps):
        rate = learning_rate(step, steps, recipe)
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch = [samples[i] for i in chosen(step, len(samples), recipe)]
        loss = _gather(net, loaded, batch)
        torch.nn.utils.clip_grad_norm_(trained, recipe.clip)
        optimiser.step()
        optimiser.zero_grad()
        on_progress(TuningProgress(step + 1, steps, loss, rate, time.monotonic() - started))
        if (step + 1) % recipe.save_every == 0 or step + 1 == steps:
            matrices = {n: p.detach().cpu() for n, p in get_peft_model_state_dict(net).items()}
            save_checkpoint(folder, identity, step + 1, matrices, optimiser)
    adapter = folder / ADAPTER
    net.save_pretrained(str(adapter))
    return adapter


def _with_matrices(loaded: VisionModel, recipe: TuningRecipe) -> Any:
    """The model with LoRA matrices at all linear projections of its two backbones."""
    import torch
    from peft import LoraConfig, get_peft_model

    names = [
        name
        for name, module in loaded.model.named_modules()
        if isinstance(module, torch.nn.Linear)
        and ("vision_tower" in name or "language_model" in name)
        and "lm_head" not in name
    ]
    if not names:
        raise PlannerError(f"{loaded.name}: has no linear projections to tune")
    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=names,
        bias="none",
    )
    return get_peft_model(loaded.model, config)


def _gather(net: Any, loaded: VisionModel, samples: Sequence[Conversation]) -> float:
    """Accumulates the gradient of a batch; returns the mean loss of its answer tokens.

    One sample at a time: prompts differ in length, and a batch of 64 exceeds memory.
    """
    import torch

    encoded = [_labelled(loaded, sample) for sample in samples]
    tokens = sum(int((labels != IGNORED).sum()) for _, labels in encoded)
    total = 0.0
    for inputs, labels in encoded:
        logits = net(**inputs).logits
        # A token is predicted from those before it.
        loss = torch.nn.functional.cross_entropy(
            logits[0, :-1].float(), labels[0, 1:], ignore_index=IGNORED, reduction="sum"
        )
        (loss / tokens).backward()
        total += float(loss.detach()) / tokens
    return total


def _labelled(loaded: VisionModel, sample: Conversation) -> tuple[Mapping[str, Any], Any]:
    """A conversation's tensors, and its tokens with all but the answer's ignored."""
    image = sample.image()
    inputs = loaded.encoded(image, sample.prompt, sample.answer)
    asked = loaded.encoded(image, sample.prompt)["input_ids"].shape[1]
    labels = inputs["input_ids"].clone()
    labels[:, :asked] = IGNORED
    if not bool((labels != IGNORED).any()):
        raise PlannerError(f"{sample.picture}: its answer adds no token to the question")
    return inputs, labels
