"""The benchmark runner: many episodes with a scripted model in one process, and two workers.

First PARTNR's privileged baseline solves the suite; then a model that says again what it did runs
so many episodes as planner partnr_react, with prompts, grammars, traces and rows like a real one.
They are the suite again and again with other seeds, so that each round needs what the one before
needed. Memory is what the process holds (resident), read as episodes end.

Processor time is counted, so that waiting for others is not. For two workers it is the share of
their processor time that one worker needs: the wall time's ratio on two cores that are free. The
ratio of wall times here and now is printed too, and what two processes make of the same episodes
that know nothing of each other: two cores may be slower together than each alone.

Repeat with: python benchmarks/bench_runner.py [--suite S] [--episodes K] [--pool-episodes P]
Two workers against one only, in four minutes: python benchmarks/bench_runner.py --episodes 0
The privileged baseline over each engine: python benchmarks/bench_runner.py --engines 600
The engines alone, as each episode is refused at once: ... --engines 10000 --refused
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from machine import print_table
from run_scripts import write_scripts

from planner.bench.runs.engines import Engine, OneProcess, ProcessPool, make_engine
from planner.bench.runs.manifest import Job, find_suite, jobs_of, new_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.world.errors import PlannerError

Row3 = tuple[str, str, str]
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * _PAGE_BYTES / 2**20


class Watch:
    """Memory and CPU time as episodes end."""

    def __init__(self) -> None:
        self.mib: list[float] = []
        self.houses: list[str] = []
        # Sums only: stored rows would be measured too.
        self.judged = self.solved = self.calls = 0
        self.cpu_s = 0.0
        self.family_s = 0.0

    def take(self, row: Row, count: int, of: int) -> None:
        self.mib.append(resident_mib())
        self.houses.append(row.house)
        self.judged += row.verdict is not None
        self.solved += row.verdict is not None and row.verdict.success
        self.calls += row.cost.calls
        self.cpu_s += row.cpu_s
        if count == of:
            # While a cluster's processes are there.
            self.family_s = family_s(os.getpid())
        if count % 100 == 0:
            print(f"{count}/{of}: {self.mib[-1]:.0f} MiB", flush=True)


def rounds_of(suite_name: str, episodes: int) -> tuple[Job, ...]:
    """This many jobs, repeating a suite with other seeds; 0 = once."""
    suite = find_suite(suite_name)
    count = episodes or len(suite)
    rounds = [jobs_of(suite, len(suite), seed) for seed in range(-(-count // len(suite)))]
    return tuple(job for jobs in rounds for job in jobs)[:count]


def carried_out(
    folder: Path, suite_name: str, jobs: Sequence[Job], settings: RunSettings, engine: Engine
) -> Watch:
    watch = Watch()
    manifest = new_manifest(suite_name, find_suite(suite_name), len(jobs), settings)
    run_jobs(folder, manifest, jobs, engine, watch.take)
    return watch


def spent_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return sum(used.ru_utime + used.ru_stime for used in (own, children))


def family_s(pid: int) -> float:
    """CPU seconds of a process and its descendants, also of those that it waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own_s = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return own_s + sum(family_s(int(child)) for task in tasks for child in task.read_text().split())


def memory_rows(watch: Watch, took_s: float, a_round: int) -> list[Row3]:
    count = len(watch.mib)
    rows = [
        ("episodes", f"{count}", ""),
        ("... with a verdict, solved", f"{watch.judged}, {watch.solved}", ""),
        ("calls of the model an episode", f"{watch.calls / count:.1f}", ""),
        ("episodes a minute of one core", f"{60 * count / took_s:.0f}", "at least 100"),
        ("most resident", f"{max(watch.mib):.0f} MiB", ""),
    ]
    # Larger houses need more: the maximum of each house in one round and in the last complete one.
    whole = count // a_round
    if whole < 4:
        return [*rows, ("rounds of the suite", f"{whole}: too few to tell growth", "")]
    last = most_by_house(watch, a_round * (whole - 1), a_round)
    # Path fields and grammars are cached, a limited number of each: the first rounds fill these
    # caches.
    for first, wanted in ((2, ""), (whole // 2, "flat")):
        before = most_by_house(watch, a_round * (first - 1), a_round)
        grown = [last[house] - before[house] for house in before]
        middle, of = statistics.median(grown), statistics.median(last.values())
        least, most = min(grown), max(grown)
        told = f"{middle:+.1f} MiB of {of:.0f} (houses {least:+.1f} to {most:+.1f})"
        rows.append((f"growth from round {first} to {whole}, the median house", told, wanted))
    return rows


def one_process_rows(folder: Path, suite: str, episodes: int, settings: RunSettings) -> list[Row3]:
    if not episodes:
        return []
    began_s = time.process_time()
    jobs = rounds_of(suite, episodes)
    watch = carried_out(folder, suite, jobs, settings, OneProcess(settings))
    rows = memory_rows(watch, time.process_time() - began_s, len(find_suite(suite)))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return [*rows, ("on the disk an episode", f"{size / 1024 / len(watch.mib):.0f} KiB", "")]


def most_by_house(watch: Watch, begin: int, count: int) -> dict[str, float]:
    found: dict[str, float] = {}
    stretch = slice(begin, begin + count)
    for house, mib in zip(watch.houses[stretch], watch.mib[stretch], strict=True):
        found[house] = max(found.get(house, 0.0), mib)
    return found


def pool_rows(root: Path, suite: str, episodes: int, settings: RunSettings) -> list[Row3]:
    jobs = rounds_of(suite, episodes)
    wall, cpu = [], []
    for workers in (1, 2):
        began_s, before_s = time.monotonic(), spent_s()
        engine = ProcessPool(settings, workers)
        watch = carried_out(root / f"pool_{workers}", suite, jobs, settings, engine)
        # The start of a process counts once, however many episodes it runs.
        cpu.append(watch.cpu_s)
        wall.append(time.monotonic() - began_s)
        print(f"{workers} workers: {wall[-1]:.1f} s, processor {spent_s() - before_s:.1f} s")
    ones, twos = (
        {key: row.metrics for key, row in newest_rows(root / f"pool_{n}" / ROWS_NAME).items()}
        for n in (1, 2)
    )
    apart_cpu_s, apart_s = apart(root, suite, jobs, settings)
    print(f"2 processes apart: {apart_s:.1f} s, episodes' processor time {apart_cpu_s:.1f} s")
    return [
        ("episodes for each number of workers", f"{len(jobs)}", ""),
        ("two workers against one, by processor time", f"{2 * cpu[0] / cpu[1]:.2f}", "1.8"),
        ("... by wall time on this machine now", f"{wall[0] / wall[1]:.2f}", "1.8"),
        ("the machine's own limit, by processor time", f"{2 * cpu[0] / apart_cpu_s:.2f}", ""),
        ("... by wall time", f"{wall[0] / apart_s:.2f}", ""),
        ("of that limit two workers reach, by wall time", f"{apart_s / wall[1]:.0%}", ""),
        ("rows the same", f"{ones == twos}", "True"),
    ]


def apart(
    root: Path, suite: str, jobs: Sequence[Job], settings: RunSettings
) -> tuple[float, float]:
    """CPU and wall seconds of two processes that each run half of the jobs independently.

    The halves are of whole houses, balanced by the time that one worker needed for each.
    """
    needed: Counter[str] = Counter()
    for row in newest_rows(root / "pool_1" / ROWS_NAME).values():
        needed[row.house] += row.cpu_s
    halves: list[set[str]] = [set(), set()]
    for house, _ in needed.most_common():
        min(halves, key=lambda half: sum(needed[h] for h in half)).add(house)
    context = multiprocessing.get_context("spawn")
    processes = []
    began_s = time.monotonic()
    for number, half in enumerate(halves):
        own = sorted((job for job in jobs if job.house in half), key=lambda job: job.house)
        folder = root / f"apart_{number}"
        process = context.Process(target=run_alone, args=(folder, suite, tuple(own), settings))
        process.start()
        processes.append(process)
    for process in processes:
        process.join()
    wall_s = time.monotonic() - began_s
    rows = [row for n in (0, 1) for row in newest_rows(root / f"apart_{n}" / ROWS_NAME).values()]
    return sum(row.cpu_s for row in rows), wall_s


def engine_rows(root: Path, suite: str, jobs: Sequence[Job]) -> list[Row3]:
    """The same episodes over each engine; its times have the start of its processes in them."""
    settings = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
    rows: list[Row3] = []
    pool_s = 0.0
    for kind, workers in (("pool", 1), ("pool", 2), ("one_process", 1), ("ray", 2)):
        name = f"{kind}, {workers} worker{'s' * (workers > 1)}"
        flags = argparse.Namespace(engine=kind, workers=workers, at_once=1, ray_address="")
        began_s, before_s = time.monotonic(), family_s(os.getpid())
        try:
            engine = make_engine(flags, settings)
            watch = carried_out(root / name, suite, jobs, settings, engine)
        except PlannerError as error:
            rows.append((name, str(error), ""))
            continue
        wall_s = time.monotonic() - began_s
        pool_s = pool_s or wall_s
        times = f"{wall_s:.1f} s, processor {watch.family_s - before_s:.1f} s"
        rate = f"{len(jobs) / wall_s:.1f} episodes a second"
        against = f"{pool_s / wall_s:.2f} times a pool of 1"
        told = f"{times} (episodes {watch.cpu_s:.1f} s), {rate}, {against}"
        rows.append((name, f"{told}, own memory {watch.mib[0]:.0f} to {watch.mib[-1]:.0f} MiB", ""))
        print(rows[-1], flush=True)
    return rows


def run_alone(folder: Path, suite: str, jobs: Sequence[Job], settings: RunSettings) -> None:
    """The work of an independent process."""
    carried_out(folder, suite, jobs, settings, OneProcess(settings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="train")
    parser.add_argument("--episodes", type=int, default=1000, help="0 = the pool only")
    parser.add_argument("--pool-episodes", type=int, default=100, help="0 = no pool")
    parser.add_argument("--engines", type=int, default=0, help="episodes; then nothing else runs")
    parser.add_argument("--refused", action="store_true", help="of engines: no episode is run")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if args.engines:
            jobs = rounds_of(args.suite, args.engines)
            if args.refused:
                jobs = tuple(replace(job, path=root / "gone.json") for job in jobs)
            rows = engine_rows(root, args.suite, jobs)
            print_table("engines of the bench, privileged baseline", rows)
            return
        baseline = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
        once = rounds_of(args.suite, 0)
        carried_out(root / "baseline", args.suite, once, baseline, OneProcess(baseline))
        write_scripts(root / "baseline", root / "scripts")
        settings = RunSettings(
            planner="partnr_react",
            model=f"scripted:{root / 'scripts'}",
            memory=MemoryKind.FULL,
            agents=1,
        )
        rows = one_process_rows(root / "run", args.suite, args.episodes, settings)
        if args.pool_episodes:
            rows += pool_rows(root, args.suite, args.pool_episodes, settings)
    print_table("benchmark runner, scripted model", rows)


if __name__ == "__main__":
    main()
