"""Fit, roll out, sample: the loop of DDAFT and of its rivals (EPM-2.8).

The folder of a run holds `journal.jsonl`, and for each iteration i `iteration_i/` with `policy/`,
`rollouts/` and `evaluation/`; `curve.json` in the end. Learner and roll-outs keep their own files
there and continue from them, so a run that was killed anywhere goes on with the same command and
ends with the same files, as far as learner and roll-outs repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from planner.episodes.episode_file import write_text
from planner.models.recorded import DIALOGUE_ENDING, read_dialogue
from planner.planning.learned.chooser import PlannerModel, read_planner, write_planner
from planner.training.chat_tuning import TARGETS, Trained, chats_of, tune_chats
from planner.training.improvement.journal import CURVE, Curve, CurvePoint, Journal, Stage, Step
from planner.training.improvement.sampler import (
    Draw,
    Ended,
    FixedDraws,
    ImprovementRecipe,
    SampledDraws,
    Source,
    Tally,
)
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

_DRAWS = 11


class Learner(Protocol):
    """Makes policies from traces."""

    @property
    def name(self) -> str:
        """For curves and tables."""

    @property
    def identity(self) -> Mapping[str, object]:
        """What a policy depends on besides the traces."""

    def fit(self, traces: Sequence[Path], folder: Path) -> None:
        """Fits a policy to successful traces and writes it to a folder; continues what is there.

        It starts from the same base each time (EPM-2.8).

        Raises:
            PlannerError: if it cannot.
        """


class Rollouts(Protocol):
    """Tries tasks with a policy."""

    @property
    def identity(self) -> Mapping[str, object]:
        """What outcomes depend on besides the policy."""

    def run(self, policy: Path | None, source: Source, folder: Path) -> None:
        """Runs what the source gives out and reports each end to it, also of what ran before.

        Args:
            policy: what `fit` wrote; None = the policy before all fitting.
            source: of roll-outs.
            folder: for their files.

        Raises:
            PlannerError: if nothing can be run.
        """


@dataclass(frozen=True, slots=True)
class Field:
    """Tasks, and what tries them."""

    tasks: Sequence[str]
    rollouts: Rollouts


def improve(
    recipe: ImprovementRecipe,
    train: Field,
    held_out: Field | None,
    learner: Learner,
    folder: Path,
    tell: Callable[[str], None],
) -> Curve:
    """Runs an algorithm to its end, or goes on where it was stopped.

    After the last iteration one more policy is fitted, so that the last roll-outs count as well.

    Args:
        recipe: the algorithm and its numbers.
        train: what is tried and learned from.
        held_out: what each policy is scored on; None = no scores.
        learner: fits the policies.
        folder: of the run.
        tell: called with a line for each stage.

    Returns:
        Success on the held-out tasks by roll-outs.

    Raises:
        PlannerError: if no roll-out of the first pass solved its task, or none was judged.
        FileError: if the folder belongs to another run, or cannot be used.
    """
    return _Improvement(recipe, train, held_out, learner, folder, tell).run()


class _Improvement:
    def __init__(
        self,
        recipe: ImprovementRecipe,
        train: Field,
        held_out: Field | None,
        learner: Learner,
        folder: Path,
        tell: Callable[[str], None],
    ) -> None:
        if not train.tasks:
            raise PlannerError("there is no task to learn from")
        self._recipe, self._sampler = recipe, recipe.sampler
        self._train, self._held_out, self._learner = train, held_out, learner
        self._folder, self._tell = folder, tell
        identity: dict[str, object] = {
            "recipe": recipe.model_dump(mode="json"),
            "tasks": list(train.tasks),
            "held_out": list(held_out.tasks) if held_out else [],
            "learner": dict(learner.identity),
            "rollouts": dict(train.rollouts.identity),
        }
        self._journal = Journal(folder, identity)
        self._ended: list[Ended] = []
        self._points: list[CurvePoint] = []

    def run(self) -> Curve:
        recipe = self._recipe
        rounds = range(recipe.rounds)
        everything = [Draw(task, number) for number in rounds for task in self._train.tasks]
        self._roll_out(0, None, FixedDraws(everything))
        first = self._tally(self._train.tasks)
        tasks = [task for task in self._train.tasks if task not in set(first.without_verdict())]
        if not tasks:
            raise PlannerError("no roll-out of the first pass could be judged")
        if len(tasks) < len(self._train.tasks):
            self._tell(f"{len(self._train.tasks) - len(tasks)} tasks could not be judged, left out")
        first = first.only(tasks)
        self._evaluate(0, None)
        for iteration in range(1, recipe.iterations + 1):
            policy = self._fit(iteration)
            self._evaluate(iteration, policy)
            tried: dict[str, int] = {}
            for ended in self._ended:
                tried[ended.draw.task] = tried.get(ended.draw.task, 0) + 1
            source = SampledDraws(
                self._sampler,
                first,
                self._tally(self._train.tasks).only(tasks),
                tried,
                recipe.samples,
                recipe.in_flight,
                (recipe.seed, _DRAWS, iteration),
            )
            tries = None if self._sampler.tries_first_policy else policy
            self._roll_out(iteration, tries, source)
        last = recipe.iterations + 1
        self._evaluate(last, self._fit(last))
        curve = Curve(
            algorithm=recipe.algorithm,
            learner=self._learner.name,
            seed=recipe.seed,
            points=tuple(self._points),
        )
        write_text(self._folder / CURVE, curve.model_dump_json(indent=2) + "\n")
        return curve

    def _place(self, iteration: int) -> Path:
        return self._folder / f"iteration_{iteration}"

    def _tally(self, tasks: Sequence[str]) -> Tally:
        tally = Tally(tasks)
        for ended in self._ended:
            tally.add(ended)
        return tally

    def _traces(self) -> list[Path]:
        return [e.trace for e in self._ended if e.success and e.trace is not None]

    def _fit(self, iteration: int) -> Path:
        """Fits the successful traces of all iterations before (EPM-2.8, eq. 1)."""
        traces = self._traces()
        if not traces:
            raise PlannerError(
                f"none of {len(self._ended)} roll-outs solved its task, so nothing can be learned: "
                "start from a policy that solves some"
            )
        policy = self._place(iteration) / "policy"
        if not self._journal.has(Stage.FITTED, iteration):
            self._learner.fit(traces, policy)
        self._journal.add(Step(stage=Stage.FITTED, iteration=iteration, traces=len(traces)))
        self._tell(f"iteration {iteration}: fitted {len(traces)} successful traces")
        return policy

    def _roll_out(self, iteration: int, policy: Path | None, source: Source) -> None:
        self._train.rollouts.run(policy, source, self._place(iteration) / "rollouts")
        step = self._finish(Stage.ROLLED_OUT, iteration, source)
        self._ended += source.ended()
        self._tell(
            f"iteration {iteration}: {step.successes} of {step.traces} roll-outs solved, "
            f"{len(self._ended)} in all"
        )

    def _evaluate(self, iteration: int, policy: Path | None) -> None:
        if self._held_out is None:
            return
        rounds = range(self._recipe.evaluation_rounds)
        source = FixedDraws([Draw(task, n) for n in rounds for task in self._held_out.tasks])
        self._held_out.rollouts.run(policy, source, self._place(iteration) / "evaluation")
        step = self._finish(Stage.EVALUATED, iteration, source)
        self._points.append(
            CurvePoint(
                iteration=iteration,
                samples=len(self._ended) if iteration else 0,
                traces=len(self._traces()) if iteration else 0,
                episodes=step.traces - step.without_verdict,
                successes=step.successes,
                by_task=_by_task(source.ended()),
            )
        )
        self._tell(f"iteration {iteration}: {step.successes} of {step.traces} held-out solved")

    def _finish(self, stage: Stage, iteration: int, source: Source) -> Step:
        ended = source.ended()
        if len(ended) != source.total:
            raise PlannerError(f"{len(ended)} of {source.total} roll-outs ended")
        step = Step(
            stage=stage,
            iteration=iteration,
            traces=len(ended),
            successes=sum(bool(e.success) for e in ended),
            without_verdict=sum(e.success is None for e in ended),
        )
        self._journal.add(step)
        return step


def _by_task(ended: Sequence[Ended]) -> tuple[tuple[bool, ...], ...]:
    found: dict[str, list[bool]] = {}
    for each in ended:
        if each.success is not None:
            found.setdefault(each.draw.task, []).append(each.success)
    return tuple(map(tuple, found.values()))


# The learners of policy improvement: a causal language model, and the planner `learned`.


@dataclass(frozen=True, slots=True)
class CausalLearner:
    """`planner.training.improvement.loop.Learner` through transformers.

    Attributes:
        model: folder of the base, such as HD's merged model; a policy is an adapter of it.
        recipe: of each fit.
        on_progress: called after each step.
        trained: what is written into a policy's folder.
        targets, longest, start: as in `tune_chats`.
    """

    model: Path
    recipe: TuningRecipe
    on_progress: Callable[[TuningProgress], None]
    trained: Trained = Trained.ADAPTER
    targets: Sequence[str] = TARGETS
    longest: int = 0
    start: Path | None = None

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
            **({"longest": self.longest} if self.longest else {}),
            **({"start": self.start.name} if self.start else {}),
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
            longest=self.longest,
            start=self.start,
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

    name = "learned"

    base: Path
    recipe: ChooserRecipe
    on_progress: Callable[[ChooserProgress], None]

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
