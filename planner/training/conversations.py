"""EPM's training samples: images with conversations, as read by `datasets` and TRL.

A data set is a folder of shards, one per episode, each written to a temporary folder and renamed
when complete. When all are there, `train.jsonl` lists the balanced selection. A line:
    {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": ...}]},
                  {"role": "assistant", "content": [{"type": "text", "text": ...}]}],
     "images": ["shard-00000/000012.png"], "kind": "add", "episode": "bedside_0"}
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from planner.training.epm_labels import PHANTOM_SHARE, SampleKind
from planner.training.frames import shard_path
from planner.world.errors import FileError
from planner.world.files import read_lines
from planner.world.observation import RgbImage

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
