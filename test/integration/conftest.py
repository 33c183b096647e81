"""A ROS domain of its own for each test, so that nothing that another one left is heard."""

import fcntl
import itertools
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import pytest

from planner.world.episode import Episode
from planner.world.house import House

if TYPE_CHECKING:
    from bridge_harness import Client
    from planner_harness import Start

# Domains above these collide with the ports that Linux hands out to other programs.
DOMAINS = range(1, 102)

# Files that take the longest, in this order before all others: none is left over at the end, when
# the other processes have nothing to do any more. Those that reckon alternate with those that wait.
LONGEST = (
    "test_security_policy.py",
    "test_planners_alike.py",
    "test_memory.py",
    "test_instruct.py",
    "test_two_stacks.py",
    "test_skills.py",
    "test_bridge_robustness.py",
    "test_task_planner.py",
    "test_up.py",
    "test_console.py",
    "test_same_without_ros.py",
    "test_bridge_goals.py",
    "test_lifecycle.py",
    "test_graph_stack.py",
    "test_approve.py",
    "test_replay_through.py",
    "test_replay.py",
    "test_commander.py",
    "test_model_servers.py",
    "test_recorder.py",
    "test_documented_commands.py",
    "test_built_map.py",
    "test_evaluator.py",
    "test_bridge_time.py",
    "test_faults.py",
    "test_network.py",
    "test_heartbeat.py",
    "test_words.py",
    "test_rescue_stack.py",
    "test_llamar.py",
    "test_demo.py",
    "test_spot_external.py",
    "test_topics.py",
    "test_waiting.py",
    "test_namespaces.py",
    "test_workspace.py",
    "test_bad_network.py",
    "test_parameters.py",
    "test_bridge_topics.py",
    "test_bridge_bounds.py",
    "test_bridge_graph.py",
    "test_memory_bad_input.py",
    "test_bridge_flood.py",
)


class Domains:
    """Holds one domain at a time that no other test process on this machine holds."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / "planner-ros-domains"
        self._folder.mkdir(mode=0o777, exist_ok=True)
        # A number comes again as late as can be: what was killed in it is forgotten by then.
        self._numbers = itertools.cycle(random.sample(DOMAINS, len(DOMAINS)))
        self._held: TextIO | None = None
        self._shared_by: Path | None = None

    def change(self) -> None:
        """Goes to the next that is free."""
        held = self._held
        for number in itertools.islice(self._numbers, len(DOMAINS)):
            lock = (self._folder / str(number)).open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            self._held = lock
            os.environ["ROS_DOMAIN_ID"] = str(number)
            os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
            if held is not None:
                held.close()
            return
        raise pytest.UsageError(f"all ROS domains are in use; see {self._folder}")

    def change_for(self, item: pytest.Item) -> None:
        """Changes before a try of a test, unless nodes of its file run on from one to the next."""
        if self._shared_by == item.path:
            return
        self.change()
        self._shared_by = item.path if _outlive_tests(item) else None


_domains = Domains()


def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport) -> None:
    """Repeats a test whose process ended, once; xdist hands it to the next one anyhow.

    Fast DDS can deadlock when a peer leaves at the moment of an announcement, for instance in the
    client of a test.
    """
    if crashitem not in _ended:
        _ended.add(crashitem)
        report.outcome = "rerun"  # type: ignore[assignment]


_ended: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Before any node of this process: a domain."""
    _domains.change()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of a test, at each try."""
    if item.path.parent == Path(__file__).parent:
        _domains.change_for(item)


def _outlive_tests(item: pytest.Item) -> bool:
    fixtures = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - pytest gives no other
    return any(
        fixture.scope == "module" and fixture.baseid.startswith("test/integration/test_")
        for found in fixtures.values()
        for fixture in found
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; those in other folders stay where they are."""

    def rank(item: pytest.Item) -> int:
        here = item.path.parent == Path(__file__).parent
        return LONGEST.index(item.path.name) if here and item.path.name in LONGEST else len(LONGEST)

    items.sort(key=rank)


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Path:
    """The task of the small house, in files."""
    from bridge_harness import write_world

    return write_world(tmp_path_factory.mktemp("world"), small_house, small_episode)


@pytest.fixture
def client() -> "Iterator[Client]":
    """A node that waits for what should come."""
    # ROS is loaded with the first test that needs it.
    from bridge_harness import Client

    made = Client()
    yield made
    made.close()


@pytest.fixture
def alone(tmp_path: Path, small_house: House, client: "Client") -> "Iterator[Start]":
    """Starts the task planner with nothing else around it."""
    from planner_harness import planner_alone

    with planner_alone(tmp_path, small_house, client) as start:
        yield start
