"""Programs: reading and checking one, and one decision of the interpreter.

Times are the median and the slowest tenth of many repetitions, in milliseconds of processor time,
so that other work on the machine counts little. The decision is the first of a statement whose
knife has to be found among all things of an episode.

Repeat with: python benchmarks/bench_programs.py [--statements N] [--repetitions N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median, quantiles

from machine import print_table

from papers.helper.programs.interpreter import Interpreter
from papers.helper.programs.parsing import parse_program
from planner.planning.planner import Context, Task
from planner.world.agents import capabilities_of
from planner.world.belief import Belief, BeliefNode
from planner.world.house_checks import load_episode
from planner.world.vocabulary import AgentKind, EntityKind

LIMIT_MS = 5.0
EPISODE = "sandwich_0"
AGENT = "agent_1"
LINES = (
    'mug = InteractionObject("Mug", landmark="CounterTop", attributes=["clean"])',
    "mug.pickup()  # from the counter",
    'machine = InteractionObject("CoffeeMachine")',
    "mug.place(machine)",
    "machine.toggle_on()",
)
SLICING = 'bread = InteractionObject("Bread")\nbread.slice()\n'


def program_of(statements: int) -> str:
    """A program of so many statements, a landmark and attributes among them."""
    return "".join(f"{LINES[n % len(LINES)]}\n" for n in range(statements))


def timed_ms(work: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """The median and the slowest tenth of the processor time."""
    work()
    took: list[float] = []
    for _ in range(repetitions):
        began_s = time.process_time()
        work()
        took.append((time.process_time() - began_s) * 1e3)
    return median(took), quantiles(took, n=10)[-1]


def context_of(episode_name: str) -> Context:
    """All things of an episode, as a person in its house knows them."""
    episode, house = load_episode(episode_name)
    nodes = {
        item.name: BeliefNode(
            item.name,
            EntityKind.OBJECT,
            item.class_name,
            None,
            item.pose[:3],
            size_m=item.size_m,
            parent=item.parent,
            relation=item.relation,
        )
        for item in episode.objects
    }
    nodes[AGENT] = BeliefNode(AGENT, EntityKind.AGENT, "human", None, (0.0, 0.0, 0.0))
    able = capabilities_of(AgentKind.HUMAN)
    assert able is not None
    task = Task("", (AGENT,))
    return Context(task, Belief(0.0, 0, nodes), house.layout, {AGENT: able}, {}, (AGENT,), 0.0)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=200)
    parser.add_argument("--repetitions", type=int, default=200)
    chosen = parser.parse_args()
    text = program_of(chosen.statements)
    context = context_of(EPISODE)
    slicing = parse_program(SLICING)
    works: dict[str, Callable[[], object]] = {
        f"read and check {chosen.statements} statements": lambda: parse_program(text),
        f"one decision, {len(context.belief.nodes)} things known": lambda: Interpreter(
            slicing, agent=AGENT
        ).next(context),
    }
    rows = []
    for name, work in works.items():
        usual, slow = timed_ms(work, chosen.repetitions)
        limit = f"under {LIMIT_MS:g} ms" if name.startswith("read") else ""
        rows.append((name, f"{usual:.2f} ms, slowest tenth {slow:.2f} ms", limit))
    print_table("Programs", rows)


if __name__ == "__main__":
    main()
