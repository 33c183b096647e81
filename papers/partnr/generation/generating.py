"""`planner episodes generate partnr`: propose, place, read, lint, solve; what fails is counted."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Literal, Protocol

from pydantic import Field, JsonValue

from papers.partnr.generation.proposals import propose
from papers.partnr.generation.things import NoProposalError, TaskType
from planner.command_line import add_model_flags
from planner.episodes.arguments import Solve, add_solver_flags
from planner.episodes.episode_file import write_episode, write_set
from planner.episodes.generator import ALL, GeneratorPart, GeneratorTools, add_output
from planner.episodes.lint.linting import Linter
from planner.episodes.partial_file import Numbered, PartialLines, Progress
from planner.episodes.recipes.build import RecipeError, UnattainableError, build, shipped_episodes
from planner.episodes.start_state import start_entities
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Evaluation, Predicate, Proposition
from planner.grounding.grounder import Binder
from planner.grounding.records import Why
from planner.grounding.scene import Scene, scene_of_state
from planner.houses.generator import generate_house, shipped_houses
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask
from planner.models.model_choice import ModelChoice, open_model
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode, read_episode
from planner.world.errors import PlannerError
from planner.world.files import FileModel
from planner.world.house import House, house_json, write_house
from planner.world.house_checks import load_house
from planner.world.state import WorldState

# Whether an instruction, read in its house, asks for what its episode judges.

_Meaning = tuple[str, tuple[frozenset[str], ...], int]


def misreading(episode: Episode, house: House) -> str:
    """Why a reader of the instruction would not do what the evaluation wants; "" if they would."""
    found = _grounded(episode, house)
    if isinstance(found, str):
        return found
    asked = read_evaluation(found, Path(episode.episode_id))
    judged = read_evaluation(episode.evaluation, Path(episode.episode_id))
    return "" if meaning(asked) == meaning(judged) else "understood otherwise"


def understood(episode: Episode, house: House) -> dict[str, JsonValue] | None:
    """What the instruction asks for at an episode's start; None if it is not wholly clear."""
    found = _grounded(episode, house)
    return None if isinstance(found, str) else found


def _grounded(episode: Episode, house: House) -> dict[str, JsonValue] | str:
    """The evaluation that the instruction means, or why there is none."""
    reading = interpret(episode.instruction)
    if not isinstance(reading, Goal):
        return "asked about" if isinstance(reading, Ask) else "not understood"
    found = Binder(reading).update(start_scene(episode, house))
    if found.questions:
        return "ambiguous in the house"
    # What the speaker does is nobody's duty.
    unbound = [item for item in found.unbound if item.why is not Why.SPEAKER]
    if found.evaluation is None or found.missing or unbound or found.criteria is not None:
        return "meaningless in the house"
    return dict(found.evaluation)


def start_scene(episode: Episode, house: House) -> Scene:
    """An episode's true start, as descriptions are bound to it."""
    entities = start_entities(episode, house, default_catalogue())
    return scene_of_state(WorldState(0.0, 0, 0, house.name, episode.episode_id, entities), house)


def meaning(evaluation: Evaluation) -> tuple[object, ...]:
    """What an evaluation asks for, whatever the order of its propositions.

    Gates and terminal propositions follow from the rest (PARTNR-D34) and are left out.
    """
    said = [_meaning(item) for item in evaluation.propositions]
    ties = {(tie.kind, _counted((said[i], k) for i, k in tie.members)) for tie in evaluation.ties}
    same = {said[i] for i, item in enumerate(evaluation.propositions) if item.is_same}
    edges = {(said[i], said[j]) for i, j in evaluation.edges}
    return _counted(said), ties, same, edges


def _meaning(item: Proposition) -> _Meaning:
    lists = tuple(frozenset(names) for names in item.lists)
    if item.predicate is Predicate.IS_NEXT_TO and item.number == 1:
        lists = tuple(sorted(lists, key=sorted))
    return item.predicate, lists, item.number


def _counted(items: Iterable[object]) -> frozenset[tuple[object, int]]:
    found = list(items)
    return frozenset((item, found.count(item)) for item in found)


# The interface of what proposes candidates, and the candidates of the recipe grammar.


class RejectedError(PlannerError):
    """A candidate that did not pass, and why in a few words."""


class Candidates(Protocol):
    """A source of episodes that are placed and have an evaluation, but are not yet checked."""

    def next(self, house: House, kind: TaskType, name: str, seed: int) -> Episode:
        """One candidate; equal arguments give equal candidates where the source can do that.

        Raises:
            RejectedError: if this attempt gave none.
        """


class GrammarCandidates:
    """Candidates of the recipe grammar, whose instructions a reader must understand as meant."""

    def next(self, house: House, kind: TaskType, name: str, seed: int) -> Episode:
        """See `Candidates`."""
        try:
            episode = build(propose(house, kind, name, seed), house).episode
        except NoProposalError:
            raise RejectedError("the house lacks what was drawn") from None
        except UnattainableError:
            raise RejectedError("no room for the goal") from None
        except RecipeError:
            raise RejectedError("no room for the start") from None
        if reason := misreading(episode, house):
            raise RejectedError(reason)
        return episode


# What an interrupted run leaves to go on from.


class Asked(FileModel):
    """The first line: the arguments that decide what the episodes are.

    Attributes:
        house, type, count, seed, split, solve, backend, model: as in the command.
        houses: SHA-256 of each house's file by name, in the order of use.
    """

    version: Literal[1] = 1
    house: tuple[str, ...]
    type: tuple[TaskType, ...]
    count: int = Field(ge=1)
    seed: int = Field(ge=0)
    split: Literal["train", "val", "test"] | None
    solve: bool
    backend: str = ""
    model: str
    houses: dict[str, str]


class Done(Numbered):
    """An episode, or None where no attempt had success."""

    episode: Episode | None


class PartialFile(PartialLines[Asked, Done]):
    """The partial file of PARTNR's episodes."""

    def __init__(self, output: Path, asked: Asked) -> None:
        super().__init__(output, asked, Done, asked.count)

    @property
    def episodes(self) -> list[Episode]:
        """The episodes so far, by number."""
        return [done.episode for done in self.done if done.episode is not None]


# Of one episode; a house that is too small for a type fails every time.
MAX_ATTEMPTS = 60

Split = Literal["train", "val", "test", "none"]


@dataclass(frozen=True, slots=True)
class Order:
    """What to generate.

    Attributes:
        houses: used in turn.
        kinds: used in turn.
        count: of episodes.
        seed: of everything.
        split: of the episodes; None: that of each house.
        solve: runs a planner on an episode's file and returns why it failed, or ""; None: none is
            run. It must be a function of a module if there are several processes.
        candidates: where they come from.
    """

    houses: Sequence[House]
    kinds: Sequence[TaskType]
    count: int
    seed: int
    split: Split | None = None
    solve: Solve | None = None
    candidates: Candidates = field(default_factory=GrammarCandidates)


@dataclass
class Made:
    """One episode, or None where nothing passed, and how often what was the reason to reject."""

    number: int
    episode: Episode | None
    rejected: Counter[str] = field(default_factory=Counter)


def generate(order: Order, jobs: int = 1, done: Container[int] = ()) -> Iterator[Made]:
    """Generates episodes one by one; equal orders give equal episodes, with any number of jobs.

    Each depends on the order and its own number only, and they come house by house, so that the
    geometry of a house is computed once in a process.

    Args:
        order: what to generate.
        jobs: number of processes.
        done: numbers of episodes, from 0, that are left out.

    Raises:
        PlannerError: if a folder for the candidates cannot be made, or a process dies.
    """
    total = len(order.houses)
    numbers = [k for first in range(total) for k in range(first, order.count, total)]
    numbers = [number for number in numbers if number not in done]
    with tempfile.TemporaryDirectory() as name:
        if jobs == 1:
            yield from map(_Makers(order, Path(name)).made, numbers)
            return
        processes = ProcessPoolExecutor(
            jobs, initializer=_begin_worker, initargs=(order, Path(name))
        )
        try:
            yield from processes.map(_made_in_worker, numbers)
        except BrokenProcessPool:
            raise PlannerError("a process died; the same command goes on") from None
        finally:
            processes.shutdown(cancel_futures=True)


class _Makers:
    """The maker of whichever house is in use."""

    def __init__(self, order: Order, folder: Path) -> None:
        self._order = order
        self._folder = folder
        self._current: tuple[int, _Maker] | None = None

    def made(self, number: int) -> Made:
        index = number % len(self._order.houses)
        if self._current is None or self._current[0] != index:
            self._current = index, self._maker(self._order.houses[index])
        return self._current[1].made(number)

    def _maker(self, house: House) -> _Maker:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        (folder / "houses").mkdir()
        write_house(house, folder / "houses" / f"{house.name}.json")
        return _Maker(self._order, house, folder)


# In a process of the pool: its only entry.
_in_worker: list[_Makers] = []


def _begin_worker(order: Order, folder: Path) -> None:
    # The parent ends the pool after Ctrl-C, and its end is noticed where it is killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _in_worker.append(_Makers(order, folder))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _made_in_worker(number: int) -> Made:
    (makers,) = _in_worker
    return makers.made(number)


class _Maker:
    """Makes the episodes of one house."""

    def __init__(self, order: Order, house: House, folder: Path) -> None:
        self._order = order
        self._house = house
        self._folder = folder
        self._linter = Linter()

    def made(self, number: int) -> Made:
        """The episode of a number: the first attempt that passes everything."""
        order = self._order
        turn = sum(divmod(number, len(order.houses)))
        kind = order.kinds[turn % len(order.kinds)]
        name = f"{kind}_{order.seed}_{number}"
        result = Made(number, None)
        for attempt in range(MAX_ATTEMPTS):
            seed = _seed(order.seed, number, attempt)
            try:
                episode = order.candidates.next(self._house, kind, name, seed)
                result.episode = self._passed(episode)
            except RejectedError as rejected:
                result.rejected[str(rejected)] += 1
            else:
                break
        return result

    def _passed(self, episode: Episode) -> Episode:
        """The episode, in the split that was asked for.

        Raises:
            RejectedError: with the reason.
        """
        if self._order.split is not None:
            episode = episode.model_copy(update={"split": self._order.split})
        path = write_episode(episode, self._folder)
        report = self._linter.lint(path)
        if report.findings:
            raise RejectedError(f"lint: {report.findings[0].rule}")
        if self._order.solve is not None and self._order.solve(path):
            raise RejectedError("not solved by the expert")
        path.unlink()
        return episode


def _seed(seed: int, number: int, attempt: int) -> int:
    text = f"{seed}/{number}/{attempt}"
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1


# The command: new tasks for houses, as files or as one pack.

_NEW = "new:"
_MAX_NEW = 100


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "--house",
        action="append",
        required=True,
        metavar="HOUSE",
        help="a house's name or file, train or heldout for those, new:N to make N (repeatable)",
    )
    parser.add_argument(
        "--type", action="append", choices=(*TaskType, ALL), help="repeatable (default: all)"
    )
    parser.add_argument("--count", type=int, default=10, metavar="N", help="default 10")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    parser.add_argument("--split", choices=("train", "val", "test"), help="default: the house's")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    parser.add_argument(
        "--solve", action="store_true", help="keep only what the planner expert solves"
    )
    add_solver_flags(parser)
    add_output(parser)
    add_model_flags(parser, "let a chat model propose, such as scripted:FILE or a server's")


def _run(args: argparse.Namespace, tools: GeneratorTools) -> int:
    """Generates and prints what was rejected.

    Returns:
        0; 1 if fewer than were asked for could be made.

    Raises:
        PlannerError: for a house that does not exist, or numbers out of range.
    """
    if args.count < 1 or args.jobs < 1 or args.seed < 0:
        raise PlannerError("expected --count and --jobs from 1, --seed from 0")
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
        tools.solve if args.solve else None,
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
    from papers.partnr.generation.model_candidates import ModelCandidates

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


GENERATOR = GeneratorPart(
    summary="PARTNR's four types, by a grammar or a chat model",
    add_arguments=_add_arguments,
    run=_run,
)
