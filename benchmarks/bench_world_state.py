"""Cost of /world/state for bridge and evaluator: CPU shares of building, sending and reading.

Repeat with: python benchmarks/bench_world_state.py [--entities N] [--hz HZ] [--seconds S]

Two processes: one sends states as the bridge does, in which the robot and what it holds move in
every tick; the other assembles them as the evaluator does. CPU times are of all threads of the
process. With --whole every message is a keyframe. The evaluator checks each message's bounds, which
is timed by itself, of a keyframe.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import replace

import rclpy
from machine import print_table
from planner_msgs.msg import WorldState as WorldMessage
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message, serialize_message

from planner.environment import ros_environment
from planner.ros import qos
from planner.ros.sightings import StateMessages
from planner.ros.subscriptions import bounds_of
from planner.world.geometry import Pose
from planner.world.state import EntityState, UpdateDecoder, UpdateEncoder, WorldState
from planner.world.vocabulary import EntityKind, Relation
from planner.world.wire import state_update

DOMAIN, TOPIC = "87", "/world/state"
MOVING = 2
CHECKS = 300


def world(count: int) -> WorldState:
    """A state with as many objects as a house has."""
    things = {
        f"cup_{n}": EntityState(
            name=f"cup_{n}",
            kind=EntityKind.OBJECT,
            class_name="cup",
            instance_id=n + 1,
            pose=Pose((0.1 * n, 0.0, 0.8)),
            size_m=(0.1, 0.1, 0.1),
            parent=f"table_{n % 20}",
            relation=Relation.ON,
            room=f"kitchen_{n % 5}",
            affordances=("cleanable", "fillable"),
            states={"clean": True, "filled": False},
        )
        for n in range(count)
    }
    return WorldState(0.0, 0, 0, "bench", "bench", things)


def after_tick(state: WorldState, tick_s: float) -> WorldState:
    moved = {}
    for name in list(state.entities)[:MOVING]:
        x, y, z = state.entities[name].pose.position_m
        moved[name] = replace(state.entities[name], pose=Pose((x + 0.01, y, z)))
    step = state.step + 1
    entities = {**state.entities, **moved}
    return replace(state, stamp_s=step * tick_s, step=step, revision=step, entities=entities)


def bridge(entities: int, hz: float, seconds: float, *, whole: bool) -> float:
    """Sends states; returns CPU seconds for each."""
    rclpy.init()
    node = rclpy.create_node("bench_bridge")
    publisher = node.create_publisher(WorldMessage, TOPIC, qos.TRUTH)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    encoder, messages, state = UpdateEncoder(), StateMessages(), world(entities)
    begin_s, used_s = time.monotonic(), time.process_time()
    for tick in range(round(hz * seconds)):
        time.sleep(max(0.0, begin_s + tick / hz - time.monotonic()))
        state = after_tick(state, 1 / hz)
        publisher.publish(messages.message(encoder.encode(state, keyframe=whole)))
    used_s = time.process_time() - used_s
    publisher.publish(WorldMessage())
    time.sleep(0.5)
    rclpy.shutdown()
    return used_s / round(hz * seconds)


def judge() -> None:
    """Reads states until an empty one; prints their number and CPU seconds for each."""
    rclpy.init()
    node = rclpy.create_node("bench_judge")
    decoder, states, over = UpdateDecoder(), [0], [False]

    def hear(message: WorldMessage) -> None:
        over[0] = not message.house
        if not over[0] and decoder.decode(state_update(message)) is not None:
            states[0] += 1

    node.create_subscription(WorldMessage, TOPIC, hear, qos.TRUTH_INPUT)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not states[0]:
        executor.spin_once()
    used_s = time.process_time()
    while not over[0]:
        executor.spin_once()
    print(states[0], (time.process_time() - used_s) / states[0])
    rclpy.shutdown()


def checking_s(entities: int) -> float:
    """CPU seconds for the check of a keyframe as it is received."""
    sent = StateMessages().message(UpdateEncoder().encode(world(entities), keyframe=True))
    received = deserialize_message(serialize_message(sent), WorldMessage)
    bounds, used_s = bounds_of(WorldMessage), time.process_time()
    for _ in range(CHECKS):
        assert bounds.problem(received, 0.0) is None
    return (time.process_time() - used_s) / CHECKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=150)
    parser.add_argument("--hz", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--whole", action="store_true", help="keyframes alone")
    parser.add_argument("--judge", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.judge:
        judge()
        return
    os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_DOMAIN_ID=DOMAIN)
    command = [sys.executable, __file__, "--judge"]
    environment = ros_environment(os.environ)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as reader:
        sent_s = bridge(args.entities, args.hz, args.seconds, whole=args.whole)
        count, read_s = (reader.communicate()[0] or "0 nan").split()
    rows: list[tuple[str, str, str]] = [
        (what, f"{1000 * cost_s:.2f} ms", f"{100 * cost_s * args.hz:.2f} % of a core")
        for what, cost_s in (
            ("bridge: building and sending a state", sent_s),
            (f"judge: receiving and reading one of {count}", float(read_s)),
        )
    ]
    checked_s = checking_s(args.entities)
    rows.append(("judge: checking a keyframe", f"{1000 * checked_s:.2f} ms", ""))
    print_table(f"/world/state, {args.entities} entities at {args.hz:g} Hz", rows)


if __name__ == "__main__":
    main()
