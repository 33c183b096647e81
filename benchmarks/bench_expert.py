"""How often the expert succeeds: every shipped episode, and instructions with a derived goal.

Runs in process, without ROS and images. Alone means the first agent, the robot, and its partner
where a task asks for a state, which only people change. Repeat with:

    python benchmarks/bench_expert.py [--instructions FILE ...] [--sample N] [--only SET ...]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from machine import print_table

from papers.partnr.episodes.importing import import_instructions
from planner.app.embedded_run import run_embedded
from planner.app.run_options import RunOptions
from planner.episodes.recipes.build import shipped_episodes
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import asked_state
from planner.planning.expert.expert import Expert
from planner.world.catalogue import sliced_from
from planner.world.episode import Episode
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

ALONE, TOGETHER, IMPORTED = "own-one", "own-two", "imported"
TITLES = {
    ALONE: "own episodes, one agent",
    TOGETHER: "own episodes, two agents",
    IMPORTED: "derived goals, two agents",
}
WANTED = {ALONE: 1.0, TOGETHER: 1.0, IMPORTED: 0.95}


@dataclass
class Score:
    """One row of the table."""

    runs: int = 0
    successes: int = 0
    steps: int = 0
    cpu_s: float = 0.0
    failed: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.successes / self.runs


def needs_partner(episode: Episode) -> bool:
    """Whether states or slices are asked for, which need a person."""
    asked = read_evaluation(episode.evaluation, episode.episode_id).propositions
    names = {name for p in asked for names in p.lists for name in names}
    return any(sliced_from(name) for name in names) or any(
        asked_state(p.predicate) is not None for p in asked
    )


def run_set(backend: EmbeddedBackend, title: str, paths: list[Path], *, alone: bool) -> Score:
    score = Score()
    for path in paths:
        episode, house = load_episode(path)
        agents = 1 if alone and not needs_partner(episode) else 0
        begin = time.process_time()
        result = run_embedded(
            backend, house, episode, Expert, RunOptions(images=False), agents=agents
        )
        score.cpu_s += time.process_time() - begin
        score.runs += 1
        score.successes += result.verdict.success
        score.steps += result.sim_steps
        word = "ok  " if result.verdict.success else "FAIL"
        why = "" if result.verdict.success else f"{result.reason} {result.verdict.explanation}"
        print(f"{title}  {word}  {path.stem}  {result.sim_steps} steps  {why}".rstrip(), flush=True)
        if not result.verdict.success:
            score.failed.append(path.stem)
    return score


def derived(files: list[Path], folder: Path) -> Iterator[Path]:
    """The episodes of instruction files for which the importer derived a goal."""
    result = import_instructions(files, 0)
    result.write(folder)
    read = sum(result.read.values())
    goals = [e.episode_id for e in result.episodes if e.evaluation is not None]
    print(f"{len(goals)} of {read} instructions have a derived goal")
    yield from (folder / f"{name}.json" for name in goals)


def drawn(paths: list[Path], sample: int) -> list[Path]:
    """A fixed sample of this size; all for 0."""
    if not sample or sample >= len(paths):
        return paths
    return sorted(random.Random(0).sample(paths, sample))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instructions", nargs="*", type=Path, default=[], metavar="FILE")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many of each set")
    parser.add_argument("--only", nargs="*", choices=TITLES, default=list(TITLES), metavar="SET")
    args = parser.parse_args()
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    scores: dict[str, Score] = {}
    own = drawn(list(shipped_episodes()), args.sample)
    for name in (ALONE, TOGETHER):
        if name in args.only:
            scores[name] = run_set(backend, TITLES[name], own, alone=name == ALONE)
    if IMPORTED in args.only and args.instructions:
        with tempfile.TemporaryDirectory() as folder:
            paths = drawn(list(derived(args.instructions, Path(folder))), args.sample)
            scores[IMPORTED] = run_set(backend, TITLES[IMPORTED], paths, alone=False)
    backend.close()
    rows = []
    for name, score in scores.items():
        measured = f"{score.successes}/{score.runs} = {score.rate:.1%}"
        rows.append((TITLES[name], measured, f"at least {WANTED[name]:.0%}"))
        rows.append(("  mean simulated time", f"{score.steps / score.runs / 30:.0f} s", ""))
        rows.append(("  processor time", f"{score.cpu_s / score.runs:.1f} s an episode", ""))
        rows += [("  failed", name, "") for name in score.failed]
    print_table("expert, in process, no images", rows)


if __name__ == "__main__":
    main()
