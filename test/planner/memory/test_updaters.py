"""The updaters by their names, as the node, the bring-up and the bench make them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from memory_samples import layout_of

from planner.app.house_tour import tour, tour_episode
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.memory import Memory
from planner.memory.part import UPDATERS, UpdaterModel, UpdaterRequest, load_updater
from planner.memory.updater import Counting
from planner.world.errors import PlannerError
from planner.world.house import House
from sim_bridge.backend import Drawn, make_backend

BASELINES = ("voxels-plain", "voxels-room", "voxels-room-time-only", "object-graph")
NEED_A_MODEL = ("vlm", "open-vocabulary")


@pytest.mark.parametrize("name", ["privileged", "learned", *BASELINES])
def test_those_that_need_no_model_have_the_name_they_are_asked_by(name: str) -> None:
    request = UpdaterRequest(name, truth_source=lambda: None, class_of={1: "cup"}.get)
    assert load_updater(request)(layout_of(1)).name == name


def test_the_truth_is_read_by_privileged_and_by_baselines_without_a_model() -> None:
    parts = UPDATERS.usable()
    without = {name for name, part in parts.items() if part.reads_truth("", {})}
    with_model = {name for name, part in parts.items() if part.reads_truth("a_folder", {})}
    assert without == {"privileged", *BASELINES}
    assert with_model == {"privileged"}
    true = {"true_segmentation": True}
    added = {name for name, part in parts.items() if part.adds_truth(true)}
    assert added == {"learned", "open-vocabulary"}
    assert all(parts[name].reads_truth("a_folder", true) for name in added)


def test_a_server_is_asked_by_vlm_alone() -> None:
    model = UpdaterModel(model="tiny", url="http://127.0.0.1:9/v1")
    assert load_updater(UpdaterRequest("vlm", model))(layout_of(1)).name == "vlm"
    with pytest.raises(PlannerError, match="takes no server"):
        load_updater(UpdaterRequest("learned", model))
    with pytest.raises(PlannerError, match="needs the server's name"):
        load_updater(UpdaterRequest("vlm", UpdaterModel(url=model.url)))


@pytest.mark.parametrize("name", ["learned", *NEED_A_MODEL, *BASELINES])
def test_a_missing_model_is_one_clear_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match=r"needs? the extra|is not a model folder|cannot be"):
        load_updater(UpdaterRequest(name, UpdaterModel(model=str(tmp_path))))
    if name in BASELINES:
        with pytest.raises(PlannerError, match="ground-truth classes"):
            load_updater(UpdaterRequest(name))
    if name in NEED_A_MODEL:
        with pytest.raises(PlannerError, match=f"the memory {name} needs a model"):
            load_updater(UpdaterRequest(name))


def test_a_black_camera_teaches_nothing_and_takes_nothing_back(small_house: House) -> None:
    """The same looks again, with depth but without light: the memory stays as it was."""
    updater = load_updater(UpdaterRequest("learned"))(small_house.layout)
    memory = Memory(small_house.layout, updater)
    world = make_backend("embedded", drawn=Drawn(instances=False))
    world.reset(small_house, tour_episode(small_house), 1)
    looks = list(itertools.islice(tour(world, small_house), 40))
    world.close()
    for look in looks:
        memory.observe(look)
    known = [(e.name, e.position_m) for e in memory.entities]
    assert len(known) > len(small_house.furniture)
    for look in looks:
        frame = look.cameras["hand"]
        dark = replace(frame, rgb=np.full_like(frame.rgb, 5))
        memory.observe(replace(look, stamp_s=look.stamp_s + 100, cameras={"hand": dark}))
    assert [(e.name, e.position_m) for e in memory.entities] == known
    assert isinstance(updater, Counting)
    assert updater.counts["black pictures"] == len(looks)


def test_a_model_that_ships_for_a_preset_of_sensors_goes_by_its_name() -> None:
    """Also after a command line has made the name a path; it knows how far its sensors are off."""
    off_m = []
    for named in ("consumer_rgbd", "/anywhere/consumer_rgbd", ""):
        request = UpdaterRequest("learned", UpdaterModel(model=named))
        updater = UPDATERS.get("learned").make(request)(layout_of(1))
        assert isinstance(updater, LearnedUpdater)
        off_m.append(updater._options.off_m)
    assert off_m == [0.07, 0.07, 0.0]
    with pytest.raises(PlannerError, match="memory_of_nowhere"):
        load_updater(UpdaterRequest("learned", UpdaterModel(model="memory_of_nowhere")))
