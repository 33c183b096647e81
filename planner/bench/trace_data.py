"""Traces for training (EPM-2.7), from runs in this process: a demonstrator's, or other planners'.

Each shard is a range of one pack's or suite's episodes. A killed run goes on at the next shard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from planner.app.embedded_run import prepare_run
from planner.app.run_options import RunOptions
from planner.bench.runs.manifest import SuiteEpisode, find_suite
from planner.bench.runs.models import Models, clear_house_caches
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.worker import acting_agents
from planner.models.caller import ignore_call
from planner.parts.option import OptionValue
from planner.planning.learned.chooser import read_planner
from planner.planning.part import make_planner
from planner.planning.planner import Planner, Task
from planner.training.traces.demonstrator import Demonstrator, ExplorationRule, Practice
from planner.training.traces.folder import TraceFolder, TraceManifest, check_is_training
from planner.training.traces.record import Provenance, Trace, TraceRecorder
from planner.training.traces.rules import TraceRules, improved
from planner.world.errors import PlannerError
from planner.world.files import read_bytes
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.skill import SkillCall
from sim_bridge.backend import Backend

DEMONSTRATOR = "expert"
_GRAPH = "graph"
# Of the random numbers that draw episodes.
_EPISODES = 13


@dataclass(frozen=True, slots=True)
class TraceRecipe:
    """How traces are made.

    Attributes:
        episodes: a suite's name, or a pack or folder of training episodes.
        planner: `expert` demonstrates (EPM-2.7); others are recorded as they are.
        memory: perception, as of `planner bench --memory`.
        agents: numbers of acting agents, in turn.
        seed: of explorations, invented instances and which episodes are drawn.
        shard: episodes of a shard.
        most: episodes in all, drawn by the seed, as packs are sorted by kind; 0 = all.
        rules: how traces are improved afterwards.
        exploration: how much is explored without finding anything.
        practice: the planner acts, and the expert says what it would have called.
        options: of the planner.
    """

    episodes: str
    planner: str = DEMONSTRATOR
    memory: str = "privileged"
    agents: tuple[int, ...] = (1,)
    seed: int = 1
    shard: int = 100
    most: int = 0
    rules: TraceRules = field(default_factory=TraceRules)
    exploration: ExplorationRule = field(default_factory=ExplorationRule)
    practice: bool = False
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    def as_record(self, digest: str) -> dict[str, str | int | float | bool]:
        """The recipe for the manifest; `digest` is of the episodes."""
        found: dict[str, str | int | float | bool] = {
            "episodes": digest,
            "planner": self.planner,
            "memory": self.memory,
            "agents": " ".join(map(str, self.agents)),
            "seed": self.seed,
            "shard": self.shard,
            "most": self.most,
        }
        found |= {f"rule {name}": value for name, value in asdict(self.rules).items()}
        found |= {f"explore {name}": value for name, value in asdict(self.exploration).items()}
        if self.practice:
            # Where the file lies does not matter, what is in it does.
            weights = Path(str(self.options["learned_model"]))
            found["practice"] = sha256(read_bytes(weights)).hexdigest()[:24]
        return found


def practising(recipe: TraceRecipe, weights: Path) -> TraceRecipe:
    """The recipe with the planner `learned` acting, and the expert beside it.

    Args:
        recipe: of its episodes, agents, seed and perception.
        weights: of the network; their digest becomes part of the recipe.

    Raises:
        FileError: if the weights cannot be read.
    """
    read_planner(weights)
    options = {"learned_model": str(weights.absolute())}
    return replace(recipe, planner="learned", practice=True, options=options)


def make_traces(
    output: Path, recipe: TraceRecipe, on_shard: Callable[[int, int, int], None]
) -> TraceManifest:
    """Runs what is missing and writes the manifest.

    Args:
        output: the folder; a new one or one of the same recipe.
        recipe: what to run.
        on_shard: called with the shards done, of how many, and the traces in the last one.

    Raises:
        PlannerError: for an episode, house or wording that is for evaluation, or a run that cannot
            be made.
    """
    suite = find_suite(recipe.episodes)
    suite = _drawn(suite, recipe)
    digest = sha256("\n".join(f"{e.episode_id} {e.digest}" for e in suite).encode()).hexdigest()
    jobs = [(entry, count) for entry in suite for count in recipe.agents]
    jobs.sort(key=lambda job: job[0].house)
    shards = -(-len(jobs) // recipe.shard)
    folder = TraceFolder(output, recipe.as_record(digest[:24]), shards)
    runner = _Runner(recipe)
    for number in folder.missing():
        part = jobs[number * recipe.shard : (number + 1) * recipe.shard]
        traces = [trace for entry, count in part for trace in runner.run(entry, count)]
        folder.write(number, traces)
        on_shard(shards - len(folder.missing()), shards, len(traces))
    return folder.finish()


def _drawn(suite: Sequence[SuiteEpisode], recipe: TraceRecipe) -> tuple[SuiteEpisode, ...]:
    """The episodes that are run, in their order."""
    if not recipe.most or recipe.most >= len(suite):
        return tuple(suite)
    rng = np.random.default_rng([recipe.seed, _EPISODES])
    chosen = sorted(rng.permutation(len(suite))[: recipe.most].tolist())
    return tuple(suite[number] for number in chosen)


class _Runner:
    """Runs episodes one after another."""

    def __init__(self, recipe: TraceRecipe) -> None:
        self._recipe = recipe
        self._settings = RunSettings(
            planner=recipe.planner, memory=recipe.memory, options=recipe.options
        )
        self._settings.check()
        self._models = Models(self._settings)
        self._backend: Backend | None = None
        self._house = ""

    def run(self, entry: SuiteEpisode, agents: int) -> Sequence[Trace]:
        """The traces of one episode; none where the rules keep nothing."""
        self._enter(entry.house)
        episode, house = load_episode(entry.path)
        check_is_training(episode, house)
        rng = np.random.default_rng(_seed(self._recipe.seed, episode.episode_id, agents))
        backend = self._world(house)
        acting = acting_agents(episode, agents)
        made: list[tuple[TraceRecorder, Planner]] = []

        def make(task: Task) -> Planner:
            planner: Planner
            if self._recipe.planner == DEMONSTRATOR:
                planner = Demonstrator(task, backend.world_state, rng, self._recipe.exploration)
            else:
                choice = self._settings.choice(len(task.agents))
                planner = make_planner(choice, task, None, ignore_call)
            if self._recipe.practice:
                planner = Practice(task, planner, backend.world_state, rng)
            shown = planner.shown if isinstance(planner, Practice) else _nothing_shown
            recorder = TraceRecorder(
                planner, task.agents, lambda: run.evaluator.progress.percent_complete, shown=shown
            )
            made.append((recorder, planner))
            return recorder

        run = prepare_run(
            backend,
            house,
            episode,
            make,
            RunOptions(
                acting=acting,
                seed=episode.seed,
                images=self._settings.reads_pictures,
                updater=self._models.updater(house, backend),
                mode=self._settings.mode,
                all_known=self._settings.knows_all,
            ),
        )
        result = asyncio.run(run.play())
        recorder, planner = made[0]
        provenance = Provenance(
            source=recorder.name,
            run=f"{episode.episode_id}-{agents}-{self._recipe.seed}",
            episode_id=episode.episode_id,
            house=episode.house,
            split=episode.split,
            seed=episode.seed,
            memory=self._recipe.memory,
            task_types=episode.task_types,
            explored=planner.explored if isinstance(planner, Demonstrator) else 0,
        )
        verdict = result.verdict
        traces = recorder.traces(
            provenance, reward=verdict.success, percent_complete=verdict.percent_complete
        )
        # What is learned from practice is what the expert would have called, right or wrong.
        return traces if self._recipe.practice else improved(traces, self._recipe.rules, rng)

    def _enter(self, house: str) -> None:
        if house != self._house:
            if self._backend is not None:
                self._backend.close()
                self._backend = None
            self._models.leave_house()
            clear_house_caches()
            self._house = house

    def _world(self, house: House) -> Backend:
        world = self._settings.world_of(house)
        if house.graph is not None and world != _GRAPH:
            raise PlannerError(f"{house.name}: traces are made of houses, not of {world} scenes")
        if world == _GRAPH:
            return self._settings.open_backend(house)
        if self._backend is None:
            self._backend = self._settings.open_backend(house)
        return self._backend


def _nothing_shown(_agent: str) -> SkillCall | None:
    return None


def _seed(seed: int, name: str, agents: int) -> int:
    text = f"traces/{seed}/{name}/{agents}"
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")
