"""Success of the planner `learned` on episodes drawn at random, with Wilson intervals of 95 %.

One line an episode, then success by task type, and the processor time of its decisions. --about
draws among the episodes whose instruction names a thing of a class, for nouns that training left
out. --part runs every P-th house only, so that several processes share a run; their lines together
are those of one. --entities N measures only decisions, with N known entities of which every one is
asked for.

Repeat with: python benchmarks/bench_learned_planner.py [SUITE] [--count N] [--agents N] [--seed N]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from machine import print_table

from planner.app.embedded_run import prepare_run
from planner.app.run_options import RunOptions
from planner.bench.runs.manifest import find_suite, naming
from planner.bench.runs.models import clear_house_caches
from planner.bench.runs.worker import acting_agents
from planner.planning.learned.chooser import PlannerModel, rank, read_planner, shipped_planner
from planner.planning.learned.learned import ChoiceMaker, Learned
from planner.planning.learned.network import read
from planner.planning.learned.progress import Situation, progress_of
from planner.planning.learned.search import Standing
from planner.planning.learned.tokens import read_tokens
from planner.planning.planner import Context, Decision
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

VERBS = (
    "Close", "ExploreFurniture", "Navigate", "Open", "Pick", "Place", "Clean", "Fill", "PowerOn",
    "PowerOff", "Done",
)  # fmt: skip


class Timed(Learned):
    """Keeps how much processor time each decision took."""

    times_s: list[float]

    async def decide(self, context: Context) -> Decision:
        """As it is."""
        began = time.process_time()
        decision = await super().decide(context)
        self.times_s.append(time.process_time() - began)
        return decision


def interval(solved: int, tried: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share."""
    z = 1.96
    share, more = solved / tried, z * z / tried
    middle = (share + more / 2) / (1 + more)
    half = z / (1 + more) * np.sqrt(share * (1 - share) / tried + more / (4 * tried))
    return float(middle - half), float(middle + half)


def play(args: argparse.Namespace, model: PlannerModel) -> None:
    """Plays episodes and prints what became of them."""
    suite = find_suite(args.suite)
    if args.about:
        suite = naming(suite, args.about)
    rng = np.random.default_rng(args.seed)
    drawn = rng.permutation(len(suite))[: args.count]
    chosen = sorted((suite[i] for i in drawn), key=lambda entry: (entry.house, entry.episode_id))
    part, parts = map(int, args.part.split("/"))
    houses = sorted({entry.house for entry in chosen})[part - 1 :: parts]
    ends: defaultdict[str, list[bool]] = defaultdict(list)
    times_s: list[float] = []
    backend, house = None, ""
    for entry in chosen:
        if entry.house not in houses:
            continue
        episode, layout = load_episode(entry.path)
        if entry.house != house or backend is None:
            if backend is not None:
                backend.close()
            clear_house_caches()
            backend, house = EmbeddedBackend(EmbeddedOptions(renderer="none")), entry.house
        planners: list[Timed] = []

        def make(task: object, planners: list[Timed] = planners) -> Timed:
            planner = Timed(task, model)  # type: ignore[arg-type]
            planner.times_s = times_s
            planners.append(planner)
            return planner

        run = prepare_run(
            backend,
            layout,
            episode,
            make,
            RunOptions(acting=acting_agents(episode, args.agents), seed=episode.seed, images=False),
        )
        done = asyncio.run(run.play())
        kind = ", ".join(episode.task_types) or "other"
        for name in ("all", kind):
            ends[name].append(done.verdict.success)
        said = "solved" if done.verdict.success else "missed"
        print(f"{entry.episode_id}  {said}  {done.reason}", flush=True)
    if not ends:
        return
    rows: list[tuple[str, str, str]] = []
    for name, solved in sorted(ends.items()):
        low, high = interval(sum(solved), len(solved))
        share = f"{sum(solved)}/{len(solved)} = {sum(solved) / len(solved):.2f}"
        wanted = {1: "0.90", 2: "0.80"}.get(args.agents, "") if name == "all" else ""
        rows.append((name, f"{share} ({low:.2f} to {high:.2f})", wanted))
    print_table(f"learned, {args.suite}, {args.agents} acting", rows)
    print_times(times_s)


def decide(model: PlannerModel, entities: int) -> Iterator[tuple[str, list[float]]]:
    """Decisions in a house where all that is known is asked for: three situations.

    Each is what it is called, and the processor seconds of 100 decisions.
    """
    text = "Put all cups and bowls on the table in the kitchen, then put all cups on the bed."
    tokens = read_tokens(text, model.vocabulary)
    now = Situation()
    pieces = entities * 2 // 5
    lines = [
        f"Object.{100 + n}: {'table' if n % 3 else 'bed'} in kitchen_{n}" for n in range(pieces)
    ]
    now.begin(lines, {100 + n: (float(n), 1.0) for n in range(pieces)})
    for n in range(entities - pieces):
        kind, place = "cup" if n % 2 else "bowl", 100 + n % pieces
        now.told([f"Add Object.{100 + pieces + n}: {kind} with the Object.{place}"])
    thing = 101 + pieces
    for calls in (
        (),
        (f"Navigate[Object.{thing}]", f"Pick[Object.{thing}]"),
        ("Navigate[Object.101]",),
    ):
        for call in calls:
            now.ended(call, succeeded=True)
        times_s = []
        for _ in range(100):
            began = time.process_time()
            # An agent's first decision has to read the instruction, too.
            reading = read(model.weights, model.vocabulary, tokens)
            progress = progress_of(tokens, reading, now)
            choices = ChoiceMaker(Standing(tokens, reading, now, progress, VERBS, 2)).choices()
            rank(model.weights, choices.features)
            times_s.append(time.process_time() - began)
        yield f"{entities} entities, {len(choices.calls)} choices", times_s


def print_times(times_s: Sequence[float]) -> None:
    """Mean and slowest hundredth, of processor time."""
    times_ms = 1e3 * np.array(times_s)
    print(f"decision: mean {times_ms.mean():.1f} ms, p99 {np.percentile(times_ms, 99):.1f} ms")


def main() -> None:
    """Runs what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", nargs="?", default="partnr_val")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--agents", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--about", action="append", default=[], metavar="CLASS")
    parser.add_argument("--model", type=Path, default=shipped_planner())
    parser.add_argument("--part", default="1/1", metavar="I/P")
    parser.add_argument("--entities", type=int, default=0)
    args = parser.parse_args()
    model = read_planner(args.model)
    if args.entities:
        for situation, times_s in decide(model, args.entities):
            print(situation)
            print_times(times_s)
    else:
        play(args, model)


if __name__ == "__main__":
    main()
