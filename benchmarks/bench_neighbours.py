"""Which solved tasks an encoder finds: whether the nearest instruction asks for the same.

Repeat with: python benchmarks/bench_neighbours.py [--encoder FOLDER] [--count 200]

For instructions of `partnr_test`, drawn with a fixed seed, the nearest of all of `partnr_val`. By
the goals, which the encoder does not see, a neighbour is right if it has the same predicates, and
nearer still if it is about a thing of the same class, too. Beside it what a task drawn at random
reaches.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from machine import print_table

from planner.bench.runs.manifest import SuiteEpisode, find_suite
from planner.evaluation.statistics import wilson
from planner.world.embedding import Embedder, HashedWords, load_encoder

Asked = tuple[frozenset[str], frozenset[str]]
SEED = 7


def asked_of(entry: SuiteEpisode) -> Asked:
    """The predicates of a task's goal, and the classes of what it is about."""
    document = json.loads(entry.path.read_text(encoding="utf-8"))
    propositions = document["evaluation"]["propositions"]
    names = [name for item in propositions for name in item["args"].get("objects", ())]
    classes = frozenset(name.rpartition("_")[0] for name in names)
    return frozenset(item["function_name"] for item in propositions), classes


def shares(found: Sequence[tuple[Asked, Asked]]) -> tuple[str, str]:
    same = sum(ours[0] == theirs[0] for ours, theirs in found)
    thing = sum(ours[0] == theirs[0] and bool(ours[1] & theirs[1]) for ours, theirs in found)

    def told(count: int) -> str:
        share = wilson(count, len(found))
        return f"{share.value:.2f} ({share.low:.2f} to {share.high:.2f})"

    return told(same), told(thing)


def nearest(embedder: Embedder, pool: Sequence[str], asked: Sequence[str]) -> list[int]:
    known, wanted = embedder.embed(pool), embedder.embed(asked)
    best: list[int] = (wanted @ known.T).argmax(axis=1).tolist()
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", type=Path, help="folder of a sentence transformer")
    parser.add_argument("--count", type=int, default=200)
    args = parser.parse_args()
    pool = find_suite("partnr_val")
    drawn = random.Random(SEED)
    tasks = drawn.sample(list(find_suite("partnr_test")), args.count)
    goals, wanted = [asked_of(entry) for entry in pool], [asked_of(entry) for entry in tasks]
    texts, said = [e.instruction for e in pool], [e.instruction for e in tasks]
    embedders: dict[str, Callable[[], Embedder]] = {"hashed words": HashedWords}
    if args.encoder is not None:
        embedders[args.encoder.name] = lambda: load_encoder(args.encoder)
    chance = [(ours, drawn.choice(goals)) for ours in wanted]
    rows = [("encoder", "same predicates", "and a class of thing"), ("at random", *shares(chance))]
    for name, make in embedders.items():
        embedder = make()
        begun_s = time.process_time()
        found = nearest(embedder, texts, said)
        each_ms = (time.process_time() - begun_s) * 1000 / (len(texts) + len(said))
        pairs = [(ours, goals[index]) for ours, index in zip(wanted, found, strict=True)]
        rows.append((f"{name}, {each_ms:.1f} ms a sentence", *shares(pairs)))
    print_table(f"nearest of {len(pool)} instructions, {len(tasks)} tasks", rows)


if __name__ == "__main__":
    main()
