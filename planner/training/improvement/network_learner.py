"""The planner `learned` as the learner: each fit trains its chooser from the same weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from planner.planning.learned.weights import PlannerModel, read_planner, write_planner
from planner.training.learned.chooser import ChooserProgress, ChooserRecipe, train_chooser
from planner.training.learned.examples import Example, Left, examples_of
from planner.training.learned.training import MODEL_FILE
from planner.training.traces.folder import learnable_path, read_shard
from planner.world.errors import PlannerError
from planner.world.files import read_bytes


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
