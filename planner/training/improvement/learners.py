"""The learners of policy improvement: a causal language model, and the planner `learned`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from planner.models.recorded import DIALOGUE_ENDING, read_dialogue
from planner.planning.learned.chooser import PlannerModel, read_planner, write_planner
from planner.training.chat_tuning import TARGETS, Trained, chats_of, tune_chats
from planner.training.learned.training import (
    MODEL_FILE,
    ChooserProgress,
    ChooserRecipe,
    Example,
    Left,
    examples_of,
    train_chooser,
)
from planner.training.traces.folder import learnable_path, read_shard
from planner.training.tuning import TuningProgress, TuningRecipe, kept
from planner.world.errors import PlannerError
from planner.world.files import read_bytes


@dataclass(frozen=True, slots=True)
class CausalLearner:
    """`planner.training.improvement.loop.Learner` through transformers.

    Attributes:
        model: folder of the base, such as HD's merged model; a policy is an adapter of it.
        recipe: of each fit.
        on_progress: called after each step.
        trained: what is written into a policy's folder.
        targets: as in `tune_chats`.
    """

    model: Path
    recipe: TuningRecipe
    on_progress: Callable[[TuningProgress], None]
    trained: Trained = Trained.ADAPTER
    targets: Sequence[str] = TARGETS

    @property
    def name(self) -> str:
        """The base's."""
        return self.model.name

    @property
    def identity(self) -> Mapping[str, object]:
        """Base and recipe."""
        return {
            "model": self.model.name,
            "recipe": kept(self.recipe),
            "trained": self.trained.value,
            "targets": [*self.targets],
        }

    def fit(self, traces: Sequence[Path], folder: Path) -> None:
        """Fine-tunes the base to the dialogues of these episodes.

        Raises:
            PlannerError: if the base or a dialogue cannot be used.
        """
        chats = [
            chat
            for trace in traces
            for chat in chats_of(
                read_dialogue(trace.with_name(trace.name + DIALOGUE_ENDING)), trace.name
            )
        ]
        tune_chats(
            chats,
            self.model,
            folder,
            self.recipe,
            self.on_progress,
            trained=self.trained,
            targets=self.targets,
        )


# The planner `learned` as the learner: each fit trains its chooser from the same weights.


@dataclass(frozen=True, slots=True)
class NetworkLearner:
    """`planner.training.improvement.loop.Learner` over the network's chooser; its reader stays.

    Attributes:
        base: the file of weights that each fit starts from.
        recipe: of each fit.
        on_progress: called every few hundred steps.
    """

    base: Path
    recipe: ChooserRecipe
    on_progress: Callable[[ChooserProgress], None]

    @property
    def name(self) -> str:
        """The planner's."""
        return "learned"

    @property
    def identity(self) -> Mapping[str, object]:
        """Base and recipe.

        Raises:
            FileError: if the base cannot be read.
        """
        read_planner(self.base)
        digest = sha256(read_bytes(self.base)).hexdigest()[:16]
        recipe = {name: v for name, v in asdict(self.recipe).items() if name != "device"}
        return {"base": digest, "recipe": recipe}

    def fit(self, traces: Sequence[Path], folder: Path) -> None:
        """Trains on the choices of these episodes and writes `planner.safetensors`.

        Raises:
            PlannerError: without PyTorch, or if the episodes have no choice to learn.
            FileError: for traces or weights that cannot be read or written.
        """
        model = read_planner(self.base)
        left, examples = Left(), list[Example]()
        for start in traces:
            for trace in read_shard(learnable_path(start)):
                examples += examples_of(trace, model.weights, model.vocabulary, left)
        if not examples:
            raise PlannerError(f"{len(traces)} episodes have no choice to learn from")
        try:
            trained = train_chooser(examples, self.recipe, self.on_progress, model.weights)
        except ImportError as error:
            raise PlannerError(f"training needs the extra `train`: {error}") from None
        weights = {**model.weights, **trained}
        write_planner(folder / MODEL_FILE, PlannerModel(model.vocabulary, weights, model.notes))
