"""Flags that choose the engine of a run, shared by commands that run episodes."""

from __future__ import annotations

import argparse

from planner.bench.runs.engines import Engine, EngineKind, OneProcess
from planner.bench.runs.pool import ProcessPool
from planner.bench.runs.settings import RunSettings
from planner.world.errors import PlannerError


def add_engine_flags(group: argparse._ArgumentGroup) -> None:
    """Declares them."""
    group.add_argument("--workers", type=int, default=1, metavar="W", help="processes")
    group.add_argument(
        "--engine",
        choices=[kind.value for kind in EngineKind],
        help="default: one_process, or pool with several workers",
    )
    group.add_argument("--ray-address", default="", help="head of a cluster; none = this machine")
    group.add_argument(
        "--at-once", type=int, default=1, metavar="C", help="concurrent episodes in one process"
    )


def make_engine(args: argparse.Namespace, settings: RunSettings) -> Engine:
    """The engine that the flags name.

    Raises:
        PlannerError: for flags that do not fit together, or without the extra `ray`.
    """
    default = EngineKind.POOL if args.workers > 1 else EngineKind.ONE_PROCESS
    kind = EngineKind(args.engine) if args.engine else default
    if kind is EngineKind.ONE_PROCESS and args.workers > 1:
        raise PlannerError(f"--engine one_process has no {args.workers} workers; leave one out")
    if kind is not EngineKind.ONE_PROCESS and args.at_once > 1:
        raise PlannerError("--at-once is for --engine one_process")
    if kind is EngineKind.RAY:
        from planner.bench.runs.ray_engine import RayEngine

        return RayEngine(settings, args.workers, args.ray_address)
    if kind is EngineKind.POOL:
        return ProcessPool(settings, args.workers)
    return OneProcess(settings, args.at_once)
