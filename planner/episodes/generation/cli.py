"""`planner episodes generate`: new tasks for houses, as files or as one pack."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from planner.episodes.generation.arguments import ALL, TaskType
from planner.episodes.generation.candidates import Candidates, GrammarCandidates
from planner.episodes.generation.generating import MAX_ATTEMPTS, Order, generate
from planner.episodes.generation.partial_file import Asked, Done, PartialFile
from planner.episodes.generation.progress import Progress
from planner.episodes.lint.arguments import Solve
from planner.episodes.pack import write_set
from planner.episodes.recipes.build import shipped_episodes
from planner.houses.generator import generate_house
from planner.houses.shipped import shipped_houses
from planner.models.model_choice import ModelChoice, open_model
from planner.world.episode import read_episode
from planner.world.errors import PlannerError
from planner.world.house import House, house_json
from planner.world.house_checks import load_house

_NEW = "new:"
_MAX_NEW = 100


def run_generate(args: argparse.Namespace, solve: Solve | None) -> int:
    """Generates and prints what was rejected.

    Returns:
        0; 1 if fewer than were asked for could be made.

    Raises:
        PlannerError: for a house that does not exist, or numbers out of range.
    """
    if args.count < 1 or args.jobs < 1 or args.seed < 0:
        raise PlannerError("expected --count and --jobs from 1, --seed from 0")
    if args.solve and solve is None:
        raise PlannerError("nothing here can run a planner: use planner episodes generate")
    kinds = [TaskType(kind) for kind in args.type or () if kind != ALL] or list(TaskType)
    houses, made = _houses(args.house, args.seed)
    if args.model and args.jobs > 1:
        raise PlannerError("--model proposes in one process: leave out --jobs")
    order = Order(
        houses,
        kinds,
        args.count,
        args.seed,
        args.split,
        solve if args.solve else None,
        _candidates(args.model, args.model_url),
    )
    asked = Asked(
        house=tuple(args.house),
        type=tuple(kinds),
        count=args.count,
        seed=args.seed,
        split=args.split,
        solve=args.solve,
        backend=args.backend,
        model=args.model,
        houses={house.name: sha256(house_json(house).encode()).hexdigest() for house in houses},
    )
    with PartialFile(args.output, asked) as partial:
        _complete(partial, order, args.jobs)
        episodes = partial.episodes
        write_set(args.output, episodes, made)
        partial.remove()
        print(_table(len(episodes), partial.rejected))
    print(f"wrote {len(episodes)} episodes to {args.output}")
    if len(episodes) < args.count:
        missing = args.count - len(episodes)
        print(f"error: {missing} had no success in {MAX_ATTEMPTS} attempts", file=sys.stderr)
    return 0 if len(episodes) == args.count else 1


def _complete(partial: PartialFile, order: Order, jobs: int) -> None:
    """Makes the episodes that the partial file does not have yet."""
    taken, rejected = len(partial.episodes), partial.rejected.total()
    if partial.numbers:
        found = f"{len(partial.numbers)} of {order.count} episodes"
        print(f"going on: {found} are done in {partial.path}", file=sys.stderr)
    progress = Progress(order.count, taken, sys.stderr, time.monotonic)
    try:
        for made in generate(order, jobs, partial.numbers):
            rejection = dict(made.rejected)
            partial.append(Done(number=made.number, rejected=rejection, episode=made.episode))
            taken += made.episode is not None
            rejected += made.rejected.total()
            progress.update(taken, rejected)
    except KeyboardInterrupt:
        kept = f"{len(partial.numbers)} of {order.count} episodes are done"
        print(f"\nstopped: {kept} in {partial.path}; the same command goes on", file=sys.stderr)
        raise
    progress.update(taken, rejected, last=True)


def _candidates(model: str, url: str) -> Candidates:
    if not model:
        return GrammarCandidates()
    from planner.episodes.generation.model_candidates import ModelCandidates

    examples = [read_episode(path) for path in shipped_episodes()]
    return ModelCandidates(open_model(ModelChoice(model, url)), examples)


def _houses(words: Sequence[str], seed: int) -> tuple[list[House], list[House]]:
    """All houses, and those among them that are not shipped."""
    found: list[House] = []
    made: list[House] = []
    for word in words:
        if word.startswith(_NEW):
            number = word.removeprefix(_NEW)
            if not number.isdecimal() or not 1 <= int(number) <= _MAX_NEW:
                raise PlannerError(f"--house {word}: expected new:N with N from 1 to {_MAX_NEW}")
            made += [_new_house(seed, k) for k in range(int(number))]
        elif word in ("train", "heldout"):
            paths = [path for path in shipped_houses() if path.parent.name == word]
            found += [load_house(path) for path in paths]
        else:
            house = load_house(word)
            (found if not Path(word).suffix else made).append(house)
    return [*found, *made], made


def _new_house(seed: int, number: int) -> House:
    text = f"house/{seed}/{number}"
    # Far from the seeds of the shipped houses.
    own = int.from_bytes(sha256(text.encode()).digest()[:4], "big") | 1 << 32
    return generate_house(f"home_{seed}_{number}", own)


def _table(taken: int, rejected: Counter[str]) -> str:
    total = taken + rejected.total()
    rows = [("proposed", total), *rejected.most_common(), ("taken", taken)]
    width = max(len(name) for name, _ in rows)
    return "\n".join(
        f"{name:<{width}}  {number:>6}  {100 * number / total:5.1f} %" for name, number in rows
    )
