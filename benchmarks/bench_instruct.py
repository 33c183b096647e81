"""From an instruction at /instruct to its first skill call over ROS, with a scripted model.

Repeat with: python benchmarks/bench_instruct.py [--count N]

The task-planner node runs in a process of its own; the memory's graph of a shipped house and a
body that does everything at once are in this one. Times are wall times on this machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from machine import print_table
from planner_msgs.action import ExecuteSkill, FollowInstruction
from planner_msgs.msg import WorldGraph
from rclpy.action import ActionClient, ActionServer
from rclpy.executors import SingleThreadedExecutor

from planner.environment import ros_environment
from planner.planning.full_view import full_belief
from planner.ros import qos
from planner.ros.memory_messages import GraphMessages
from planner.world.belief import Belief
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

ROOT = Path(__file__).resolve().parents[1]
DOMAIN = "88"
EPISODE = "dirty_dishes_0"
PATIENCE_S = 60.0


def belief_of(name: str) -> Belief:
    episode, house = load_episode(name)
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(house, episode, episode.seed)
    state = backend.world_state()
    backend.close()
    assert state is not None
    return full_belief(state)


class Bench:
    """A person, a memory and a body in one node."""

    def __init__(self, belief: Belief) -> None:
        rclpy.init()
        self.node = rclpy.create_node("bench")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.begun: list[float] = []
        self._server = ActionServer(self.node, ExecuteSkill, "/agent_0/skill", self._serve)
        self.action = ActionClient(self.node, FollowInstruction, "/instruct")
        graph = self.node.create_publisher(WorldGraph, "/world_graph", qos.LATCHED)
        graph.publish(GraphMessages().message(belief))

    def _serve(self, goal: Any) -> Any:
        self.begun.append(time.monotonic())
        goal.succeed()
        return ExecuteSkill.Result(code=0, text="Successful execution!")

    def wait(self, met: Callable[[], Any]) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while not met():
            assert time.monotonic() < until_s, "nothing came"
            self.executor.spin_once(timeout_sec=0.01)

    def one_s(self) -> float:
        """Gives an instruction; seconds to its first call. Waits for its end."""
        before, began_s = len(self.begun), time.monotonic()
        goal = FollowInstruction.Goal(instruction="Go to the cup.", agents=["agent_0"])
        sent = self.action.send_goal_async(goal)
        self.wait(sent.done)
        result = sent.result().get_result_async()
        self.wait(result.done)
        assert result.result().result.code == 0, result.result().result.text
        return self.begun[before] - began_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    count = parser.parse_args().count
    os.environ |= {"ROS_DOMAIN_ID": DOMAIN, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    belief = belief_of(EPISODE)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.txt"
        script.write_text("\n\n".join(["Navigate[Object.100]\nAssigned!", "Done[]"] * (count + 5)))
        parameters = {"planner": "react", "episode": EPISODE, "model": f"scripted:{script}"}
        pairs = [word for k, v in parameters.items() for word in ("-p", f"{k}:={v}")]
        node = subprocess.Popen(
            [sys.executable, str(ROOT / "nodes" / "task_planner"), "--ros-args", *pairs],
            env=ros_environment(os.environ),
            stderr=subprocess.DEVNULL,
        )
        try:
            bench = Bench(belief)
            bench.wait(bench.action.server_is_ready)
            for _ in range(5):
                bench.one_s()
            costs = [bench.one_s() * 1e3 for _ in range(count)]
        finally:
            node.send_signal(signal.SIGINT)
            node.wait(PATIENCE_S)
    p99 = float(np.percentile(costs, 99))
    words = f"median {statistics.median(costs):.1f} ms, p99 {p99:.1f} ms of {count}"
    rows = [(f"instruction to first skill call, {EPISODE}", words, "p99 below 50 ms")]
    print_table("task planner over ROS", rows)


if __name__ == "__main__":
    main()
