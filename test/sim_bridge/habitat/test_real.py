"""The backend with a real habitat-sim: PLANNER_HABITAT_PYTHON names a Python that has it."""

from __future__ import annotations

import os
import signal
import time
import venv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from planner.bench.parity import compare_backends, parity_lines
from planner.parts.catalog import Verdict
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.conformance import CHECKS, check_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.habitat.backend import HabitatBackend
from sim_bridge.habitat.options import HabitatOptions
from sim_bridge.habitat.process import HabitatError, HabitatGoneError
from sim_bridge.opening import bare_episode, default_house, open_world

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("PLANNER_HABITAT_PYTHON") and find_spec("habitat_sim") is None,
        reason="no habitat_sim: name a Python that has it in PLANNER_HABITAT_PYTHON",
    ),
]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> HabitatOptions:
    return HabitatOptions(cache=str(tmp_path_factory.mktemp("houses")))


@pytest.fixture(scope="module")
def backend(options: HabitatOptions) -> Iterator[HabitatBackend]:
    made = HabitatBackend(options)
    yield made
    made.close()


def test_it_conforms_unchanged_and_nothing_is_skipped(options: HabitatOptions) -> None:
    opened = open_world(default_house(), "", 7, agents=2)
    report = check_backend(
        lambda: HabitatBackend(options), house=opened.house, episode=opened.episode
    )
    assert report.failed == {}
    assert [f.check for f in report.findings if f.verdict is Verdict.SKIPPED] == []
    assert len(report.findings) == len(CHECKS)


def test_it_is_at_par_with_the_embedded_simulator(backend: HabitatBackend) -> None:
    embedded = EmbeddedBackend()
    parity = compare_backends(embedded, backend, load_house("train_1"), 7)
    embedded.close()
    assert parity.different == (), "\n".join(parity_lines(parity, ("embedded", "habitat")))
    assert parity.pixels.elsewhere < parity.pixels.frames / 10


def test_the_camera_does_not_see_its_own_body_but_the_others(
    backend: HabitatBackend, small_house: House
) -> None:
    backend.reset(small_house, bare_episode(small_house, 2), 3)
    state = backend.world_state()
    assert state is not None
    own = state.entities["agent_0"].instance_id
    for camera in ("hand", "body"):
        ids = backend.observe("agent_0", (camera,)).cameras[camera].instances
        assert ids is not None
        assert not np.isin(own, ids)


def test_an_abort_inside_habitat_sim_is_one_error_and_reset_recovers(
    options: HabitatOptions, small_house: House, small_episode: Episode
) -> None:
    wrong = HabitatBackend(options.model_copy(update={"gpu_device_id": 7}))
    with pytest.raises(HabitatGoneError) as gone:
        wrong.reset(small_house, small_episode, 3)
    assert "\n" not in str(gone.value)
    wrong.close()
    backend = HabitatBackend(options)
    backend.reset(small_house, small_episode, 3)
    box = backend._sandbox
    assert box is not None
    os.kill(box.process.pid, signal.SIGABRT)
    while not backend.fault:
        time.sleep(0.01)
    with pytest.raises(HabitatError, match="SIGABRT"):
        backend.observe("agent_0")
    backend.reset(small_house, small_episode, 3)
    assert backend.fault == ""
    assert backend.observe("agent_0").cameras["hand"].rgb.any()
    backend.close()


def test_an_interpreter_that_lacks_habitat_sim_is_reported(
    options: HabitatOptions, small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    venv.create(tmp_path / "bare")
    python = str(tmp_path / "bare" / "bin" / "python")
    bare = HabitatBackend(options.model_copy(update={"python": python}))
    with pytest.raises(HabitatError, match="No module named"):
        bare.reset(small_house, small_episode, 3)
    bare.close()
