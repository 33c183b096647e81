"""Speed of search and rescue: joint steps a second on one core, with agents that act at random.

CPU seconds of one core, so that a busy machine gives about the same. Each step is taken up by the
checklist; the second figure also writes each agent's observation. With --play it plays the scenes
with a planner that uses no model, and prints LLaMAR's measures by team size (LLAMAR-A7).

Repeat with: python benchmarks/bench_rescue.py [--steps N] [--agents N] [--play PLANNER]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

from machine import print_table

from papers.llamar.rescue.acting import (
    HORIZON_STEPS,
    Checklist,
    Scores,
    joint_step,
    observation_text,
    visible_names,
)
from papers.llamar.rescue.backend import RescueBackend
from papers.llamar.rescue.scenes import Supply, load_scene, scene_names
from papers.llamar.rescue.snapshot import TEAMS
from papers.llamar.rescue.world import Action, Agent, RescueWorld, Verb
from planner.app.embedded_run import prepare_run
from planner.app.run_options import RunOptions
from planner.planning.part import PlannerChoice, make_planner
from planner.world.house_checks import load_episode

SEEDS = (0, 10, 20, 30, 40)


def chosen(world: RescueWorld, agent: Agent, rng: random.Random) -> Action:
    """An action that is not refused at once, at random."""
    names = visible_names(world, agent)
    if agent.carried:
        deposit = next(iter(world.deposits))
        if rng.random() < 0.5:
            return Action(Verb.DROP_OFF, deposit, person=agent.carried)
        return Action(Verb.NAVIGATE_TO, deposit)
    near = [name for name in names if world.is_near(agent, name)]
    target = rng.choice(near) if near and rng.random() < 0.6 else ""
    if target in world.reservoirs:
        return Action(Verb.GET_SUPPLY, target)
    if target in world.fires:
        held = [supply for supply in Supply if agent.supplies[supply]]
        if held:
            return Action(Verb.USE_SUPPLY, target, supply=rng.choice(held))
    if target in world.persons:
        return Action(Verb.CARRY, target)
    if rng.random() < 0.3:
        return Action(Verb.EXPLORE)
    return Action(Verb.NAVIGATE_TO, rng.choice(names))


def steps_a_second(scene: str, agents: int, count: int, *, texts: bool) -> float:
    """Joint steps a second over runs of the full length."""
    rng = random.Random(0)
    taken_s = 0.0
    for run in range(count // HORIZON_STEPS):
        world = RescueWorld(load_scene(scene), agents, seed=run)
        checklist = Checklist.of(world)
        for _ in range(HORIZON_STEPS):
            actions = [chosen(world, agent, rng) for agent in world.agents.values()]
            begin = time.process_time()
            checklist.note(joint_step(world, actions))
            if texts:
                for agent in world.agents.values():
                    observation_text(world, agent)
            taken_s += time.process_time() - begin
    return count // HORIZON_STEPS * HORIZON_STEPS / taken_s


def played(planner: str, agents: int) -> list[Scores]:
    """The scores of all scenes and seeds, by the world's own checklist."""
    found = []
    for scene in scene_names():
        episode, house = load_episode(f"{scene}-agents-{agents}")
        for seed in SEEDS:
            backend = RescueBackend()
            run = prepare_run(
                backend,
                house,
                episode,
                lambda task: make_planner(PlannerChoice(planner), task, None),
                RunOptions(seed=seed),
            )
            run.run()
            found.append(backend.checklist.scores())
    return found


def print_scores(planner: str) -> None:
    """A row for each team size."""
    print(f"{planner}: {len(scene_names()) * len(SEEDS)} runs in each row")
    print("agents  success  transport  coverage  balance  balance_all  steps")
    for agents in TEAMS:
        scores = played(planner, agents)
        means = [
            statistics.mean(float(getattr(each, name)) for each in scores)
            for name in ("success", "transport_rate", "coverage", "balance", "balance_all", "steps")
        ]
        print(f"{agents}  " + "  ".join(f"{mean:.2f}" for mean in means))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=7_000)
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("--play", default="", metavar="PLANNER")
    options = parser.parse_args()
    if options.play:
        print_scores(options.play)
        return
    title = f"Search and rescue with {options.agents} agents, joint steps a second of one core"
    rows = [("scene", "measured; with observations", "wanted")]
    for scene in scene_names():
        bare, with_texts = (
            steps_a_second(scene, options.agents, options.steps, texts=texts)
            for texts in (False, True)
        )
        rows.append((scene, f"{bare:,.0f}; {with_texts:,.0f}", "2,000"))
    print_table(title, rows)


if __name__ == "__main__":
    main()
