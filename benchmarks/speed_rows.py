"""The rows of `planner bench speed`: each prints what one thing costs in processor time, as JSON.

    python benchmarks/speed_rows.py NAME

NAME is a function below. Beside its cost stands that of a fixed loop, before and after it: a core
that is shared with others makes both slower.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import describe_machine

from planner.world.house_checks import load_episode, load_house
from planner.world.share import config_dir

HOUSE = "bench_8x60x150"
DOMAIN = "87"


def calibration() -> float:
    """Processor seconds of a loop like what is measured: Python on small objects, some arrays."""
    began = time.process_time()
    table: dict[int, float] = {}
    total = 0.0
    for n in range(300_000):
        total += table.get(n * 7 % 1009, 0.5) * 0.5 + 1.0
        table[n % 1009] = total % 17.0
    picture = np.arange(384 * 384, dtype=np.float32).reshape(384, 384)
    for _ in range(60):
        picture = np.sqrt(picture * picture[::-1] + 1.0)
    return time.process_time() - began


def symbolic_actions() -> float:
    """An action in the graph world: a thing is fetched and put on a table, again and again."""
    from planner.world.catalogue import default_catalogue
    from sim_bridge.graph.acting import Action, Verb, act
    from sim_bridge.graph.scene import start_of
    from sim_bridge.graph.world import GraphWorld
    from sim_bridge.opening import bare_episode

    house = load_house("train_0")
    episode = bare_episode(house, 1)
    world = GraphWorld(start_of(house, episode, default_catalogue()), episode)
    thing = house.objects[0].name
    table = next(piece.name for piece in house.furniture if piece.class_name == "table")
    walks = [Action(Verb.WALK, thing), Action(Verb.GRAB, thing), Action(Verb.WALK, table)]
    plan = [*walks, Action(Verb.PUT, thing, table)]
    rounds = 10_000
    began = time.process_time()
    for _ in range(rounds):
        for action in plan:
            assert act(world, "agent_0", action) is None, action
    return (time.process_time() - began) / (rounds * len(plan))


def frames() -> float:
    """RGB, depth and instances of 384x384 through `observe`, of a camera that turns."""
    from bench_simulator import episode_of, frames_per_s

    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions

    house = load_house(HOUSE)
    backend = EmbeddedBackend(EmbeddedOptions())
    backend.reset(house, episode_of(house), 0)
    return statistics.median(1 / frames_per_s(backend) for _ in range(5))


def episodes() -> float:
    """A shipped episode with the expert, in process, without pictures; every fourth is played."""
    from planner.app.embedded_run import run_embedded
    from planner.app.run_options import RunOptions
    from planner.planning.expert.expert import Expert
    from planner.world.floor_grid import preload_path_search
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions

    names = sorted(path.stem for path in (config_dir() / "episodes").glob("*/*.json"))[::4]
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    # Half a second of imports, once per process, is not part of an episode. As in `planner run`,
    # loaded modules are frozen.
    preload_path_search()
    gc.freeze()
    spent_s = 0.0
    for name in names:
        episode, house = load_episode(name)
        began = time.process_time()
        result = run_embedded(backend, house, episode, Expert, RunOptions(images=False))
        spent_s += time.process_time() - began
        assert result.verdict.success, f"{name}: {result.verdict.explanation}"
    return spent_s / len(names)


def camera_to_memory() -> float:
    """The slowest hundredth from drawing a picture to the update told, over ROS: all its stages."""
    from bench_ros_camera import spent_s

    return float(np.percentile(spent_s(seconds=40.0, rate_hz=10.0), 99))


def judge_step() -> float:
    """The median of steps after 20,000, in which a thing of the goal moves."""
    from bench_evaluation import first_state, step_us, ten_propositions

    from planner.evaluation.progress import Mode

    house = load_house(HOUSE)
    start = first_state(house)
    thing = ten_propositions(start)["propositions"][0]["args"]["entities_a"][0]
    return step_us(house, start, 20_000, thing, Mode.STRICT) / 1e6


def recorder() -> float:
    """The recorder's share of a core at the demo's pace: two agents look round at 10 Hz RGB-D."""
    import rclpy
    from bench_ros_nodes import record_demo

    rclpy.init()
    return record_demo(40.0)[0]


def report() -> float:
    """`planner report` on an hour's bag of a million messages."""
    from bench_report import make_bag, reported_s

    with tempfile.TemporaryDirectory() as folder:
        make_bag(Path(folder) / "hour", 1_000_000)
        return reported_s(Path(folder) / "hour", Path(folder) / "report")[1]


def learned_decision() -> float:
    """The mean decision of `learned` with 150 known entities, the worst of three situations."""
    from bench_learned_planner import decide

    from planner.planning.learned.chooser import read_planner, shipped_planner

    model = read_planner(shipped_planner())
    return max(statistics.mean(times_s) for _, times_s in decide(model, 150))


def demo_motion() -> float:
    """`planner demo` up to the first motion: all its processes."""
    from bench_ros_nodes import first_motion

    return first_motion()[1]


ROWS: tuple[Callable[[], float], ...] = (
    symbolic_actions,
    frames,
    episodes,
    camera_to_memory,
    judge_step,
    recorder,
    report,
    learned_decision,
    demo_motion,
)


def main() -> None:
    rows = {row.__name__: row for row in ROWS}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=rows)
    name = parser.parse_args().name
    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    before = [calibration() for _ in range(3)][1:]
    processor_s = rows[name]()
    loops_s = [*before, calibration(), calibration()]
    cost = {
        "processor_s": processor_s,
        "calibration_s": statistics.median(loops_s),
        "machine": describe_machine(),
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
