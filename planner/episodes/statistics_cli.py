"""`planner episodes statistics`: a set of episodes in the figures of PARTNR's paper."""

from __future__ import annotations

import argparse

from planner.episodes.episode_file import episodes_in
from planner.episodes.statistics import statistics, table
from planner.episodes.suite_finder import FindSuite
from planner.world.episode import Episode
from planner.world.errors import PlannerError


def print_statistics(args: argparse.Namespace, find: FindSuite) -> int:
    """Prints the table.

    Raises:
        PlannerError: if there is no such suite, or it has no episodes.
        FileError: for the first episode that cannot be read.
    """
    episodes: list[Episode] = []
    for _, episode in episodes_in([path for name in args.suites for path in find(name)]):
        if not isinstance(episode, Episode):
            raise episode
        episodes.append(episode)
    if not episodes:
        raise PlannerError("there are no episodes in it")
    print(table(statistics(episodes)))
    return 0
