"""What no camera, model, disk or store should give the memory, given to the real node.

Each costs only itself: one clear error or a counted rejection, and the memory stays as it was.
"""

from __future__ import annotations

import itertools
import math
import resource
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bridge_harness import Client
from chat_server import chat_server
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from memory_harness import Listener, counts, edit
from node_processes import running
from planner_msgs.msg import Entity, Operation
from planner_msgs.srv import QueryMemory
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage

from planner.memory.settings import store_path
from planner.memory.store import read_file
from planner.ros import conversions, qos
from planner.ros.conversions import header, transform_message
from planner.world.geometry import Pose
from planner.world.house import House, write_house
from planner.world.observation import Intrinsics

SIDE_PX = 64
LENS = Intrinsics(SIDE_PX, SIDE_PX, 32.0, 32.0, 32.0, 32.0)
CHAIN = ("map", "agent_0/odom", "agent_0/base_link", "agent_0/hand", "agent_0/optical")
# A body in the kitchen whose camera looks down at its floor.
STANDS = Pose((1.5, 2.0, 2.0), (1.0, 0.0, 0.0, 0.0))
SAID = "Add (192, 192):cup"


@dataclass
class Camera:
    """Stands in the bridge's place, and sends whatever it is told to."""

    client: Client
    stamps: Iterator[float] = field(default_factory=lambda: itertools.count(1.0))

    def __post_init__(self) -> None:
        make = self.client.node.create_publisher
        base = "/agent_0/depth_registered/hand"
        self._depth = make(Image, f"{base}/image", qos.IMAGE)
        self._colour = make(Image, "/agent_0/camera/hand/image", qos.IMAGE)
        self._info = make(CameraInfo, f"{base}/camera_info", qos.IMAGE)
        self._tf = make(TFMessage, "/tf", qos.TF)

    def show(
        self, depth_m: float = 2.0, *, info: bool = True, late_s: float = 0.0, **fields: str
    ) -> None:
        """One exposure; `late_s` parts the stamps.

        `depth` and `colour` name other encodings than the pictures have, `made` another of depth.
        """
        stamp_s = next(self.stamps)
        head = header(stamp_s, CHAIN[-1])
        if info:
            self._info.publish(conversions.camera_info(head, LENS))
        poses = (STANDS, *(Pose((0.0, 0.0, 0.0)),) * 3)
        links = [
            transform_message(stamp_s, parent, child, pose)
            for (parent, child), pose in zip(itertools.pairwise(CHAIN), poses, strict=True)
        ]
        self._tf.publish(TFMessage(transforms=links))
        pixels = np.full((SIDE_PX, SIDE_PX), depth_m, np.float32)
        depth = conversions.depth_message(head, pixels, fields.get("made", "32FC1"))
        # Every picture is another one.
        colours = np.full((SIDE_PX, SIDE_PX, 3), int(stamp_s) % 256, np.uint8)
        colour = conversions.rgb_message(header(stamp_s + late_s, CHAIN[-1]), colours)
        depth.encoding = fields.get("depth", depth.encoding)
        colour.encoding = fields.get("colour", colour.encoding)
        self._depth.publish(depth)
        self._colour.publish(colour)


@dataclass
class Seat:
    """A memory that looks with a model, and everything around it."""

    client: Client
    camera: Camera
    listener: Listener
    answers: list[str]
    statuses: list[DiagnosticArray]

    def rejects(self, what: str, show: Any) -> int:
        """Shows pictures until a count has grown; returns what it has come to."""
        before = self.count(what)

        def grown() -> bool:
            show()
            self.client.idle(0.2)
            return self.count(what) > before

        self.client.wait(grown, what)
        return self.count(what)

    def count(self, what: str) -> int:
        values = counts(self.client, self.statuses)
        return sum(int(n) for key, n in values.items() if what in key and n.isdigit())

    def things(self) -> list[str]:
        return [e.description for e in self.listener.lists[-1].entities if not e.is_furniture]


# Before the others: their memory stays up until the last of them.
def test_a_full_disk_is_one_error_and_nothing_that_was_told_is_lost(
    tmp_path: Path, small_house: House
) -> None:
    house, store = tmp_path / "small.json", tmp_path / "store"
    write_house(small_house, house)
    client = Client("camera")
    with running("memory", house=house, updater="none", store=store) as process:
        camera, listener = Camera(client), Listener(client)
        statuses = client.listen(DiagnosticArray, "/diagnostics")

        def begun() -> bool:
            camera.show()
            client.idle(0.2)
            return bool(listener.lists)

        def status() -> DiagnosticStatus | None:
            found = [s for m in statuses for s in m.status if s.name == "memory: store"]
            return found[-1] if found else None

        def is_told(level: bytes) -> bool:
            now = status()
            return now is not None and now.level == level

        def add(text: str, refused: str = "") -> None:
            answer = edit(client, Operation(kind=Operation.ADD, entity=Entity(description=text)))
            assert (answer.success, refused in answer.message) == (not refused, True)

        client.wait(begun, "the memory's beginning")
        add("before")
        client.wait(lambda: is_told(DiagnosticStatus.OK), "a store that is well")
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, hard))
        for number in range(3):
            add(f"meanwhile {number}", "nothing was changed, as it cannot be stored")
        client.wait(lambda: is_told(DiagnosticStatus.ERROR), "a store that is full")
        assert "not stored" in status().message  # type: ignore[union-attr]
        assert process.log.count("memory is not stored") == 1
        assert not client.call(QueryMemory, "/memory/query", text="meanwhile").entities
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        add("after")
        client.wait(lambda: is_told(DiagnosticStatus.OK), "a store that is well again")
        process.kill()
        process.wait()
    kept = {e.description for e in read_file(store_path(store, small_house.name)).entities}
    assert kept >= {"before", "after"}
    assert not any("meanwhile" in description for description in kept)
    client.close()


@pytest.fixture(scope="module")
def seat(tmp_path_factory: pytest.TempPathFactory, small_house: House) -> Iterator[Seat]:
    house = tmp_path_factory.mktemp("house") / "small.json"
    write_house(small_house, house)
    answers = [SAID]
    with chat_server(answers) as (url, _asked):
        node = {"updater": "vlm", "model": "epm", "model_url": url, "update_period": 0.5}
        with running("memory", house=house, **node) as process:
            client = Client("camera")
            camera, listener = Camera(client), Listener(client)
            statuses = client.listen(DiagnosticArray, "/diagnostics")
            made = Seat(client, camera, listener, answers, statuses)

            def begun() -> bool:
                camera.show(info=False)
                client.idle(0.2)
                return bool(listener.lists)

            client.wait(begun, "the memory's beginning")
            added = edit(client, Operation(kind=Operation.ADD, entity=Entity(description="vase")))
            assert added.success, added.message
            client.wait(lambda: made.things() == ["vase"], "what was told")
            yield made
            assert process.poll() is None, process.log
            client.close()


@pytest.fixture(autouse=True)
def _intact(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever came, what was known is known, and questions are answered."""
    yield
    if "seat" in request.fixturenames:
        seat = request.getfixturevalue("seat")
        assert "vase" in seat.things()
        answer = seat.client.call(QueryMemory, "/memory/query", text="vase")
        assert [e.description for e in answer.entities] == ["vase"]


def test_a_camera_without_info_is_counted_and_teaches_nothing(seat: Seat) -> None:
    seat.rejects("pictures without camera_info", lambda: seat.camera.show(info=False))
    assert seat.things() == ["vase"]


@pytest.mark.parametrize("depth_m", [math.nan, 0.0])
def test_depth_with_nan_and_zeros_is_counted_and_teaches_nothing(
    seat: Seat, depth_m: float
) -> None:
    seat.rejects("operations refused", lambda: seat.camera.show(depth_m))
    assert "there is no depth at" in counts(seat.client, seat.statuses)["last refused"]
    assert seat.things() == ["vase"]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"depth": "mono8"}, "'mono8' is not a depth encoding"),
        ({"made": "16UC1", "depth": "32FC1"}, "agent_0: an image of 64x64 32FC1"),
        ({"colour": "yuv422"}, "'yuv422' is not a colour encoding"),
    ],
)
def test_wrong_encodings_are_counted_by_name(
    seat: Seat, wrong: dict[str, str], reason: str
) -> None:
    seat.rejects(reason, lambda: seat.camera.show(**wrong))
    assert seat.things() == ["vase"]


def test_mismatched_stamps_are_counted_and_teach_nothing(seat: Seat) -> None:
    reason = "pictures without the others of their stamp"
    seat.rejects(reason, lambda: seat.camera.show(late_s=0.1))
    assert seat.things() == ["vase"]


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ("The kitchen looks lovely today!", "lines unreadable"),
        ("Add (192, 19", "lines unreadable"),
        ("Update 9999 (192, 192):cup", "operations refused"),
        ("\n".join(["Add (192, 192):cup"] * 10_000), "lines unreadable"),
    ],
    ids=["garbage", "half an operation", "an unknown number", "10000 operations"],
)
def test_a_model_that_says_nonsense_is_counted_and_changes_nothing(
    seat: Seat, said: str, counted: str
) -> None:
    seat.answers[:] = [said]
    seat.rejects(counted, seat.camera.show)
    assert seat.things() == ["vase"]


def test_after_all_of_that_a_good_picture_teaches(seat: Seat) -> None:
    seat.answers[:] = [SAID]

    def learned() -> bool:
        seat.camera.show()
        seat.client.idle(0.2)
        # Two pictures between two looks teach the cup twice.
        return set(seat.things()) == {"cup", "vase"}

    seat.client.wait(learned, "what the model said")
