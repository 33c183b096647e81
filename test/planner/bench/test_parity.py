"""Two simulators are at par, and each way in which they are not is told by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from planner.bench import parity as module
from planner.bench.parity import Pixels, compare_backends, parity_lines, script, truth
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import CameraFrame, Observation
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Handle
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.opening import bare_episode


@pytest.fixture(autouse=True)
def few_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PANS_RAD", (0.5,))
    monkeypatch.setattr(module, "CAMERAS", ("hand",))


@pytest.fixture
def first() -> Iterator[EmbeddedBackend]:
    backend = EmbeddedBackend()
    yield backend
    backend.close()


class Other(EmbeddedBackend):
    """Sees and does otherwise."""

    deeper_m = 0.0
    renamed = 0
    clumsy = False

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        seen = super().observe(agent, cameras)
        frames = {name: self._altered(frame) for name, frame in seen.cameras.items()}
        return replace(seen, cameras=frames)

    def _altered(self, frame: CameraFrame) -> CameraFrame:
        ids = np.asarray(frame.instances) + self.renamed
        return replace(frame, depth_m=frame.depth_m + np.float32(self.deeper_m), instances=ids)

    def start(self, agent: str, primitive: Primitive) -> Handle:
        if self.clumsy and primitive.name is PrimitiveName.PICK:
            primitive = replace(primitive, target_m=(0.0, 0.0, 3.0))
        return super().start(agent, primitive)


@pytest.mark.slow
def test_a_simulator_is_at_par_with_itself(small_house: House, first: EmbeddedBackend) -> None:
    second = Other()
    found = compare_backends(first, second, small_house, 3)
    assert found.different == ()
    # Of every deed one, and of every meeting one of each agent.
    assert found.pixels.frames > len(found.primitives)
    assert found.pixels.elsewhere == 0
    assert found.walked_m[0] == found.walked_m[1] > 1.0
    names = {
        compared.primitive.name.value
        for compared in found.primitives
        if compared.results[0].succeeded
    }
    assert {"navigate", "look", "pick", "place"} <= names
    assert any(not compared.results[0].succeeded for compared in found.primitives)
    assert parity_lines(found, ("embedded", "other"))[-1] == "  at par"


@pytest.mark.slow
def test_what_differs_is_named(small_house: House, first: EmbeddedBackend) -> None:
    second = Other()
    second.deeper_m, second.renamed, second.clumsy = 0.03, 1, True
    found = compare_backends(first, second, small_house, 3)
    assert {"depth", "labels", "codes"} <= set(found.different)
    assert found.pixels.worst is not None
    lines = "\n".join(parity_lines(found, ("embedded", "other")))
    assert "NOT at par: depth, labels, codes" in lines
    assert "unlike: pick at" in lines
    assert "NOTHING_THERE" in lines


def test_views_of_two_places_are_not_compared() -> None:
    shape = (4, 4)
    frame = CameraFrame(
        np.zeros((*shape, 3), np.uint8),
        np.ones(shape, np.float32),
        np.zeros(shape, np.int32),
        None,  # type: ignore[arg-type]
        Pose((0.0, 0.0, 1.0)),
    )
    pixels = Pixels()
    assert pixels.depth_share == 0.0
    pixels.add(frame, replace(frame, pose=Pose((0.1, 0.0, 1.0))))
    assert (pixels.frames, pixels.elsewhere) == (0, 1)
    half = frame.depth_m.copy()
    half[:2] = 0.0
    pixels.add(frame, replace(frame, depth_m=half))
    assert (pixels.depth_share, pixels.label_share) == (0.5, 1.0)


def test_the_script_carries_things_elsewhere(small_house: House, first: EmbeddedBackend) -> None:
    first.reset(small_house, bare_episode(small_house, 1), 3)
    errands, wanted = script(small_house, truth(first))
    parents = {item.name: item.parent for item in small_house.objects}
    assert wanted
    assert all(parents[thing] != top for thing, top in wanted.items())
    assert len(errands) >= 2 + 4 * len(wanted)


def test_a_world_without_truth_cannot_be_compared() -> None:
    with pytest.raises(PlannerError, match="ground truth"):
        truth(EmbeddedBackend())
