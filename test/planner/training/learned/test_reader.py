"""The reader in torch and in NumPy give the same, and it learns what a goal says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.episodes.episode_file import read_pack
from planner.planning.learned.network import ground, read
from planner.training.learned.reader import (
    ReaderRecipe,
    first_weights,
    losses_of,
    make_batch,
    train_reader,
)
from planner.training.learned.tasks import ReaderTask, episodes_of, task_of
from planner.training.learned.training import vocabulary_of
from planner.world.share import config_dir

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tasks() -> list[ReaderTask]:
    pack = read_pack(Path(config_dir() / "suites" / "partnr_val.json.gz"))
    short = pack.model_copy(update={"episodes": pack.episodes[::125]})
    return [task for pair in episodes_of(short) if (task := task_of(*pair)) is not None]


def test_every_task_has_a_goal_that_its_words_can_give(tasks: list[ReaderTask]) -> None:
    assert len(tasks) == 8
    for task in tasks:
        asked = task.labels.goes.any((0, 2)) | task.labels.next.any(1)
        assert (asked | task.labels.marks[: len(asked)].any(1)).any()
        assert task.found.things[asked].any(1).all()


def test_torch_and_numpy_say_the_same(tasks: list[ReaderTask]) -> None:
    vocabulary = vocabulary_of(tasks)
    weights = first_weights(len(vocabulary), 3)
    tensors = {name: torch.tensor(array) for name, array in weights.items()}
    for task in tasks[:3]:
        losses = losses_of(tensors, make_batch([task], vocabulary, "cpu"))
        said = ground(read(weights, vocabulary, task.tokens), task.found).goes
        said, truth = np.clip(said, 1e-4, 1 - 1e-4), task.labels.goes
        wrong = -(truth * np.log(said) + (1 - truth) * np.log(1 - said))
        rooms = task.found.in_room.any(1)
        pieces = task.found.furniture.any(1)
        wrong = wrong * np.stack([pieces, pieces, rooms])[:, None]
        expected = 3 * wrong.sum() / max(1.0, truth.sum()) ** 0.5
        assert float(losses["goes"]) == pytest.approx(expected, rel=1e-3)


def test_it_learns_and_repeats(tasks: list[ReaderTask]) -> None:
    vocabulary = vocabulary_of(tasks)
    recipe = ReaderRecipe(steps=12, batch=4, warm_up=2)
    first = first_weights(len(vocabulary), 1)
    before = losses_of(
        {n: torch.tensor(a) for n, a in first.items()}, make_batch(tasks, vocabulary, "cpu")
    )
    whole = train_reader(tasks, vocabulary, first, recipe, print, lambda *_: None)
    after = losses_of(
        {n: torch.tensor(a) for n, a in whole.items()}, make_batch(tasks, vocabulary, "cpu")
    )
    assert sum(map(float, after.values())) < sum(map(float, before.values()))
    again = train_reader(tasks, vocabulary, first, recipe, print, lambda *_: None)
    for name, array in again.items():
        assert np.allclose(array, whole[name], atol=1e-6)
