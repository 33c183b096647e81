"""`planner doctor`: what is installed, what is missing, how to get it.

Anything that could crash or hang, such as a graphics driver, is tested in a child process.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from planner import network_probe, renderer_probe
from planner.bad_day.schedule import FORMS
from planner.bench.runs.paper import TABLES
from planner.bench.suite import SUITES
from planner.environment import ros_environment
from planner.episodes.generator import GENERATORS
from planner.episodes.importing.importer import IMPORTERS
from planner.evaluation.constraints import ALL_JUDGES
from planner.evaluation.metrics.metric import ALL_METRICS
from planner.evaluation.subtasks import SUBTASK_RULES
from planner.houses.part import HOUSE_FORMATS
from planner.memory.part import UPDATERS
from planner.models.chat import MODELS
from planner.parts.calls import SKILLS
from planner.parts.catalog import OUR_PACKAGE
from planner.parts.command import COMMAND_PARTS
from planner.planning.part import PLANNERS
from planner.security.policy import KEYSTORE, VIEWER, is_secured, join_as
from planner.world.errors import PlannerError
from planner.world.share import is_source_tree
from sim_bridge.backend import BACKENDS, OtherPython

KINDS = (
    *(PLANNERS, UPDATERS, BACKENDS, SKILLS, MODELS, ALL_METRICS, SUITES),
    *(HOUSE_FORMATS, FORMS),
    *(ALL_JUDGES, SUBTASK_RULES),
    *(IMPORTERS, GENERATORS),
    *(TABLES, COMMAND_PARTS),
)
_TRIAL_TIMEOUT_S = 120.0
_OUR_PATHS = ("PYTHONPATH", "PYTHONHOME")
_ROS_PARTS = ("ROS 2 (rclpy)", "planner_msgs", "tf2_msgs")
_EXTRAS = (
    "local", "smollm", "vlm", "train", "embed", "security", "viewer", "export", "report", "ray",
)  # fmt: skip


class Status(StrEnum):
    """The result of a check."""

    PRESENT = "present"
    MISSING = "missing"
    ABSENT = "absent"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the table.

    Attributes:
        part: what was checked.
        status: `MISSING` if the core needs it, `ABSENT` if it is optional, `WARNING` if it works
            but is unsafe.
        detail: version and location, or what went wrong.
        cure: how to get it, or what to do; "" if it is present.
    """

    part: str
    status: Status
    detail: str
    cure: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--json`."""
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")


def run(args: argparse.Namespace) -> int:
    """Print the findings; 0 if everything the core needs is present, else 1."""
    findings = examine()
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        print(table(findings))
    return int(any(finding.status is Status.MISSING for finding in findings))


def examine() -> tuple[Finding, ...]:
    """Run all checks, several in parallel."""
    checks: tuple[Callable[[], Iterable[Finding]], ...] = (
        _python, _ros, _interfaces, _network, _compiled, _renderers, _build_tools, _launch,
        _extras, _parts,
    )  # fmt: skip
    with ThreadPoolExecutor(len(checks)) as pool:
        answers = list(pool.map(lambda check: tuple(check()), checks))
    return tuple(finding for answer in answers for finding in answer)


def table(findings: Iterable[Finding]) -> str:
    """Format findings for a terminal, each cure below its finding."""
    rows = list(findings)
    part = max(len(row.part) for row in rows)
    status = max(len(row.status) for row in rows)
    lines = []
    for row in rows:
        lines.append(f"{row.part:<{part}}  {row.status:<{status}}  {row.detail}".rstrip())
        if row.cure:
            lead = "do" if row.status is Status.WARNING else "get it"
            lines.append(f"{'':<{part}}  {'':<{status}}  {lead}: {row.cure}")
    missing = [row.part for row in rows if row.status is Status.MISSING]
    lines.append("")
    lines.append(
        f"missing: {', '.join(missing)}" if missing else "everything the core needs is present"
    )
    if missing and set(missing) <= set(_ROS_PARTS):
        lines.append("without ROS you can use planner run, bench, episodes, houses and evaluate")
    return "\n".join(lines)


# Checks in a child process


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of Python code in a child process: its last line, of output or error."""

    worked: bool
    line: str


def trial(code: str, *, python: str = sys.executable, **environment: str) -> Trial:
    """Run Python code in a child process of an interpreter; a crash is a result too.

    Raises:
        OSError: if the interpreter cannot be run.
    """
    whole = {**ros_environment(os.environ), **environment}
    join_as(whole, VIEWER)
    if python != sys.executable:
        # Our paths are for our own Python.
        whole = {key: value for key, value in whole.items() if key not in _OUR_PATHS}
    try:
        done = subprocess.run(
            [python, "-c", code],
            env=whole,
            capture_output=True,
            text=True,
            timeout=_TRIAL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Trial(False, f"no answer within {_TRIAL_TIMEOUT_S:g} s")
    if done.returncode == 0:
        return Trial(True, _last_line(done.stdout))
    if done.returncode < 0:
        last = _last_line(done.stderr)
        return Trial(False, f"crashed with signal {-done.returncode}" + (last and f": {last}"))
    return Trial(False, _last_line(done.stderr))


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else ""


# The parts


def _python() -> Iterable[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    again = "make setup PYTHON=python3.12" if is_source_tree() else "python3.12 -m venv ENVIRONMENT"
    yield Finding(
        "Python",
        Status.PRESENT if fits else Status.MISSING,
        f"{version} in {sys.prefix}",
        "" if fits else f"install Python 3.11, 3.12 or 3.13, then: {again}",
    )


def _ros() -> Iterable[Finding]:
    answer = trial(
        "import pathlib, rclpy\n"
        "from rclpy.utilities import get_rmw_implementation_identifier as rmw\n"
        "rclpy.init()\n"
        "print(rmw(), 'in', pathlib.Path(rclpy.__file__).parent)\n"
        "rclpy.shutdown()"
    )
    cure = f"{_installed('ros')}, or source your own ROS 2's setup.bash"
    yield _needed("ROS 2 (rclpy)", answer, cure)


def _interfaces() -> Iterable[Finding]:
    build = "make setup, or build" if is_source_tree() else "with ROS 2, build the source tree's"
    shim = "make setup" if is_source_tree() else "with the ROS wheels, build shims/tf2_msgs too"
    for package, cure in (
        ("planner_msgs", f"{build} msgs/ in your workspace (docs/workspace.md)"),
        ("tf2_msgs", f"{shim}, or install ros-<distribution>-tf2-msgs"),
    ):
        answer = trial(
            f"import {package}.msg, pathlib; print(pathlib.Path({package}.__file__).parent)"
        )
        yield _needed(package, answer, cure)


def _network() -> Iterable[Finding]:
    answer = trial(network_probe.SOCKETS)
    if answer.worked:
        reach = network_probe.judge(os.environ, answer.line)
        status = Status.PRESENT if reach.is_protected else Status.WARNING
        yield Finding("network", status, reach.detail, reach.cure)
    else:
        yield Finding("network", Status.WARNING, f"no node starts: {answer.line}", "docs/setup.md")
    security = trial(network_probe.SECURITY)
    yield Finding(
        "security (SROS 2)",
        Status.PRESENT if security.worked else Status.ABSENT,
        security.line,
        "" if security.worked else "comes with a distribution's own ROS 2 (docs/setup.md)",
    )
    if is_secured(os.environ):
        yield _keystore(os.environ.get(KEYSTORE, ""))


def _keystore(folder: str) -> Finding:
    part = "keystore"
    make = f"planner keystore {folder or 'DIR'}"
    if not folder:
        cure = f"{make}, then: export {KEYSTORE}=DIR"
        return Finding(part, Status.WARNING, f"{KEYSTORE} is not set", cure)
    try:
        found = network_probe.examine_keys(os.environ, Path(folder))
    except PlannerError as error:
        return Finding(part, Status.WARNING, str(error), f"{make} (docs/setup.md)")
    if found.problems:
        cure = f"where the keystore was made: {make}"
        return Finding(part, Status.WARNING, "; ".join(found.problems), cure)
    ends = f"until {found.ends:%Y-%m-%d}" if found.ends else "no certificates"
    detail = f"{folder}: {len(found.present)} identities, {ends}"
    if found.missing:
        detail += f"; without {', '.join(found.missing)}"
        cure = f"no need unless they run here; else {make}"
        return Finding(part, Status.ABSENT, detail, cure)
    return Finding(part, Status.PRESENT, detail)


def _compiled() -> Iterable[Finding]:
    answer = trial("import sim_bridge.embedded._compiled as made; print(made.__file__)")
    cure = "make setup, or, where setup.py is: python setup.py build_ext --inplace"
    if not is_source_tree():
        cure = "install a wheel that was built with cffi and a C compiler"
    yield _needed("simulator, compiled part", answer, cure)


def _renderers() -> Iterable[Finding]:
    """The simulator uses the first of these that works."""
    answers = []
    for name, title, cure in (
        ("egl", "renderer EGL", "apt install libegl1 libopengl0 libgl1-mesa-dri"),
        ("osmesa", "renderer OSMesa", "apt install libosmesa6; only of use where EGL fails"),
        ("rays", "renderer rays", _installed()),
    ):
        answer = trial(renderer_probe.source(name), MUJOCO_GL="" if name == "rays" else name)
        answers.append(answer)
        status = Status.PRESENT if answer.worked else Status.ABSENT
        if name == "rays" and not any(each.worked for each in answers):
            status = Status.MISSING
        detail = answer.line if answer.worked else f"does not draw: {answer.line}"
        yield Finding(title, status, detail, "" if answer.worked else cure)


def _build_tools() -> Iterable[Finding]:
    for tool, cure in (
        ("colcon", _installed("ros")),
        ("cmake", "apt install cmake"),
        ("g++", "apt install g++"),
    ):
        place = shutil.which(tool, path=f"{sys.prefix}/bin{os.pathsep}{os.environ.get('PATH', '')}")
        if place:
            yield Finding(f"{tool} (to build msgs/)", Status.PRESENT, place)
        else:
            yield Finding(f"{tool} (to build msgs/)", Status.ABSENT, "not on PATH", cure)


def _launch() -> Iterable[Finding]:
    answer = trial(
        "import launch, launch_ros, pathlib; print(pathlib.Path(launch.__file__).parent)"
    )
    yield Finding(
        "launch (for ros2 launch)",
        Status.PRESENT if answer.worked else Status.ABSENT,
        answer.line if answer.worked else "planner up does the same without it",
        "" if answer.worked else "comes with a distribution's own ROS 2",
    )


def _extras() -> Iterable[Finding]:
    extras, backends = extra_requirements(), BACKENDS.usable()
    for extra in dict.fromkeys((*_EXTRAS, *(p.extra for p in backends.values() if p.extra))):
        title = f"extra {extra}"
        versions = {name: _version(name) for name in extras.get(extra, ())}
        missing = sorted(name for name, version in versions.items() if version is None)
        if missing:
            cure = _installed(extra)
            yield Finding(title, Status.ABSENT, f"lacks {', '.join(missing)}", cure)
        else:
            detail = ", ".join(f"{name} {version}" for name, version in versions.items())
            yield Finding(title, Status.PRESENT, detail)
    for name, part in backends.items():
        if part.other_python is not None:
            yield _other_python(name, part.other_python)


def _other_python(backend: str, needs: OtherPython) -> Finding:
    """A program that is here, or in the environment of another Python."""
    title, python = f"{needs.program} (for backend:={backend})", os.environ.get(needs.variable, "")
    is_here = not python and find_spec(needs.module) is not None
    if not python and not is_here:
        detail = f"neither in this environment nor in one that {needs.variable} names"
        return Finding(title, Status.ABSENT, detail, needs.cure)
    named = "in this environment" if is_here else f"{needs.variable}={python}"
    try:
        answer = trial(needs.trial, python=python or sys.executable, **needs.environment)
    except OSError as error:
        return Finding(title, Status.ABSENT, f"{named} cannot be run: {error.strerror}", needs.cure)
    status = Status.PRESENT if answer.worked else Status.ABSENT
    return Finding(title, status, f"{named}: {answer.line}", "" if answer.worked else needs.cure)


def extra_requirements() -> dict[str, tuple[str, ...]]:
    """Return the distributions each extra needs, as the installed package declares them.

    Raises:
        PlannerError: if the package is not installed.
    """
    found: dict[str, tuple[str, ...]] = {}
    try:
        declared = importlib.metadata.requires("planner") or []
    except importlib.metadata.PackageNotFoundError as error:
        raise PlannerError("the package planner is not installed: make setup") from error
    for line in declared:
        requirement, _, marker = line.partition(";")
        extra = re.search(r"extra\s*==\s*[\"']([\w-]+)[\"']", marker)
        name = re.match(r"[\w.-]+", requirement)
        if extra and name:
            found[extra[1]] = (*found.get(extra[1], ()), name[0])
    return found


def _parts() -> Iterable[Finding]:
    """Planners, backends and so on; those of other packages with the package's name."""
    for kind in KINDS:
        usable = kind.usable()
        words = [
            name if (package := kind.package_of(name)) == OUR_PACKAGE else f"{name} ({package})"
            for name in usable
        ]
        yield Finding(f"{kind.kind}s", Status.PRESENT, ", ".join(words))
        for problem in kind.problems():
            what, _, cure = problem.rpartition("; ")
            yield Finding(f"{kind.kind}s", Status.WARNING, what, cure)


def _installed(extra: str = "") -> str:
    """The command that installs this package with an extra; FILE.whl is the original wheel."""
    if not is_source_tree():
        # Not by name: a package index may have another package of that name.
        return f"{sys.prefix}/bin/pip install 'FILE.whl{f'[{extra}]' if extra else ''}'"
    if extra in ("", "ros"):
        return "make setup"
    return f"{sys.prefix}/bin/pip install -c constraints.txt -e '.[{extra}]'"


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _needed(part: str, answer: Trial, cure: str) -> Finding:
    status = Status.PRESENT if answer.worked else Status.MISSING
    return Finding(part, status, answer.line, "" if answer.worked else cure)
