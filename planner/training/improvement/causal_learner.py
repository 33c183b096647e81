"""A causal language model as the learner: each fit is a fine-tuning of the same base (EPM-2.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.models.dialogue_file import DIALOGUE_ENDING, read_dialogue
from planner.training.chat_tuning import TARGETS, Trained, tune_chats
from planner.training.chats import chats_of
from planner.training.tuning import TuningProgress, TuningRecipe, kept


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
