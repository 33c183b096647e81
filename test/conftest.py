"""A small furnished house by hand, whose measures the tests know, and a browser."""

from __future__ import annotations

import fcntl
import gc
import math
import os
import signal
import socket
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from headless_browser import Browser, find_browser
from hypothesis import settings
from random_cases import WHOLE

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.furnishing import build_furniture
from planner.world.house import Door, Furniture, House, ObjectPlacement, Room

# What tests start is stopped with Ctrl-C, which comes ignored where they run in the background.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No case is judged by the time that it takes, which a busy machine decides.
# A property is tried with few cases at every change, and again with all of them in the slow tests.
settings.register_profile("patient", max_examples=20, deadline=None)
settings.load_profile("patient")
settings.register_profile("whole", max_examples=WHOLE, deadline=None)
# `pytest --hypothesis-profile=nightly`: as many cases as a night has time for.
settings.register_profile("nightly", max_examples=10_000, deadline=None)

# Collection makes a million objects that live on; looking for garbage among them took a quarter of
# its time. Freezing them spares every later search as well.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Sends what the plugin of repeats asks its server at once.

    It asks two things before each test, the first without an answer. The second then waits for the
    delayed acknowledgement of the first: 40 ms, as long as an average test takes.
    """
    asked = getattr(getattr(config, "failures_db", None), "sock", None)
    if asked is not None:
        asked.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


# What a copy of the checkout may lack (scripts/core_copy.py).
APART = ("papers", "sim_bridge/spot", "sim_bridge/habitat")
LACKING = frozenset(name for name in APART if not (Path(__file__).parents[1] / name).is_dir())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs a folder that is not here, and says so."""
    for item in items:
        needed = {folder for mark in item.iter_markers("needs") for folder in mark.args}
        assert needed <= set(APART), f"{item.nodeid}: there is no such folder to need"
        if needed & LACKING:
            reason = f"without {', '.join(sorted(needed & LACKING))}"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects in one worker first: the others load the test files that it has compiled."""
    with Path(__file__).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()
            # A run of a bench would unfreeze them and search among them, half a second each time;
            # test_forgetting.py alone gives it the real collector.
            if caches := sys.modules.get("planner.bench.runs.models"):
                nothing = SimpleNamespace(collect=int, freeze=int, unfreeze=int)
                setattr(caches, "gc", nothing)  # noqa: B010 - its type is the module's


def _piece(class_name: str, number: int, room: str, x: float, y: float, yaw: float) -> Furniture:
    cls = default_catalogue().furniture[class_name]
    return build_furniture(cls, f"{class_name}_{number}", room, x, y, yaw, cls.size_min_m)


def _on_top(name: str, piece: Furniture, dx: float = 0.0, dy: float = 0.0) -> ObjectPlacement:
    class_name = name.rsplit("_", 1)[0]
    surface = max(piece.surfaces, key=lambda s: s.center[2])
    x, y, z = piece.pose.apply((surface.center[0] + dx, surface.center[1] + dy, surface.center[2]))
    return ObjectPlacement(
        name=name,
        class_name=class_name,
        size_m=default_catalogue().objects[class_name].size_m,
        pose=(x, y, z, piece.yaw_rad),
        parent=piece.name,
        relation="on",
        part=surface.name,
    )


@pytest.fixture(scope="session")
def small_house() -> House:
    """A kitchen from (0, 0) to (4, 4) and a living room from (4, 0) to (8, 4), door at (4, 2)."""
    furniture = (
        _piece("table", 0, "kitchen_0", 2.2, 3.2, -math.pi / 2),
        _piece("sink", 0, "kitchen_0", 0.8, 0.4, math.pi / 2),
        _piece("cabinet", 0, "kitchen_0", 2.6, 0.35, math.pi / 2),
        _piece("table", 1, "living_room_0", 6.6, 3.2, -math.pi / 2),
        _piece("chest_of_drawers", 0, "living_room_0", 7.65, 1.2, math.pi),
        _piece("couch", 0, "living_room_0", 5.6, 0.6, math.pi / 2),
    )
    table = furniture[0]
    objects = (
        _on_top("cup_0", table, dy=0.15),
        _on_top("apple_0", table, dy=-0.15),
        _on_top("book_0", furniture[3]),
    )
    return House(
        version=1,
        name="small",
        rooms=(
            Room(
                name="kitchen_0",
                class_name="kitchen",
                polygon_m=((0, 0), (4, 0), (4, 4), (0, 4)),
            ),
            Room(
                name="living_room_0",
                class_name="living_room",
                polygon_m=((4, 0), (8, 0), (8, 4), (4, 4)),
            ),
        ),
        doors=(
            Door(
                name="door_0",
                rooms=("kitchen_0", "living_room_0"),
                center_m=(4, 2),
                yaw_rad=math.pi / 2,
                width_m=1.0,
            ),
        ),
        furniture=furniture,
        objects=objects,
    )


@pytest.fixture(scope="session")
def small_episode(small_house: House) -> Episode:
    """A robot in the kitchen, a person in the living room, the house's own things."""
    return Episode(
        version=1,
        episode_id="small",
        house="small",
        instruction="Bring the cup to the living room.",
        agents=(
            {"uid": "agent_0", "kind": "robot", "start": (1.5, 2.0, 0.0)},
            {"uid": "agent_1", "kind": "human", "start": (6.0, 2.0, math.pi)},
        ),
        objects=small_house.objects,
    )


@pytest.fixture
def outside_make() -> dict[str, str]:
    """The environment without what a `make` that runs the tests tells the one that a test runs."""
    # `make test ARGS=...` names ARGS in MAKEFLAGS and exports it.
    given = {word.partition("=")[0] for word in os.environ.get("MAKEFLAGS", "").split()}
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MAKE") and name != "MFLAGS" and name not in given
    }


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser; the test is skipped where none is installed."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with Browser(path) as found:
        yield found
