"""`planner episodes`, with a planner at hand for `lint --solve`.

The episodes know no planner; here, where everything may be known, theirs is the command line
and this the run.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.app.run_options import RunOptions
from planner.episodes import cli
from planner.episodes.generator import GeneratorTools

if TYPE_CHECKING:
    from planner.episodes.arguments import Solve
    from planner.episodes.generator import TaskWorld
    from planner.episodes.start_state import Moment
    from planner.language.goal_form import Goal
    from planner.world.episode import Episode
    from planner.world.house import House


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As `planner.episodes.cli`."""
    cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `planner.episodes.cli`; the simulator is imported only where something is solved."""
    play = play_with_body if getattr(args, "body", False) else play_in_graph_world
    backend, settings = getattr(args, "backend", ""), getattr(args, "backend_config", "")
    tools = generator_tools(partial(solve_with_expert, backend=backend, settings=settings))
    return cli.run(args, tools, play, find=_files_of_suite, understand=_understand)


def generator_tools(solve: Solve | None = None) -> GeneratorTools:
    """What generators use of planners and simulators; `solve` in place of `solve_with_expert`."""
    return GeneratorTools(solve or solve_with_expert, _find_middle, _make_world)


def _make_world(name: str) -> TaskWorld:
    from planner.app.bodily_task_world import task_world

    return task_world(name)


def _find_middle(episode: Episode, house: House) -> Moment:
    from planner.app.bodily_task_world import middle_of

    return middle_of(episode, house)


def _files_of_suite(name: str) -> list[Path]:
    from planner.bench.runs.manifest import suite_places

    return suite_places(name)


def _understand(text: str) -> Goal:
    """What the planner words understands of an instruction, without anybody to ask."""
    from planner.planning.understanding import Ended, Unclear, understand
    from planner.world.errors import PlannerError

    found = understand(text, ())
    if isinstance(found, Unclear):
        raise PlannerError(f"nothing to draw; the planner would ask: {found.question}")
    if isinstance(found, Ended):
        raise PlannerError(found.text)
    return found.goal


def solve_with_expert(path: Path, backend: str = "", settings: str = "") -> str:
    """Why the planner expert does not solve an episode with all its agents; "" where it does.

    Args:
        path: of the episode.
        backend: a simulator; "" = the embedded one, or what the house needs.
        settings: its settings file; "" = the shipped one.

    Raises:
        PlannerError: if the simulator cannot be used.
    """
    from planner.app.embedded_run import prepare_run, usual_backend
    from planner.planning.expert.expert import Expert
    from planner.world.errors import PlannerError
    from planner.world.house_checks import load_episode
    from sim_bridge.backend import BACKENDS, Drawn, make_backend

    if backend and not BACKENDS.get(backend).simulated:
        raise PlannerError(f"--backend {backend}: expected a simulator")
    try:
        episode, house = load_episode(path)
    except PlannerError as error:
        return f"expert could not be run: {error}"
    drawn = Drawn(pictures=False, instances=False)
    world = make_backend(backend or usual_backend(house), settings, drawn)
    try:
        result = prepare_run(world, house, episode, Expert, RunOptions(images=False)).run()
    except PlannerError as error:
        return f"expert could not be run: {error}"
    finally:
        world.close()
    if result.verdict.success:
        return ""
    share = f"{100 * result.verdict.percent_complete:.0f} %"
    return f"expert stopped at {share} ({result.reason}): {result.verdict.explanation}"


def play_in_graph_world(path: Path) -> str:
    """Why an episode's reference plan does not meet its criteria in the graph world, or ""."""
    from planner.app.bodily_task_world import play_reference
    from planner.world.errors import PlannerError
    from planner.world.house_checks import load_episode

    try:
        return play_reference(*load_episode(path))
    except PlannerError as error:
        return f"it cannot be carried out: {error}"


def play_with_body(path: Path) -> str:
    """As `play_in_graph_world`, by skills and the robot's body on the embedded simulator."""
    from planner.app import bodily_task_world
    from planner.world.errors import PlannerError
    from planner.world.house_checks import load_episode

    try:
        return bodily_task_world.play_with_body(*load_episode(path))
    except PlannerError as error:
        return f"it cannot be carried out: {error}"
