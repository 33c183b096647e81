"""`planner episodes generate et-plan`: ET-Plan-Bench's tasks as episodes and as records."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from papers.et_plan_bench.generation.categories import (
    Category,
    HomeSplit,
    Variant,
    home_named,
    homes,
)
from papers.et_plan_bench.generation.house_tasks import (
    LAPS,
    OF_HOUSE,
    Asked,
    HouseTasks,
    Order,
    PartialTasks,
    Row,
    generate,
)
from papers.et_plan_bench.generation.idea import ModelCritic, marked
from papers.et_plan_bench.generation.plans import write_records
from planner.command_line import add_model_flags
from planner.episodes.arguments import add_world_flag
from planner.episodes.episode_file import SUFFIX, write_set
from planner.episodes.generator import ALL, GeneratorPart, GeneratorTools, add_output
from planner.episodes.partial_file import Progress
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House, house_json
from planner.world.house_checks import load_house, read_house

DEFAULT_WORLD = "graph"
RELATIONS = ("INSIDE", "ON", "CLOSE", "FACING")
_OCCLUSION = (Variant.OCCLUSION_SIZE, Variant.OCCLUSION_DISTANCE)
# Scenes that are none of the fifty are numbered from here.
_OTHER_SCENES = 1000


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_world_flag(parser, DEFAULT_WORLD)
    parser.add_argument(
        "--category",
        action="append",
        choices=(*Category, ALL),
        help="repeatable (default: all, each with its layout map or two arms as well)",
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        choices=tuple(Variant),
        help="only such tasks (repeatable); of --count tasks, occlusion keeps a fifth",
    )
    parser.add_argument(
        "--split",
        choices=tuple(HomeSplit),
        default=HomeSplit.TEST,
        help="its houses (default test)",
    )
    parser.add_argument(
        "--house",
        action="append",
        default=[],
        metavar="HOUSE",
        help="instead of a split's: et_train_3, a shipped one, a file, a graph's too (repeatable)",
    )
    parser.add_argument("--count", type=int, default=100, metavar="N", help="default 100")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    parser.add_argument(
        "--prior", choices=("P", "FP", "G"), help="what the robot knows (default P; FP with a map)"
    )
    parser.add_argument(
        "--max-actions", type=int, metavar="M", help="limit (default 20, 40 or 60 by category)"
    )
    parser.add_argument(
        "--relation",
        action="append",
        default=[],
        choices=RELATIONS,
        help="only tasks whose first relation is this (repeatable)",
    )
    parser.add_argument(
        "--room",
        action="append",
        default=[],
        metavar="CLASS",
        help="only tasks in such a room, such as kitchen (repeatable)",
    )
    add_model_flags(parser, "a chat model judges and words tasks, such as scripted:FILE")
    parser.add_argument(
        "--records",
        type=Path,
        metavar="FILE",
        help="the paper's records as JSON lines (default: OUTPUT.records.jsonl)",
    )
    add_output(parser)


def _run(args: argparse.Namespace, tools: GeneratorTools) -> int:
    """Generates, writes, and prints what was rejected.

    Returns:
        0; 1 if fewer than were asked for could be made.

    Raises:
        PlannerError: for a house that does not exist, numbers out of range, or variants that do
            not go together.
    """
    if args.count < 1 or args.seed < 0:
        raise PlannerError("expected --count from 1, --seed from 0")
    rows = list(_rows(args))
    splits = dict(_houses(args))
    critic = _critic(args.model, args.model_url)
    with closing(tools.make_world(args.world)) as world:
        houses = [HouseTasks(house, split, world, critic) for house, split in splits.values()]
        return _generate(args, rows, houses, critic)


def _generate(
    args: argparse.Namespace,
    rows: Sequence[Row],
    houses: Sequence[HouseTasks],
    critic: ModelCritic | None,
) -> int:
    asked = Asked(
        world=args.world,
        rows=tuple(str(row) for row in rows),
        variant=tuple(args.variant),
        count=args.count,
        seed=args.seed,
        model=args.model,
        houses={h.house.name: sha256(house_json(h.house).encode()).hexdigest() for h in houses},
    )
    partial = PartialTasks(args.output, asked)
    with partial.lines:
        made, rejected, without = _complete(partial, Order(houses, rows, args.count, args.seed))
        facts = {house.house.name: house.facts for house in houses}
        episodes = _kept(marked(made, facts), args.variant)
        used = {episode.house for episode in episodes}
        own = [h.house for h in houses if h.house.name in used and not _is_shipped(h.house)]
        write_set(args.output, episodes, own)
        write_records(args.records or _records(args.output), episodes, facts, _scenes(houses))
        partial.lines.remove()
    print(_table(made, rejected, rows))
    for line in without:
        print(line)
    _print_unknown(houses)
    for reason, number in critic.unworded.items() if critic is not None else ():
        print(f"{number} texts in this run: {reason}")
    print(f"wrote {len(episodes)} episodes to {args.output}")
    if len(made) < args.count:
        missing = args.count - len(made)
        print(f"error: {missing} could not be made in {LAPS} rounds", file=sys.stderr)
    return 0 if len(made) == args.count else 1


def _complete(partial: PartialTasks, order: Order) -> tuple[list[Episode], Counter[str], list[str]]:
    """The tasks, how many were rejected by the reason, and which houses lack what, in lines."""
    made: list[Episode] = []
    rejected: Counter[str] = Counter()
    without: dict[tuple[str, str], list[str]] = {}
    if partial.lines.numbers:
        found = f"{partial.tasks} of {order.count} tasks"
        print(f"going on: {found} are done in {partial.lines.path}", file=sys.stderr)
    progress = Progress(order.count, partial.tasks, sys.stderr, time.monotonic)
    try:
        for step, portion in generate(order, partial.known):
            partial.keep(step, portion)
            made += portion.episodes
            rejected.update(portion.rejected)
            for reason in portion.rejected.keys() & OF_HOUSE:
                without.setdefault((step.row.name, reason), []).append(step.house.house.name)
            progress.update(len(made), rejected.total())
    except KeyboardInterrupt:
        path = partial.lines.path
        print(f"\nstopped: {len(made)} of {order.count} tasks are done in {path}; "
              "the same command goes on", file=sys.stderr)  # fmt: skip
        raise
    progress.update(len(made), rejected.total(), last=True)
    lines = [f"{row}: {why}: {_some(names)}" for (row, why), names in without.items()]
    return made, rejected, lines


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    chosen = [Category(word) for word in args.category or () if word != ALL] or list(Category)
    mapped = Variant.LAYOUT_MAP in args.variant
    both = Variant.OPTIMAL_PATH in args.variant
    if mapped and args.prior not in (None, "FP"):
        raise PlannerError(f"--prior {args.prior}: with a layout map it is FP")
    if both and set(chosen) != {Category.TWO_OBJECTS}:
        raise PlannerError("--variant optimal_path is for --category two_objects only")
    if args.max_actions is not None and not 1 <= args.max_actions <= 1000:
        raise PlannerError(f"--max-actions {args.max_actions}: expected 1 to 1000")
    unknown = set(args.room) - default_catalogue().rooms.keys()
    if unknown:
        known = ", ".join(sorted(default_catalogue().rooms))
        raise PlannerError(f"--room {min(unknown)}: expected one of {known}")

    def row(category: Category, prior: str, arms: int) -> Row:
        return Row(
            category,
            prior,  # type: ignore[arg-type]
            arms,
            opening=Variant.ACTION_DEPENDENCY in args.variant,
            relations=tuple(args.relation),
            rooms=tuple(args.room),
            max_actions=args.max_actions,
        )

    for category in dict.fromkeys(chosen):
        yield row(category, "FP" if mapped else args.prior or "P", 2 if both else 1)
    if not args.category and not args.variant and args.prior is None:
        # The rows of the paper's table.
        yield row(Category.NAVIGATION, "FP", 1)
        yield row(Category.MANIPULATION, "FP", 1)
        yield row(Category.TWO_OBJECTS, "P", 2)


def _houses(args: argparse.Namespace) -> Iterator[tuple[str, tuple[House, str]]]:
    """(house, split of its episodes) by name."""
    if not args.house:
        for home in homes(HomeSplit(args.split)):
            yield home.name, (home.make(), _split(home.split))
    names = {home.name for home in homes()}
    for word in args.house:
        if word in names:
            home = home_named(word)
            yield word, (home.make(), _split(home.split))
        else:
            house = read_house(Path(word)) if Path(word).suffix else load_house(word)
            yield house.name, (house, "none")


def _split(split: HomeSplit) -> str:
    return "none" if split is HomeSplit.SPARE else str(split)


def _is_shipped(house: House) -> bool:
    from planner.houses.generator import shipped_houses

    return house.name in {path.stem for path in shipped_houses()}


def _critic(model: str, url: str) -> ModelCritic | None:
    if not model:
        return None
    from planner.models.model_choice import ModelChoice, open_model

    return ModelCritic(open_model(ModelChoice(model, url)))


def _kept(episodes: Sequence[Episode], variants: Sequence[str]) -> list[Episode]:
    """Those that occlusion leaves, where it is asked for."""
    asked = set(variants) & set(map(str, _OCCLUSION))
    return [
        episode
        for episode in episodes
        if episode.criteria is not None and asked <= set(episode.criteria.variants)
    ]


def _records(output: Path) -> Path:
    return output.with_name(output.name.removesuffix(SUFFIX) + ".records.jsonl")


def _scenes(houses: Sequence[HouseTasks]) -> dict[str, int]:
    numbers = {home.name: home.number for home in homes()}
    return {
        house.house.name: numbers.get(house.house.name, _OTHER_SCENES + index)
        for index, house in enumerate(houses)
    }


def _print_unknown(houses: Sequence[HouseTasks]) -> None:
    """Says what the catalogue does not know, and so nobody is asked to put anywhere."""
    for house in houses:
        unknown = sorted({e.class_name for e in house.facts.entities.values() if not e.known})
        if unknown:
            number = "1 class is" if len(unknown) == 1 else f"{len(unknown)} classes are"
            text = f"{number} not in the catalogue and only looked for"
            print(f"{house.house.name}: {text}: {_some(unknown)}")


def _table(made: Sequence[Episode], rejected: Counter[str], rows: Sequence[Row]) -> str:
    total = len(made) + rejected.total()
    per_row = Counter(episode.episode_id.removeprefix(f"{episode.house}-") for episode in made)
    names = Counter(name.rpartition("-")[0] for name in per_row.elements())
    lines = [("proposed", total), *rejected.most_common(), ("taken", len(made))]
    lines += [(f"  {row.name}", names[row.name]) for row in rows]
    width = max(len(name) for name, _ in lines)
    return "\n".join(
        f"{name:<{width}}  {number:>6}  {100 * number / max(1, total):5.1f} %"
        for name, number in lines
    )


GENERATOR = GeneratorPart(
    summary="ET-Plan-Bench's tasks, with plans that were carried out",
    add_arguments=_add_arguments,
    run=_run,
)
