"""Plain English carried out by planner `words`, or another: how much is done and right.

Sentences are drawn by seed from annotated instructions that ask for something, each with the first
shipped house in which its things can be put, and have room where they shall be. Done and right: it
was read as annotated, and the true world is as understood in the end. A question is answered by its
first alternative.

With --meant, and for other planners than `words`, which tell no goal, the true world is judged by
the annotated goal instead, its descriptions bound to what is truly there: one measure for all.

With --ros each sentence is a `planner demo` of its own, as fast as it goes, with live verdict and
the bag's; the answers are those of the same sentence in one process.

Repeat with: python benchmarks/bench_free_text.py [FILE ...] [--count N] [--seed N] [--only WORDS]
    [--planner NAME] [--meant] [--show] [--ros]
"""

from __future__ import annotations

import argparse
import itertools
import math
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from machine import print_table
from pydantic import JsonValue

import planner
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Evaluation, Predicate
from planner.grounding.grounder import Binder
from planner.grounding.scene import scene_of_state
from planner.houses.clutter import ObjectRequest, place_objects
from planner.language.equivalence import Grade, grade
from planner.language.goal_form import Description, Goal, Move, NounPhrase, Place
from planner.language.interpretation import interpret
from planner.language.lexicon import Amount
from planner.language.lexicon import Relation as Word
from planner.language.reading import AnnotatedInstruction, read_instructions
from planner.world.catalogue import default_catalogue, default_word_meanings
from planner.world.geometry import Vec3
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.receptacle import known_shape
from planner.world.state import WorldState
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options
from sim_bridge.opening import Opened, bare_episode

WORDS = "words"
# The `evaluation` of an episode's file.
Goals = dict[str, JsonValue]
KNOWN = Path(__file__).parents[1] / "test" / "data" / "everyday" / "known.yaml"
HOUSES = (*(f"train_{n}" for n in range(8)), *(f"heldout_{n}" for n in range(5)))
COUNTS = {"all": 2, "some": 2, "few": 3}
CLUTTER = 15
DEMO_TIMEOUT_S = 600.0
# What cutting, boiling, pouring, dusting, toasting and making coffee take.
TOOLS = (
    ObjectRequest(("tea_towel",)),
    ObjectRequest(("toaster",)),
    ObjectRequest(("coffee_machine",)),
    ObjectRequest(("pot",)),
    ObjectRequest(("knife",)),
    ObjectRequest(("kettle",), states={"filled": True, "filled_with_water": True}),
    # Nothing can be poured from cartons.
    ObjectRequest(("jug",), states={"filled": True, "filled_with_milk": True}),
    ObjectRequest(("bottle",), states={"filled": True, "filled_with_juice": True}),
)


@dataclass(frozen=True)
class Trial:
    """How one sentence ended."""

    text: str
    house: str
    read: bool
    asked: int
    success: bool
    end: str

    @property
    def right(self) -> bool:
        return self.read and self.success


def furniture_at(place: Place, house: House) -> tuple[str, ...]:
    """The furniture or floors that a place may mean; empty if the house has none."""
    anchor = place.anchor
    if not isinstance(anchor, Description):
        return ()
    meant = default_word_meanings().find(anchor.kind)
    if meant is None:
        return ()
    rooms = {room.name for room in house.rooms if room.class_name in meant.rooms}
    pieces = [p for p in house.furniture if p.class_name in meant.furniture or p.room in rooms]
    for inner in anchor.where:
        allowed = set(furniture_at(inner, house))
        pieces = [p for p in pieces if p.name in allowed]
    if anchor.kind == "floor":
        return tuple(floor_name(room.name) for room in house.rooms)
    usable = [p.name for p in pieces if (p.interiors if place.relation is Word.IN else p.surfaces)]
    return tuple(usable or [p.name for p in pieces if p.surfaces])


def things_of(goal: Goal, house: House) -> Iterator[tuple[Description, ObjectRequest]]:
    """What a goal's descriptions name, a request for each thing."""
    each = for_each(goal, house)
    several: set[str] = set()
    for phrase in goal.phrases():
        if not isinstance(phrase, Description):
            continue
        if phrase.definite and phrase.pick is not None and phrase.kind in several:
            # "Both bowls ... the bigger one": one of these.
            continue
        if phrase.count != 1:
            several.add(phrase.kind)
        meant = default_word_meanings().find(phrase.kind)
        classes = tuple(sorted(meant.objects)) if meant is not None else ()
        named = phrase.kind.replace(" ", "_") in classes
        if meant is None or not classes or ((meant.furniture or meant.rooms) and not named):
            continue
        classes = (phrase.kind.replace(" ", "_"),) if named else classes
        states = dict(default_states().by_word()[w] for w in phrase.states if w in BY_WORD)
        where = next(iter(phrase.where), None)
        at = furniture_at(where, house) if where is not None else ()
        inside = where is not None and where.relation is Word.IN and _hollow(at, house)
        relation = Relation.WITHIN if inside else Relation.ON
        count = phrase.count if isinstance(phrase.count, int) else COUNTS[phrase.count]
        for _ in range(count * each.get(phrase, 1)):
            yield phrase, ObjectRequest(classes[:1], relation, at, states)


def every_class(goal: Goal) -> set[str]:
    """Classes of which every thing is meant, so that the house gets only those with room."""
    kinds = (
        p.kind for p in goal.phrases() if isinstance(p, Description) and isinstance(p.count, Amount)
    )
    found = (default_word_meanings().find(kind) for kind in kinds)
    return {name for meaning in found if meaning is not None for name in meaning.objects}


def for_each(goal: Goal, house: House) -> dict[NounPhrase, int]:
    """Of how many places each one gets such a thing: "a plate on each table"."""
    found: dict[NounPhrase, int] = {}
    for request in goal.requests:
        for place in request.to if isinstance(request, Move) else ():
            anchor = place.anchor
            if not isinstance(anchor, Description) or anchor.count is not Amount.ALL:
                continue
            count = len(furniture_at(place, house)) or COUNTS[anchor.count]
            found |= {
                phrase: count
                for phrase in request.things
                if isinstance(phrase, Description) and phrase.count is not Amount.ALL
            }
    return found


BY_WORD = default_states().by_word()


def _hollow(names: Sequence[str], house: House) -> bool:
    pieces = [house.furniture_by_name[name] for name in names if name in house.furniture_by_name]
    return bool(pieces) and all(piece.interiors for piece in pieces)


def furnished(goal: Goal, house: House, rng: np.random.Generator) -> House | None:
    """The house with the goal's things and others; None if they cannot be put there."""
    wanted = list(things_of(goal, house))
    placed = place_objects(house, [request for _, request in wanted], rng)
    things: list[ObjectPlacement] = []
    for (phrase, _), item in zip(wanted, placed, strict=True):
        if not isinstance(item, ObjectPlacement):
            return None
        looks = {"color": phrase.color, "material": phrase.material}
        given = {name: str(word) for name, word in looks.items() if word is not None}
        things.append(ObjectPlacement.model_validate({**item.model_dump(), **given}))
    meant = {item.class_name for item in things} | every_class(goal)
    tools = [tool for tool in TOOLS if not {*tool.classes} & meant]
    extra = place_objects(house, tools, rng, things)
    things += [item for item in extra if isinstance(item, ObjectPlacement)]
    unfit = meant | {cls for tool in TOOLS for cls in tool.classes}
    others = [cls for cls in default_catalogue().objects if cls not in unfit]
    drawn = [ObjectRequest((str(cls),)) for cls in rng.choice(others, CLUTTER)]
    clutter = [
        item
        for item in place_objects(house, drawn, rng, things)
        if isinstance(item, ObjectPlacement)
    ]
    return house.model_copy(update={"objects": (*things, *clutter)})


def meant_by(goal: Goal, house: House) -> Goals | None:
    """What a goal means there; None if something is missing, nothing to be done, or no room."""
    backend = EmbeddedBackend(default_options().model_copy(update={"renderer": "none"}))
    try:
        backend.reset(house, bare_episode(house, 2), 1)
        state = backend.world_state()
        assert state is not None
        found = Binder(goal, settle=True).update(scene_of_state(state, house))
    finally:
        backend.close()
    if found.evaluation is None or any(part.fails for part in found.unbound):
        return None
    meant = dict(found.evaluation)
    return meant if has_room(read_evaluation(meant, "the goal"), state, house) else None


def has_room(evaluation: Evaluation, state: WorldState, house: House) -> bool:
    """Whether nothing is asked to be in or on what is too small for it, or for it and another."""
    together: dict[tuple[Relation, tuple[str, ...]], set[str]] = {}
    for wanted in evaluation.propositions:
        relation = RELATIONS.get(wanted.predicate)
        if relation is None:
            continue
        listed, holders = wanted.lists
        things = [name for name in listed if name in state.entities]
        for name in things:
            size_m = state.entities[name].size_m
            if not any(
                stands(size_m, s) for h in holders for s in spaces(h, relation, state, house)
            ):
                return False
        if len(things) == wanted.number:
            together.setdefault((relation, tuple(holders)), set()).update(things)
    return all(
        pack(
            [state.entities[name].size_m for name in names],
            [space for holder in holders for space in spaces(holder, relation, state, house)],
        )
        for (relation, holders), names in together.items()
    )


def spaces(name: str, relation: Relation, state: WorldState, house: House) -> list[Vec3]:
    """Depth, width and height of each surface (on) or hollow (within) of furniture or a thing."""
    piece = house.furniture_by_name.get(name)
    if piece is not None and relation is Relation.ON:
        return [(*surface.size, surface.clearance) for surface in piece.surfaces]
    if piece is not None:
        return [hollow.size for hollow in piece.interiors]
    entity = state.entities.get(name)
    if entity is None:
        return []
    shape = known_shape(entity.class_name, entity.size_m)
    if relation is Relation.ON:
        return [] if shape.top is None else [(*shape.top.size, math.inf)]
    # What is in an open hollow may stick out.
    return [] if shape.hollow is None else [(*shape.hollow.size[:2], math.inf)]


def stands(size_m: Vec3, space: Vec3) -> bool:
    """Whether a thing fits into a space, turned or not."""
    (short, long), (narrow, wide) = sorted(size_m[:2]), sorted(space[:2])
    return short <= narrow and long <= wide and size_m[2] <= space[2]


def pack(sizes: Sequence[Vec3], places: Sequence[Vec3]) -> bool:
    """Whether things may fit side by side: by area, and those two in one space that have to."""
    if sum(w * d for w, d, _ in sizes) > sum(w * d for w, d, _ in places):
        return False
    if len(sizes) <= len(places):
        return True
    sides = [side for place in places for side in place[:2]]
    pairs = itertools.combinations(sizes, 2)
    fit = (any(min(a[:2]) + min(b[:2]) <= side for side in sides) for a, b in pairs)
    return all(fit) if len(places) == 1 else any(fit)


RELATIONS = {Predicate.IS_ON_TOP: Relation.ON, Predicate.IS_INSIDE: Relation.WITHIN}


def placed(entry: AnnotatedInstruction, rng: np.random.Generator) -> tuple[House, Goals] | None:
    """The first house, in drawn order, in which an instruction can be carried out, and its goal."""
    if entry.goal is None:
        return None
    for name in rng.permutation(HOUSES):
        house = furnished(entry.goal, load_house(str(name)), rng)
        meant = meant_by(entry.goal, house) if house is not None else None
        if house is not None and meant is not None:
            return house, meant
    return None


def own_rng(text: str, seed: int) -> np.random.Generator:
    """A sentence's own randomness, so that it gets the same house among any others."""
    return np.random.default_rng([seed, zlib.crc32(text.encode())])


def first_alternative(question: str) -> str | None:
    """The answer of somebody who does not mind; None to a question without alternatives."""
    if " or " not in question:
        return None
    return question.partition(": ")[2].rstrip("?").split(", ")[0].split(" or ")[0]


def over_ros(
    text: str, house: House, answers: Sequence[str], planner_name: str
) -> tuple[bool, str]:
    """Whether live verdict and bag say success, and the last line of `planner demo`."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / f"{house.name}.json"
        home.write_text(house.model_dump_json(by_alias=True), encoding="utf-8")
        words = [text, "--house", str(home), "--fast", "--no-pictures"]
        words += ["--planner", planner_name]
        words += ["-o", f"{folder}/run"]
        given = [word for answer in answers for word in ("--answer", answer)]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "planner.cli", "demo", *words, *given],
                capture_output=True,
                text=True,
                timeout=DEMO_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False, f"still at work after {DEMO_TIMEOUT_S:.0f} s"
    last = (done.stdout + done.stderr).strip().splitlines()[-1]
    return done.returncode == 0, last


def tried(
    entry: AnnotatedInstruction, house: House, meant: Goals | None, args: argparse.Namespace
) -> Trial:
    """Carries out one sentence; `meant` is the goal that it is judged by, None = as understood."""
    asked: list[str] = []

    async def ask(question: str) -> str | None:
        asked.append(question)
        return first_alternative(question)

    task = bare_episode(house, 2)
    given = entry.text
    if meant is not None:
        named = {"episode_id": "free_text", "instruction": entry.text, "evaluation": meant}
        task, given = task.model_copy(update=named), ""
    opened = Opened(house, task, args.seed)
    run = planner.run(opened, instruction=given, planner=args.planner, seed=args.seed, ask=ask)
    read = meant is not None or grade(entry.reading, interpret(entry.text)) is Grade.RIGHT
    outcome = run.result.outcome
    end = f"{outcome.code.name}: {outcome.text} | {run.verdict.explanation} | {asked}"
    success = run.verdict.success
    if args.ros:
        answers = [first_alternative(question) or "" for question in asked]
        success, end = over_ros(entry.text, house, answers, args.planner)
    return Trial(entry.text, house.name, read, len(asked), success, end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=[KNOWN])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planner", default=WORDS, help="another tells no goal: as with --meant")
    parser.add_argument("--meant", action="store_true", help="judge by the annotated goal")
    parser.add_argument("--ros", action="store_true", help="over ROS, about a minute each")
    parser.add_argument("--show", action="store_true", help="print what was not done right")
    parser.add_argument("--only", metavar="WORDS", help="only instructions that have these words")
    args = parser.parse_args()
    if args.ros and (args.meant or args.planner != WORDS):
        parser.error("--ros judges by what was understood, which only words tells")
    rng = np.random.default_rng(args.seed)
    entries = [e for path in args.files for e in read_instructions(path) if e.goal is not None]
    if args.only is not None:
        entries = [entry for entry in entries if args.only in entry.text]
    trials: list[Trial] = []
    unplaced = 0
    for index in rng.permutation(len(entries)):
        if len(trials) == args.count:
            break
        entry = entries[index]
        place = placed(entry, own_rng(entry.text, args.seed))
        if place is None:
            unplaced += 1
            continue
        house, meant = place
        by_meaning = args.meant or args.planner != WORDS
        trial = tried(entry, house, meant if by_meaning else None, args)
        trials.append(trial)
        if args.ros:
            print(f"{'right' if trial.right else 'missed'}  {trial.text}", flush=True)
        if args.show and not trial.right:
            print(f"- {trial.text}\n    {trial.house}, read {trial.read}: {trial.end}", flush=True)
    without = sum(t.right and not t.asked for t in trials)
    right = sum(t.right for t in trials)
    shares = [f"{n} ({n / max(1, len(trials)):.2f})" for n in (without, right)]
    rows = [
        ("sentences", str(len(trials)), f"no house for {unplaced} others"),
        ("done and right without a question", shares[0], "0.7"),
        ("done and right with answers", shares[1], "0.85"),
    ]
    judged = "by the annotated goal" if args.meant or args.planner != WORDS else "as understood"
    where = "over ROS" if args.ros else "in process"
    print_table(f"free text {where}, {args.planner}, judged {judged}", rows)


if __name__ == "__main__":
    main()
