"""How long a Spot walks on whose executive hangs: from its last heartbeat to standing.

    python benchmarks/bench_heartbeat.py [--tries N]

Bridge, skills, planner and `planner attend` in processes of their own before the emulator in real
time; one of them is stopped (SIGSTOP) in a walk. When the body moved last is known to the
emulator's own step; when the last heartbeat came is heard on its topic. Needs the extra `spot`.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from machine import busy, print_table

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", "87")
# The tests' stack.
sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "integration"))

try:
    from executive import attend_command
    from planner_harness import Instructions, script
    from spot_stack import ROBOT, SpotStack, spot_stack
except ImportError as missing:
    print(f"nothing measured: the extra `spot` is not installed ({missing})")
    raise SystemExit(0) from None

from planner.tour.route import plan_route
from planner.world.agents import default_bodies
from planner.world.floor_grid import FloorGrid
from planner.world.vocabulary import AgentKind
from sim_bridge.opening import default_house, open_world

LIMIT_S, GOES_ON_S = 0.7, 1.0
# Longer than the halts here, so that each walk can resume.
SAFETY = "version: 1\nexecutive: {stop_after_s: 5.0, sit_after_s: 60.0}\n"
Begin = Callable[[], None]
Figures = tuple[list[float], list[float]]


def measure(stack: SpotStack, pid: int, begin: Begin, tries: int) -> Figures:
    """Seconds from the last heartbeat to standing, and from resuming to walking, of each try."""
    stands, goes_on = [], []
    for _ in range(tries):
        begin()
        stack.until_moving()
        stack.client.wait(lambda: time.time() - stack.heard_s < 0.2, "heartbeats")
        os.kill(pid, signal.SIGSTOP)
        try:
            stack.until_still(1.5)
            stands.append(stack.track.moved_s - stack.heard_s)
        finally:
            os.kill(pid, signal.SIGCONT)
        went_on_s = time.time()
        stack.client.wait(lambda s=went_on_s: stack.track.moved_s > s, "that it goes on")
        goes_on.append(time.time() - went_on_s)
    return stands, goes_on


def there_and_back(stack: SpotStack, far: tuple[float, float]) -> Begin:
    """Walks to and fro between the current pose and a far place, longer than a try takes."""
    agent = stack.emulator.machine.world.agent
    places = [(agent.x_m, agent.y_m, 0.0), (*far, 0.0)]

    def begin() -> None:
        nearest = min(places, key=lambda p: abs(p[0] - agent.x_m) + abs(p[1] - agent.y_m))
        target = places[1 - places.index(nearest)]
        if begun:
            begun[-1].cancel()
            begun[-1].result()
        begun.append(stack.client.start("navigate", target))

    begun: list = []
    return begin


def direct(folder: Path, tries: int) -> Figures:
    """`planner attend` hangs, beside a client of the bridge."""
    with walking(folder) as (stack, begin), attend_command(ROBOT) as command:
        stack.client.wait(lambda: "attend" in stack.attended_by, "attendance")
        return measure(stack, command.pid, begin, tries)


def relayed(folder: Path, tries: int) -> Figures:
    """The skill executor hangs, which relays the heartbeats of another process."""
    with walking(folder) as (stack, begin), attend_command(ROBOT, "--skills"):
        skills = stack.add("skill_executor")
        stack.tell_graph()
        stack.client.wait(lambda: "attend" in stack.attended_by, "attendance")
        return measure(stack, skills.process.pid, begin, tries)


def planned(folder: Path, tries: int) -> Figures:
    """The task planner hangs, whose heartbeats the skill executor relays."""
    with walking(folder) as (stack, _):
        # Entity ids of furniture; the first piece of the house is near the other end.
        places = [100 + far_piece(stack), 100]
        replies = [f"Navigate[Object.{number}]\nAssigned!" for number in places * 50]
        stack.add("skill_executor")
        planner = stack.add("task_planner", planner="react", model=script(folder / "m", *replies))
        stack.tell_graph()
        instructions = Instructions(stack.client)
        instructions.send("Walk about.", agents=[ROBOT])
        return measure(stack, planner.process.pid, lambda: None, tries)


def far_piece(stack: SpotStack) -> int:
    """The index of the piece of furniture that is farthest from the robot."""
    agent, pieces = stack.emulator.machine.world.agent, stack.house.furniture
    return max(
        range(len(pieces)),
        key=lambda i: abs(pieces[i].x_m - agent.x_m) + abs(pieces[i].y_m - agent.y_m),
    )


@contextmanager
def walking(folder: Path) -> Iterator[tuple[SpotStack, Begin]]:
    """A standing robot, and a function that starts a long walk."""
    opened = open_world(default_house(), "", 7, 1)
    episode = opened.episode.model_copy(update={"episode_id": "bench"})
    with spot_stack(folder, opened.house, episode, SAFETY) as stack:
        stack.stand()
        grid = FloorGrid.of(stack.house, default_bodies()[AgentKind.ROBOT].radius_m)
        agent = stack.emulator.machine.world.agent
        here = (agent.x_m, agent.y_m)
        stops = plan_route(stack.house, grid, here, len(stack.house.rooms))
        far = max(((stop.x_m, stop.y_m) for stop in stops), key=lambda at: math.dist(at, here))
        yield stack, there_and_back(stack, far)


def main() -> None:
    """Prints one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=5, help="of each")
    tries = parser.parse_args().tries
    rows = []
    for count in (0, 4):
        for name, how in (("attend", direct), ("skill_executor", relayed), ("planner", planned)):
            with tempfile.TemporaryDirectory() as folder, busy(count):
                stands, goes_on = how(Path(folder), tries)
            beside = f", {count} busy processes" if count else ""
            for what, times, limit_s in (
                ("stands after its last heartbeat", stands, LIMIT_S),
                ("walks after it goes on", goes_on, GOES_ON_S),
            ):
                figure = f"{statistics.median(times):.2f} s, at most {max(times):.2f} s"
                holds = "holds" if max(times) <= limit_s else "DOES NOT HOLD"
                rows.append((f"{name} hangs{beside}: {what}", figure, f"{limit_s} s: {holds}"))
    print_table(f"executives that hang, {tries} tries each", rows)


if __name__ == "__main__":
    main()
