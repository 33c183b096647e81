"""The published check that a backend conforms to `sim_bridge.backend.Backend`.

    planner check backend embedded

Checks that a backend cannot support (no ground truth, no camera, no arm, time that is not
repeatable) are skipped and reported; all others must pass. docs/bridge.md explains how to write a
backend and run this.
"""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Callable, Sequence

from planner.parts.catalog import Finding, Report, Verdict
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from sim_bridge.backend import BACKENDS, Backend, make_backend
from sim_bridge.conformance_checks import acting, driving, episodes, handling, sensing
from sim_bridge.conformance_checks.trial import ConformanceError, Setting, Trial, UnsuitableError
from sim_bridge.opening import default_house, open_world

CHECKS: tuple[Callable[[Trial], None], ...] = (
    *episodes.CHECKS,
    *sensing.CHECKS,
    *acting.CHECKS,
    *driving.CHECKS,
    *handling.CHECKS,
    *driving.OF_NUMBERS,
)


def check_backend(
    backend_factory: Callable[[], Backend],
    *,
    house: House,
    episode: Episode,
    seed: int = 7,
    only: Sequence[str] = (),
) -> Report:
    """Runs the checks, each on a freshly loaded episode.

    Args:
        backend_factory: makes a backend without an episode; called a few times.
        house: a house with furniture that opens and things that lie in the open.
        episode: in that house, with at least one agent.
        seed: of the episode.
        only: names of checks; empty runs all.

    Raises:
        PlannerError: if the backend cannot load the episode at all, or a name is unknown.
    """
    known = {check.__name__ for check in CHECKS}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise PlannerError(f"there is no check {unknown[0]!r}; there are: {', '.join(known)}")
    setting = Setting(backend_factory, house, episode, seed)
    backend = backend_factory()
    wanted = [check for check in CHECKS if not only or check.__name__ in only]
    try:
        return Report(tuple(_run(check, Trial(backend, setting)) for check in wanted))
    finally:
        backend.close()


def _run(check: Callable[[Trial], None], trial: Trial) -> Finding:
    name = check.__name__
    try:
        check(trial)
    except ConformanceError as broken:
        return Finding(name, Verdict.FAILED, str(broken))
    except UnsuitableError as reason:
        return Finding(name, Verdict.SKIPPED, str(reason))
    except Exception as error:
        # An exception that a backend must not raise is a finding, not the end of the check.
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        return Finding(name, Verdict.FAILED, f"raised {error!r} at {where}")
    return Finding(name, Verdict.PASSED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the check's arguments."""
    parser.add_argument("backend", metavar="NAME", choices=BACKENDS.names(), help="of the backend")
    parser.add_argument("--settings", default="", help="the backend's; default: the shipped")
    parser.add_argument("--house", default="", help="name or file; default: the first shipped")
    parser.add_argument("--episode", default="", help="name or file; default: the bare house")
    parser.add_argument("--agents", type=int, default=2, help="in a bare house (default 2)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[], metavar="CHECK")


def run(options: argparse.Namespace) -> int:
    """0 if the backend conforms, else 1.

    Raises:
        PlannerError: if it cannot be loaded, or an argument is invalid.
    """
    house = options.house or ("" if options.episode else default_house())
    agents = 0 if options.episode else options.agents
    opened = open_world(house, options.episode, options.seed, agents)
    report = check_backend(
        lambda: make_backend(options.backend, options.settings),
        house=opened.house,
        episode=opened.episode,
        seed=opened.seed,
        only=options.only,
    )
    print(report.table())
    return 0 if report.conforms else 1
