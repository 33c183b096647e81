"""`expert` gets another goal while it works, and looks for things that no goal names yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planning_toys import THINGS, Outcome, ToyWorld, play, prop, task_of

from planner.planning.expert.expert import Expert
from planner.planning.expert.facts import Goal, read_goal
from planner.planning.expert.search import Sought
from planner.planning.planner import AgentResult, Context, Decision
from planner.world.vocabulary import Relation

Make = Callable[..., ToyWorld]
NOTHING = Goal((), {}, (), (), frozenset())
Rule = Callable[[Context], tuple[Goal, Mapping[str, Sought]]]


def goal_of(*propositions: Any) -> Goal:
    return read_goal({"propositions": list(propositions), "dependencies": [], "constraints": []})


class Following:
    """`expert` with a goal that depends on what is known."""

    name = "expert"

    def __init__(self, expert: Expert, rule: Rule) -> None:
        self.expert, self._rule = expert, rule

    def observe(self, results: Sequence[AgentResult]) -> None:
        self.expert.observe(tuple(results))

    async def decide(self, context: Context) -> Decision:
        self.expert.pursue(*self._rule(context))
        return await self.expert.decide(context)


def follow(world: ToyWorld, rule: Rule) -> tuple[Outcome, Expert]:
    task = task_of(world, {})
    expert = Expert(task.__class__(task.instruction, task.agents))
    return play(Following(expert, rule), world, task), expert


def test_looks_for_a_wanted_class_and_then_works_with_what_was_found(toy_world: Make) -> None:
    world = toy_world("book_0", things=THINGS)

    def rule(context: Context) -> tuple[Goal, Mapping[str, Sought]]:
        if "book_0" in context.belief.nodes:
            return goal_of(prop("is_on_top", ["book_0"], ["table_0"])), {}
        return NOTHING, {"book_?0": Sought("a book")}

    outcome, _ = follow(world, rule)
    assert outcome.done
    assert world.things["book_0"] == (Relation.ON, "table_0")


def test_looks_only_where_a_wanted_thing_may_be_and_then_ends(toy_world: Make) -> None:
    outcome, expert = follow(
        toy_world(things={}),
        lambda _: (NOTHING, {"cup_?0": Sought("the cup", frozenset({"table_1"}))}),
    )
    assert outcome.done
    assert expert.not_found == {"cup_?0"}
    looked = {call for _, call in outcome.calls if call.startswith("Explore")}
    assert looked == {"ExploreFurniture[table_1]"}


def test_what_came_true_counts_for_the_new_goal(toy_world: Make) -> None:
    apple = prop("is_on_top", ["apple_0"], ["table_1"])
    cup = prop("is_on_top", ["cup_0"], ["table_1"])
    seen: list[frozenset[int]] = []
    world = toy_world(things=THINGS)
    task = task_of(world, {})
    expert = Expert(task.__class__(task.instruction, task.agents))

    def rule(context: Context) -> tuple[Goal, Mapping[str, Sought]]:
        is_there = context.belief.nodes["apple_0"].parent == "table_1"
        seen.append(expert.achieved)
        return (goal_of(cup, apple) if is_there else goal_of(apple)), {}

    outcome = play(Following(expert, rule), world, task)
    assert outcome.done
    assert expert.achieved == {0, 1}
    assert outcome.of("agent_0") or outcome.of("agent_1")
    assert sum(call.startswith("Pick[apple_0") for _, call in outcome.calls) == 1
