"""How cost grows with things, rooms, agents, memory, hours, the size of a bag, and episodes.

Repeat with: python benchmarks/bench_scale.py [AXIS ...] [--largest GB]

Each point is a process of its own: its processor time, and the most memory that it held. Beside it
stands the exponent between this point and the one before: 1 is linear, 2 quadratic. What the first
point costs as well whatever its size, such as loading modules, is left out of it.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from machine import print_table

SIDE_M = 6.0
CLASSES = ("cup", "apple", "book", "candle")
WANTED = ("vase", "teapot", "hat")
INSTRUCTION = "Put the vase, the teapot and the hat on the desk."


def made_house(rooms: int, things: int) -> dict[str, Any]:
    """A square of rooms with a door between any two neighbours, a table in each, things on them.

    One table is called a desk, and three things are of a class of their own, so that an instruction
    can name them.
    """
    columns = math.ceil(math.sqrt(rooms))
    kinds = ("kitchen", "bedroom", "living_room", "bathroom", "office")
    places = {(n % columns, n // columns): f"{kinds[n % 5]}_{n // 5}" for n in range(rooms)}
    tables = ["desk_0", *(f"table_{n}" for n in range(1, rooms))]
    house: dict[str, Any] = {
        "version": 1,
        "name": f"scale_{rooms}_{things}",
        "split": "train",
        "seed": 1,
        "rooms": [_room(name, place) for place, name in places.items()],
        "doors": [],
        "furniture": [
            _table(table, name, place)
            for table, (place, name) in zip(tables, places.items(), strict=True)
        ],
        "objects": [_thing(n, tables, columns) for n in range(things)],
    }
    for (column, row), name in places.items():
        x, y = column * SIDE_M, row * SIDE_M
        for other, centre, yaw in (
            ((column + 1, row), [x + SIDE_M, y + SIDE_M / 2], math.pi / 2),
            ((column, row + 1), [x + SIDE_M / 2, y + SIDE_M], 0.0),
        ):
            if other in places:
                house["doors"].append(
                    {
                        "name": f"door_{len(house['doors'])}",
                        "rooms": [name, places[other]],
                        "center_m": centre,
                        "yaw_rad": yaw,
                        "width_m": 1.0,
                    }
                )
    for number, class_name in zip((rooms // 3, rooms // 2, rooms - 1), WANTED, strict=True):
        house["objects"][number] |= {"name": f"{class_name}_0", "class_name": class_name}
    return house


def _room(name: str, place: tuple[int, int]) -> dict[str, Any]:
    x, y = (each * SIDE_M for each in place)
    corners = [[x, y], [x + SIDE_M, y], [x + SIDE_M, y + SIDE_M], [x, y + SIDE_M]]
    return {"name": name, "class_name": name.rpartition("_")[0], "polygon_m": corners}


def _table(name: str, room: str, place: tuple[int, int]) -> dict[str, Any]:
    part = {"center": [0, 0, 0.35], "size": [2.0, 2.0, 0.7], "rgb": [0.5, 0.4, 0.3]}
    return {
        "name": name,
        "class_name": name.rpartition("_")[0],
        "room": room,
        "x_m": (place[0] + 0.5) * SIDE_M,
        "y_m": (place[1] + 0.5) * SIDE_M,
        "yaw_rad": 0.0,
        "size_m": [2.0, 2.0, 0.7],
        "affordances": ["cleanable"],
        "states": {"clean": True},
        "parts": [part],
        "surfaces": [{"name": "top", "center": [0, 0, 0.7], "size": [1.96, 1.96]}],
    }


def _thing(number: int, tables: Sequence[str], columns: int) -> dict[str, Any]:
    table, slot = number % len(tables), number // len(tables)
    column, row = slot % 18, slot // 18
    x = (table % columns + 0.5) * SIDE_M - 0.93 + 0.105 * column
    y = (table // columns + 0.5) * SIDE_M - 0.93 + 0.105 * row
    class_name = CLASSES[number % len(CLASSES)]
    return {
        "name": f"{class_name}_{number // len(CLASSES)}",
        "class_name": class_name,
        "size_m": [0.08, 0.08, 0.08],
        "pose": [round(x, 3), round(y, 3), 0.7, 0.0],
        "parent": tables[table],
        "relation": "on",
        "part": "top",
    }


def run_task(rooms: int, things: int, agents: int = 1) -> dict[str, float]:
    """The planner of plain words brings three things, with a memory of what it has seen."""
    import planner

    # Modules are loaded before anything counts.
    planner.run("night_light_0", planner="words")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "house.json"
        path.write_text(json.dumps(made_house(rooms, things)))
        began_s = time.process_time()
        opened = planner.load(path)
        loaded_s = time.process_time()
    ran = planner.run(opened, instruction=INSTRUCTION, planner="words", agents=agents)
    calls = int(ran.result.outcome.evidence["calls"])
    return {
        "house, s": loaded_s - began_s,
        "task, s": time.process_time() - loaded_s,
        "a call, ms": (time.process_time() - loaded_s) / max(calls, 1) * 1000,
        "done": float(ran.verdict.success),
    }


def remember(entities: int) -> dict[str, float]:
    """One frame in which ten things moved, a question, and a message with all."""
    from bench_memory_store import crowded

    from planner.memory.query import ask
    from planner.memory.updater import Operation
    from planner.world.belief import OperationKind
    from planner.world.house_checks import load_house
    from planner.world.observation import Observation

    memory = crowded(load_house("train_0"), entities)
    known = [each for each in memory.content().entities if not each.is_furniture][:10]
    ask(memory, "where is the red cup?", limit=10)
    frames = 200
    began_s = time.process_time()
    for frame in range(frames):
        edits = [
            Operation(
                OperationKind.UPDATE,
                each.entity_id,
                description=each.description,
                position_m=(1.0 + 0.3 * (frame % 2), 1.0, 0.5),
            )
            for each in known
        ]
        memory.learn(Observation.at_rest(frame + 1.0), edits, "bench")
    learned_s = time.process_time()
    for _ in range(frames):
        ask(memory, "where is the red cup?", limit=10)
    asked_s = time.process_time()
    memory.snapshot()
    return {
        "a frame, ms": (learned_s - began_s) / frames * 1000,
        "a question, ms": (asked_s - learned_s) / frames * 1000,
    }


def judge_hours(hours: int) -> dict[str, float]:
    """The judge over so many hours of states, one thing moved in each."""
    from bench_evaluation import first_state, moved, ten_propositions

    from planner.evaluation.evaluator import Evaluator
    from planner.evaluation.language import read_evaluation
    from planner.evaluation.progress import Mode
    from planner.world.house_checks import load_house
    from planner.world.vocabulary import EntityKind

    house = load_house("train_0")
    state = first_state(house)
    evaluator = Evaluator(
        read_evaluation(ten_propositions(state), "bench"), house, state, Mode.STRICT
    )
    who = next(n for n, each in state.entities.items() if each.kind is EntityKind.OBJECT)
    x, y, z = state.entities[who].pose.position_m
    steps = hours * 3600 * 2
    began_s = time.process_time()
    for step in range(steps):
        state = moved(state, who, x + 0.001 * (step % 100), y, z)
        evaluator.update(replace(state, stamp_s=step / 2))
    return {"all states, s": time.process_time() - began_s}


def read_bags(folder: Path, **made: Any) -> dict[str, float]:
    """The report of a bag, its verdict again, and its messages sent again as fast as it can."""
    from bench_report import make_bag

    count, size_mb = make_bag(folder / "bag", **made)
    costs = {"size, GB": size_mb / 1000, "messages": float(count)}
    for what, words in {
        "report": ("report", str(folder / "bag"), "-o", str(folder / "page")),
        "evaluate": ("evaluate", str(folder / "bag")),
        "replay": ("replay", str(folder / "bag"), "--rate", "max"),
    }.items():
        began_s = used_s()
        done = subprocess.run(
            [sys.executable, "-m", "planner.cli", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        # The task of these bags was not done: 1.
        if done.returncode > 1:
            raise RuntimeError(done.stderr or done.stdout)
        costs[f"{what}, s"] = used_s() - began_s
    costs["memory, MB"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return costs


def used_s() -> float:
    """Processor time of the commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_hours(hours: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return read_bags(Path(folder), messages=100_000 * hours, hours=hours)


def read_gigabytes(size_gb: int) -> dict[str, float]:
    """Ten minutes of a demo for each gigabyte, with raw pictures, as `record:=all` keeps them."""
    import numpy as np
    from bench_report import Stream, stamped
    from sensor_msgs.msg import Image

    pixels = np.random.default_rng(1).integers(0, 255, (384, 384, 3), np.uint8)
    picture = Image(height=384, width=384, encoding="rgb8", step=3 * 384, data=pixels.tobytes())
    raw = Stream("/agent_0/camera/hand/image", "sensor_msgs/msg/Image", 20.0, stamped(picture))
    with tempfile.TemporaryDirectory() as folder:
        return read_bags(Path(folder), messages=size_gb * 42_000, more=[raw], hours=size_gb / 6)


def keep_episodes(count: int) -> dict[str, float]:
    """What a run costs besides its episodes, here all the same one: files, resuming, the table."""
    from planner.bench.runs.engines import JobQueue, JobSource, OneProcess, Take
    from planner.bench.runs.manifest import find_suite, jobs_of, new_manifest
    from planner.bench.runs.models import trace_stem
    from planner.bench.runs.rows import ROWS_NAME, newest_rows
    from planner.bench.runs.runner import run_jobs
    from planner.bench.runs.settings import MemoryKind, RunSettings
    from planner.bench.runs.table import summarise
    from planner.bench.runs.worker import Outcome

    settings = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
    suite = find_suite("train")
    jobs = jobs_of(suite, count, 0)
    played: list[Outcome] = []
    OneProcess(settings).run(JobQueue(jobs[:1]), played.append)

    class Same:
        def run(self, jobs: JobSource, take: Take) -> None:
            while (job := jobs.next()) is not None:
                own = {"episode_id": job.episode_id, "seed": job.seed, "trace": trace_stem(job)}
                take(replace(played[0], row=played[0].row.model_copy(update=own)))

    manifest = new_manifest("train", suite, count, settings)
    seconds = [time.process_time()]
    with tempfile.TemporaryDirectory() as folder:
        for _ in ("begun", "resumed"):
            run_jobs(Path(folder), manifest, jobs, Same(), lambda *_: None)
            seconds.append(time.process_time())
        summarise(newest_rows(Path(folder) / ROWS_NAME).values())
    kept, resumed, told = (
        after - before for before, after in pairwise([*seconds, time.process_time()])
    )
    return {"an episode, ms": kept / count * 1000, "to resume, s": resumed, "table, s": told}


@dataclass(frozen=True)
class Axis:
    """One thing that grows.

    Attributes:
        sizes: its points, rising.
        measure: what one point costs.
    """

    sizes: Sequence[int]
    measure: Callable[[int], Mapping[str, float]]


AXES = {
    "things": Axis((100, 250, 500, 1000), lambda n: run_task(25, n)),
    "rooms": Axis((9, 25, 49, 100), lambda n: run_task(n, 400)),
    "agents": Axis((1, 2, 4, 6), lambda n: run_task(25, 250, n)),
    "remembered": Axis((300, 1000, 3000, 10_000), remember),
    "hours judged": Axis((1, 2, 4, 8), judge_hours),
    "hours read": Axis((1, 2, 4, 8), read_hours),
    "gigabytes": Axis((1, 3, 10), read_gigabytes),
    "episodes": Axis((1000, 3000, 10_000), keep_episodes),
}


def point(axis: str, size: int) -> dict[str, float]:
    """Measures one point in a fresh process."""
    words = [sys.executable, __file__, "--point", axis, str(size)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{axis} {size}: {done.stderr.strip().splitlines()[-1]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("axes", nargs="*", metavar="AXIS", help=f"of {', '.join(AXES)}")
    parser.add_argument("--point", nargs=2, metavar=("AXIS", "SIZE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.point:
        axis, size = args.point
        measured = dict(AXES[axis].measure(int(size)))
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        measured.setdefault("memory, MB", used)
        print(json.dumps(measured))
        return
    for name in args.axes or AXES:
        rows, before = [], None
        for size in AXES[name].sizes:
            now = point(name, size)
            texts = []
            for what, cost in now.items():
                text = f"{what.partition(',')[0]} {cost:.3g}{what.partition(',')[2]}"
                if before and before[1][what] > 0 and cost > 0 and what != "done":
                    grown = math.log(cost / before[1][what]) / math.log(size / before[0])
                    text += f" (^{grown:.2f})"
                texts.append(text)
            rows.append((f"{size:,} {name}", "   ".join(texts), ""))
            print(rows[-1], flush=True)
            before = (size, now)
        print_table(name, rows)


if __name__ == "__main__":
    main()
