"""Trains the learned planner from packs of episodes and folders of traces; resumes in its folder.

Two stages: the reader from the episodes' instructions and goals, then the chooser from traces, with
the reader as it is. The folder has `reader.npz`, the newest checkpoint, and at the end
`planner.safetensors`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from planner.parts.calls import parse_call
from planner.planning.learned.chooser import (
    PlannerModel,
    chooser_shapes,
    read_planner,
    write_planner,
)
from planner.planning.learned.learned import WAIT, ChoiceMaker
from planner.planning.learned.network import Array, read, reader_shapes
from planner.planning.learned.progress import Situation, progress_of
from planner.planning.learned.search import Standing
from planner.planning.learned.tokens import UNKNOWN, check_classes, names_any, read_tokens
from planner.training.learned.reader import (
    ReaderProgress,
    ReaderRecipe,
    first_weights,
    train_reader,
)
from planner.training.learned.tasks import ReaderTask, tasks_of
from planner.training.traces.folder import read_traces
from planner.training.traces.record import Trace
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_bytes, replacing

# What the chooser learns from: the choices of each turn of a trace, and which was made.


@dataclass(frozen=True, slots=True)
class Example:
    """(C, FEATURES) features of the choices, the index of the one that was made, and its weight."""

    features: Array
    made: int
    weight: float = 1.0


@dataclass(slots=True)
class Left:
    """Turns that gave no example, by reason."""

    not_learned: int = 0
    not_a_choice: int = 0
    taken: int = 0


def examples_of(
    trace: Trace, weights: Mapping[str, Array], vocabulary: Mapping[str, int], left: Left
) -> Iterator[Example]:
    """The examples of one trace, in order."""
    tokens = read_tokens(trace.instruction, vocabulary)
    reading = read(weights, vocabulary, tokens)
    situation = Situation()
    situation.begin(trace.entities, trace.positions_m)
    waited = False
    is_practice = any(turn.shown for turn in trace.turns)
    for turn in trace.turns:
        situation.see_others(turn.others)
        if turn.shown or (turn.learned and not is_practice):
            progress = progress_of(tokens, reading, situation)
            standing = Standing(
                tokens, reading, situation, progress, trace.verbs, len(trace.team), waited=waited
            )
            maker = ChoiceMaker(standing)
            choices = maker.choices()
            names = [str(call) for call in choices.calls]
            shown = _as_searched(turn.shown or turn.call, maker)
            if shown in names:
                left.taken += 1
                yield Example(choices.features, names.index(shown))
            else:
                left.not_a_choice += 1
        else:
            left.not_learned += 1
        waited = turn.call == str(WAIT)
        if turn.call != str(WAIT):
            situation.ended(turn.call, succeeded=turn.succeeded)
        situation.told(turn.deltas)


def _as_searched(shown: str, maker: ChoiceMaker) -> str:
    """The call itself; for one that looks for something, where looking is worth most.

    Who demonstrates knows where the thing is; who learns has to find it, with the least walking.
    """
    call = parse_call(shown)
    look = maker.next_look() if maker.is_look(call) else None
    return str(look) if look is not None else shown


def packed(examples: list[Example]) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """All choices in one array, the first choice of each example, and the one that was made."""
    sizes = np.array([len(example.features) for example in examples], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    made = np.array([example.made for example in examples], np.int64)
    return np.concatenate([example.features for example in examples]), starts, made


# Trains the chooser to make the calls of traces.


@dataclass(frozen=True, slots=True)
class ChooserRecipe:
    """How the chooser is trained."""

    steps: int = 6000
    batch: int = 32
    rate: float = 2e-3
    decay: float = 1e-4
    seed: int = 1
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class ChooserProgress:
    """The mean loss of the last steps, and the share of calls made as in the traces."""

    step: int
    loss: float
    right: float


def train_chooser(
    examples: Sequence[Example],
    recipe: ChooserRecipe,
    on_progress: Callable[[ChooserProgress], None],
    start: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Trains from random weights, or from `start`; returns the weights."""
    import torch

    rng = np.random.default_rng(recipe.seed)
    tensors = {}
    for name, shape in chooser_shapes().items():
        first = rng.normal(0, np.sqrt(2 / shape[0]), shape) if len(shape) > 1 else np.zeros(shape)
        given = start[name] if start is not None else first
        tensors[name] = torch.tensor(given, dtype=torch.float32, device=recipe.device)
        tensors[name].requires_grad_(True)
    layers = len(tensors) // 2
    optimiser = torch.optim.AdamW(list(tensors.values()), recipe.rate, weight_decay=recipe.decay)
    loss_sum = right_sum = 0.0
    for step in range(recipe.steps):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * (1 - step / recipe.steps)
        chosen = rng.integers(len(examples), size=recipe.batch)
        width = max(len(examples[i].features) for i in chosen)
        features = np.zeros((recipe.batch, width, examples[0].features.shape[1]), np.float32)
        there = np.zeros((recipe.batch, width), bool)
        for row, i in enumerate(chosen):
            count = len(examples[i].features)
            features[row, :count] = examples[i].features
            there[row, :count] = True
        x = torch.from_numpy(features).to(recipe.device)
        for i in range(layers):
            x = x @ tensors[f"choose{i}.weight"] + tensors[f"choose{i}.bias"]
            x = torch.relu(x) if i + 1 < layers else x
        scores = x[..., 0].masked_fill(~torch.from_numpy(there).to(recipe.device), -1e9)
        made = torch.tensor([examples[i].made for i in chosen], device=recipe.device)
        weight = torch.tensor([examples[i].weight for i in chosen], device=recipe.device)
        losses = torch.nn.functional.cross_entropy(scores, made, reduction="none")
        loss = (losses * weight).sum() / weight.sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss_sum += float(loss.detach()) / 200
        right_sum += float((scores.argmax(1) == made).float().mean()) / 200
        if (step + 1) % 200 == 0:
            on_progress(ChooserProgress(step + 1, loss_sum, right_sum))
            loss_sum = right_sum = 0.0
    return {n: w.detach().cpu().numpy().copy() for n, w in tensors.items()}


MODEL_FILE, CHECKPOINT = "planner.safetensors", "reader.npz"
# A word that fewer instructions have is read as unknown.
MIN_COUNT = 3


@dataclass(frozen=True, slots=True)
class LearnedRecipe:
    """How the planner is trained.

    Attributes:
        without: classes of things; tasks and traces whose words may mean one are left out, to
            measure nouns never trained on.
        reader_of: weights whose reader and words are taken as they are, so that only the chooser is
            trained; None = a reader of our own.
    """

    reader: ReaderRecipe = field(default_factory=ReaderRecipe)
    chooser: ChooserRecipe = field(default_factory=ChooserRecipe)
    without: tuple[str, ...] = ()
    reader_of: Path | None = None


def train_learned(
    packs: Sequence[Path],
    traces: Sequence[Path],
    folder: Path,
    recipe: LearnedRecipe,
    on_line: Callable[[str], None],
) -> Path:
    """Trains both stages and writes the model.

    Args:
        packs: of training episodes.
        traces: folders of traces.
        folder: of the checkpoint and the model.
        recipe: how.
        on_line: called with each line of progress.

    Raises:
        PlannerError: without PyTorch, without data, or for a checkpoint of another recipe.
        FileError: if data cannot be read or the model cannot be written.
    """
    check_torch()
    check_classes(recipe.without)
    tasks = list(tasks_of(packs, recipe.without))
    if not tasks:
        raise PlannerError(f"{', '.join(map(str, packs))}: no task to learn from")
    if recipe.reader_of is not None:
        given = read_planner(recipe.reader_of)
        vocabulary, reader = dict(given.vocabulary), _reader_alone(given)
        about_reader = {"reader_of": _digest(recipe.reader_of)}
        on_line(f"reader: that of {recipe.reader_of}, {len(vocabulary)} words")
    else:
        vocabulary = vocabulary_of(tasks)
        on_line(f"{len(tasks)} tasks, {len(vocabulary)} words")
        reader = _reader(tasks, vocabulary, folder, recipe, on_line)
        about_reader = recipe.reader.as_notes()
    left, examples = Left(), list[Example]()
    for trace in read_traces(traces):
        if names_any(read_tokens(trace.instruction), recipe.without):
            continue
        examples += examples_of(trace, reader, vocabulary, left)
    if not examples:
        raise PlannerError(f"{', '.join(map(str, traces))}: no call to learn from")
    on_line(f"{len(examples)} calls; {left.not_a_choice} were none of the choices")

    def told(at: ChooserProgress) -> None:
        on_line(f"chooser {at.step}: loss {at.loss:.3f}, as shown {at.right:.3f}")

    chooser = train_chooser(examples, recipe.chooser, told)
    notes = {
        **about_reader,
        **{f"chooser_{name}": str(value) for name, value in asdict(recipe.chooser).items()},
        "tasks": str(len(tasks)),
        "calls": str(len(examples)),
        "without": " ".join(recipe.without),
        "data": json.dumps({path.name: _digest(path) for path in [*packs, *traces]}),
    }
    path = folder / MODEL_FILE
    write_planner(path, PlannerModel(vocabulary, {**reader, **chooser}, notes))
    return path


def _reader_alone(model: PlannerModel) -> dict[str, Array]:
    return {name: model.weights[name] for name in reader_shapes(len(model.vocabulary))}


def vocabulary_of(tasks: Sequence[ReaderTask]) -> dict[str, int]:
    """Numbers of the words that several instructions have; the unknown word is 0."""
    counts = Counter(word for task in tasks for word in {token.word for token in task.tokens})
    words = sorted(word for word, count in counts.items() if count >= MIN_COUNT and word != UNKNOWN)
    return {word: i for i, word in enumerate([UNKNOWN, *words])}


def _reader(
    tasks: Sequence[ReaderTask],
    vocabulary: Mapping[str, int],
    folder: Path,
    recipe: LearnedRecipe,
    on_line: Callable[[str], None],
) -> dict[str, Array]:
    key = _key(tasks, vocabulary, recipe)
    start, weights, moments = _resumed(folder / CHECKPOINT, key)
    if start:
        on_line(f"reader: goes on at step {start}")

    def told(at: ReaderProgress) -> None:
        parts = ", ".join(f"{name} {loss:.3f}" for name, loss in at.losses.items())
        on_line(f"reader {at.step}: {parts}")

    def kept(step: int, now: Mapping[str, Array], then: Mapping[str, Array]) -> None:
        write_checkpoint(folder / CHECKPOINT, key, step, now, then)

    return train_reader(
        tasks,
        vocabulary,
        weights or first_weights(len(vocabulary), recipe.reader.seed),
        recipe.reader,
        told,
        kept,
        start,
        moments,
    )


def _key(tasks: Sequence[ReaderTask], vocabulary: Collection[str], recipe: LearnedRecipe) -> str:
    said = json.dumps([asdict(recipe.reader), sorted(vocabulary), recipe.without])
    texts = "\n".join(" ".join(token.text for token in task.tokens) for task in tasks)
    return sha256(f"{said}\n{texts}".encode()).hexdigest()


def _resumed(path: Path, key: str) -> tuple[int, dict[str, Array] | None, dict[str, Array] | None]:
    if not path.exists():
        return 0, None, None
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        reason = f"cannot be read: {error}: delete it to begin anew"
        raise FileError(path, "", reason) from None
    if str(arrays.pop("made_by", "")) != key:
        raise FileError(path, "made_by", "is of another recipe or other data: name an empty folder")
    step = int(arrays.pop("at_step"))
    moments = {n: a for n, a in arrays.items() if n.startswith(("first:", "second:"))}
    weights = {n: a for n, a in arrays.items() if n not in moments}
    return step, weights, moments


def write_checkpoint(
    path: Path, key: str, step: int, weights: Mapping[str, Array], moments: Mapping[str, Array]
) -> None:
    """Writes the reader's weights and the optimiser's moments; the last whole file stays.

    Raises:
        FileError: where it cannot be written.
    """
    arrays: dict[str, Array] = {**weights, **moments}
    with replacing(path, make_folder=True) as aside, aside.open("wb") as file:
        np.savez(file, made_by=np.array(key), at_step=np.array(step), **arrays)  # type: ignore[arg-type]


def _digest(path: Path) -> str:
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    found = sha256()
    for file in files:
        found.update(read_bytes(file))
    return found.hexdigest()[:16]


def check_torch() -> None:
    """Raises PlannerError where PyTorch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise PlannerError(
            "training needs PyTorch: .venv/bin/pip install -c constraints.txt -e '.[train]'"
        ) from None
