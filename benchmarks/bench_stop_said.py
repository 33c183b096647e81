"""How soon all agents stand after somebody said stop in the middle of a task, over ROS.

    python benchmarks/bench_stop_said.py [--tries N] [--house NAME] [--seed N]

The real nodes in processes of their own, the world in real time, two agents, the planner `words`.
While they carry out a task, stop is said on `/instruct` at a random moment in which an agent moves
(every third time on `/instruct/answer`), each time in other words; then "go on". An agent has moved
where its pose on `/A/odometry` differs from the one before; when it moved last is the wall time at
which a thread of its own received that. The time of the reply is told as well.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from machine import print_table

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", "88")
# The tests' nodes and client.
sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "integration"))

from bridge_harness import Client
from nav_msgs.msg import Odometry
from node_processes import running
from planner_harness import Instructions
from std_msgs.msg import String

from planner.world.topics import InstructionCode

AGENTS = ("agent_0", "agent_1")
WANTED_S, WATCH_S = 1.0, 2.5
STILL = 1e-3
# So much to do that it is not done before all is said.
TASKS = (
    "Put all cups, all books and all plates on the dining table.",
    "Bring all toys, all bottles and all bowls to the kitchen.",
    "Put all clothes, all balls and all boxes in the bedroom.",
)
WORDS = (
    "stop", "Stop!", "wait", "Wait a minute, please.", "halt", "hold on", "freeze!", "enough",
    "that's enough", "robot, stop", "stpo", "STOP NOW", "stand still", "don't move", "pause",
    "stop, go on",
)  # fmt: skip


class Motion(threading.Thread):
    """When an agent moved last, wall seconds; it only listens, so that nothing waits in a queue."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.last_s, self._poses = 0.0, dict[str, tuple[float, ...]]()
        self._client, self._is_over = Client("watch"), False
        for agent in AGENTS:
            note = partial(self._note, agent)
            self._client.node.create_subscription(Odometry, f"/{agent}/odometry", note, 50)

    def _note(self, agent: str, message: Odometry) -> None:
        position, turned = message.pose.pose.position, message.pose.pose.orientation
        pose = (position.x, position.y, turned.z, turned.w)
        before = self._poses.get(agent, pose)
        self._poses[agent] = pose
        if max(abs(a - b) for a, b in zip(pose, before, strict=True)) > STILL:
            self.last_s = time.monotonic()

    def run(self) -> None:
        """Listens until `end`."""
        while not self._is_over:
            self._client.executor.spin_once(timeout_sec=0.05)
        self._client.close()

    def end(self) -> None:
        """Returns once it no longer listens."""
        self._is_over = True
        self.join()


class Person:
    """Gives tasks, says stop and go on, and keeps the times."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client, self.draw = client, random.Random(seed)
        self.motion, self.instructions = Motion(), Instructions(client)
        self.motion.start()
        self.mouth = client.node.create_publisher(String, "/instruct/answer", 10)
        self.stood_s: list[float] = []
        self.replied_s: list[float] = []
        self.goes_on = self.tasks = 0

    def give_task(self) -> Any:
        """Sends the next task; its result, when it comes."""
        handle = self.instructions.send(TASKS[self.tasks % len(TASKS)])
        self.tasks += 1
        return handle.get_result_async()

    def try_once(self, number: int) -> None:
        """Says stop while an agent moves, and go on once all have stood."""
        client, motion = self.client, self.motion
        since_s = time.monotonic()
        client.wait(lambda: motion.last_s > since_s, "an agent that moves", 300.0)
        client.idle(self.draw.uniform(0.0, 1.5))
        since_s = time.monotonic()
        client.wait(lambda: motion.last_s > since_s, "an agent that still moves", 300.0)
        words, said_s = WORDS[number % len(WORDS)], time.monotonic()
        if number % 3 == 2:
            self.mouth.publish(String(data=words))
        else:
            reply = self.instructions.follow(words)
            self.replied_s.append(time.monotonic() - said_s)
            assert reply.code == InstructionCode.DONE, reply.text
            assert reply.text.startswith("All agents stand"), reply.text
        client.idle(max(0.0, said_s + WATCH_S - time.monotonic()))
        self.stood_s.append(max(0.0, motion.last_s - said_s))
        went_s = time.monotonic()
        on = self.instructions.follow("go on")
        assert on.text.startswith("I go on"), on.text
        client.wait(lambda: motion.last_s > went_s, "that it goes on", 120.0)
        self.goes_on += 1


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tries", type=int, default=50)
    parser.add_argument("--house", default="train_3")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    house, client = args.house, Client()
    with ExitStack() as nodes:
        world = {"house": house, "agents": 2, "time_mode": "paced", "cameras": "hand"}
        nodes.enter_context(running("bridge", camera_hz=2.0, **world))
        nodes.enter_context(running("memory", house=house))
        nodes.enter_context(running("skill_executor", house=house, use_sim_time=True))
        nodes.enter_context(running("task_planner", house=house, planner="words"))
        person = Person(client, args.seed)
        client.wait(person.mouth.get_subscription_count, "who hears answers")
        task = person.give_task()
        for number in range(args.tries):
            if task.done():
                task = person.give_task()
            person.try_once(number)
            print(f"{number + 1}: stood after {person.stood_s[-1]:.2f} s", flush=True)
        person.instructions.follow("never mind")
        person.motion.end()
    client.close()
    stood, replied = sorted(person.stood_s), sorted(person.replied_s)
    within = sum(seconds <= WANTED_S for seconds in stood)
    rows = [
        (
            f"said until all stand, at most {WANTED_S:g} s",
            f"{within} of {len(stood)}",
            f"median {statistics.median(stood):.2f} s, most {stood[-1]:.2f} s",
        ),
        (
            "said until the reply that they stand",
            f"{len(replied)}",
            f"median {statistics.median(replied):.2f} s, most {replied[-1]:.2f} s",
        ),
        ("went on after `go on`", f"{person.goes_on} of {len(stood)}", f"{person.tasks} tasks"),
    ]
    print_table(f"stop said in a task, {house}, two agents, over ROS", rows)


if __name__ == "__main__":
    main()
