"""The table of docs/evaluation.md: shipped episodes judged otherwise by strict and partnr_v0.

Each row is computed: the things of the episode are put where its goal wants them, one after the
other; with its ties kept, with its ties broken, or with one thing fewer than asked.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode
from planner.evaluation.task import Predicate, TieKind, in_order
from planner.world.episode import read_episode
from planner.world.geometry import Pose
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

PAGE = Path(__file__).resolve().parents[3] / "docs" / "evaluation.md"
EPISODES = sorted(p for p in (config_dir() / "episodes").glob("*/*.json"))
APART_M = 0.12
HOWS = KEPT, BROKEN, SHORT = "as asked", "tie broken", "one thing short"


class Hand:
    """Puts things where propositions want them."""

    def __init__(self, name: Path) -> None:
        self.episode = read_episode(name)
        self.house = load_house(self.episode.house)
        backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
        backend.reset(self.house, self.episode, 0)
        self.states = [backend.world_state()]
        self.evaluation = read_evaluation(self.episode.evaluation, name)
        self.places: dict[str, int] = {}
        self.at: dict[str, str] = {}

    def show(self, how: str):
        order = in_order(len(self.evaluation.propositions), self.evaluation.edges)
        for index in order:
            self.satisfy(index, how)
        return self.states

    def satisfy(self, index: int, how: str) -> None:
        proposition = self.evaluation.propositions[index]
        fewer = 1 if how == SHORT and proposition.number > 1 else 0
        for name in proposition.lists[0][: proposition.number - fewer]:
            if proposition.predicate in default_states().predicates:
                state, value = default_states().predicates[proposition.predicate]
                old = self.states[-1].entities[name]
                self.change(name, states={**(old.states or {}), state: value})
            elif proposition.predicate in (Predicate.IS_ON_TOP, Predicate.IS_INSIDE):
                choice = self.choose(index, how)
                if self.at.get(name) != choice:
                    self.at[name] = choice
                    self.change(name, pose=self.spot(choice, proposition.predicate))
            elif proposition.predicate is Predicate.IS_IN_ROOM:
                room = self.choose(index, how)
                polygon = next(r for r in self.house.rooms if r.name == room).polygon_m
                x = (min(p[0] for p in polygon) + max(p[0] for p in polygon)) / 2
                y = (min(p[1] for p in polygon) + max(p[1] for p in polygon)) / 2
                self.change(name, pose=Pose.planar(x + self.slot(room), y))

    def choose(self, index: int, how: str) -> str:
        """Which of the second list: by the tie that has it, kept or broken."""
        options = self.evaluation.propositions[index].lists[1]
        for tie in self.evaluation.ties:
            members = [i for i, argument in tie.members if argument == 1]
            if index in members:
                apart = (tie.kind is TieKind.DIFFERENT) == (how != BROKEN)
                return options[members.index(index) % len(options) if apart else 0]
        return options[0]

    def spot(self, piece_name: str, predicate: Predicate) -> Pose:
        piece = self.house.furniture_by_name[piece_name]
        parts = piece.surfaces if predicate is Predicate.IS_ON_TOP else piece.interiors
        middle = max(parts, key=lambda p: p.center[2]).center
        where = self.slot(piece_name)
        x, y, _ = piece.pose.apply((middle[0], middle[1] + where, 0.0))
        return Pose.planar(x, y, 0.0, middle[2])

    def slot(self, name: str) -> float:
        count = self.places[name] = self.places.get(name, -1) + 1
        return APART_M * ((count + 1) // 2) * (-1) ** count

    def change(self, name: str, **changes) -> None:
        last = self.states[-1]
        entity = replace(last.entities[name], **changes)
        self.states.append(
            replace(last, step=last.step + 10, entities={**last.entities, name: entity})
        )


def verdict(hand: Hand, mode: Mode):
    judge = Evaluator(hand.evaluation, hand.house, hand.states[0], mode)
    for state in hand.states[1:]:
        judge.update(state)
    return judge.finish()


def cell(found) -> str:
    counted = sum(p.satisfied for p in found.propositions)
    word = "success" if found.success else "failure"
    return f"{word}, {counted}/{len(found.propositions)}"


def _is_beyond_the_hand(path: Path, evaluation) -> bool:
    """Whether something goes into or onto a thing, or into slices that are not cut yet."""
    at_first = Hand(path).states[0].entities
    placed = (Predicate.IS_ON_TOP, Predicate.IS_INSIDE)
    return any(
        not at_first.keys() >= {*p.lists[0]}
        or (
            p.predicate in placed and any(at_first[n].kind is EntityKind.OBJECT for n in p.lists[1])
        )
        for p in evaluation.propositions
    )


def rows():
    for path in EPISODES:
        evaluation = read_evaluation(read_episode(path).evaluation, path)
        several = any(p.number > 1 for p in evaluation.propositions)
        hows = [KEPT, *([BROKEN] if evaluation.ties else []), *([SHORT] if several else [])]
        if len(hows) == 1 or _is_beyond_the_hand(path, evaluation):
            continue
        for how in hows:
            hand = Hand(path)
            hand.show(how)
            strict, published = verdict(hand, Mode.STRICT), verdict(hand, Mode.PUBLISHED)
            yield path.stem, how, strict, published


def table(found) -> list[str]:
    return [
        f"| {name} | {how} | {cell(strict)} | {cell(published)} | {why(how, strict, published)} |"
        for name, how, strict, published in found
        if (strict.success, strict.percent_complete)
        != (published.success, published.percent_complete)
    ]


def why(how: str, strict, published) -> str:
    reasons = {str(p.reason) for p in (*strict.propositions, *published.propositions) if p.reason}
    if "arg_not_different" in reasons:
        return "DEFECT-D1: names that share letters count as the same"
    if "arg_not_same" in reasons:
        return "DEFECT-D1: different names share letters, so they count as the same"
    return "DEFECT-D2: a proposition with `number` is unrolled into several that each count"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return list(rows())


def test_what_is_done_as_asked_is_a_success_by_the_paper(found) -> None:
    kept = [(name, strict.explanation) for name, how, strict, _ in found if how == KEPT]
    assert len(kept) > 15
    assert [entry for entry in kept if entry[1]] == []


def test_the_documented_table_is_what_the_judge_says(found) -> None:
    text = PAGE.read_text(encoding="utf-8")
    lines = table(found)
    documented = [line for line in text.splitlines() if any(f"| {how} |" in line for how in HOWS)]
    assert documented == lines, "the table of docs/evaluation.md should be:\n" + "\n".join(lines)
