"""PARTNR's episodes in their own scenes: a download's layout in, an episode that starts out."""

from __future__ import annotations

import json
from pathlib import Path

import partnr_layout
import pytest
from hssd_layout import CUP_MODEL, SCENE, episode, handle, write_hssd, write_movables

from papers.partnr.episodes.episodes import import_partnr_episodes
from planner.app.embedded_run import run_embedded
from planner.app.run_options import RunOptions
from planner.cli import main
from planner.evaluation.language import read_evaluation
from planner.planning.expert.expert import Expert
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.vocabulary import Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


@pytest.fixture(scope="module")
def hssd(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hssd(tmp_path_factory.mktemp("scenes"), small_house)


def test_an_episode_has_the_scenes_names_and_the_datasets_places(
    hssd: Path, small_house: House, tmp_path: Path
) -> None:
    path = partnr_layout.write(tmp_path, [episode(small_house)])
    objects = write_movables(tmp_path)
    found = import_partnr_episodes([path], 0, scenes=hssd, objects=[objects])
    assert found.left_out == ()
    (made,) = found.episodes
    assert made.house == f"hssd-{SCENE}"
    assert made.source is not None
    assert not made.source.needs_scene
    (cup,) = made.objects
    # The kitchen's table is table_1 there, by the name of its model.
    assert (cup.name, cup.parent, cup.relation) == ("cup_0", "table_1", Relation.ON)
    assert cup.size_m == (0.1, 0.1, 0.12)
    table = small_house.furniture_by_name["table_0"]
    assert cup.pose[:2] == pytest.approx((table.x_m, table.y_m))
    assert cup.pose[2] == pytest.approx(max(s.center[2] for s in table.surfaces))
    assert cup.states == {"clean": False}
    assert made.furniture["chest_of_drawers_0"].open
    evaluation = read_evaluation(made.evaluation, "")
    assert evaluation.propositions[0].lists == (("cup_0",), ("couch_0",))
    assert evaluation.propositions[1].lists == (("cup_0",), ("living_room_0",))


def test_the_command_makes_episodes_that_start_and_are_carried_out(
    hssd: Path, small_house: House, tmp_path: Path
) -> None:
    path = partnr_layout.write(tmp_path, [episode(small_house)])
    out = tmp_path / "out"
    words = ["episodes", "import", "partnr-episodes", str(path), "-o", str(out)]
    objects = str(write_movables(tmp_path))
    assert main([*words, "--scenes", str(hssd), "--objects", objects]) == 0
    assert json.loads((out / "import_report.json").read_text("utf-8"))["needs_scene"] == {}
    made, house = load_episode(out / "val-0.json")
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    try:
        result = run_embedded(backend, house, made, Expert, RunOptions(images=False))
    finally:
        backend.close()
    assert result.verdict.success, result.verdict.explanation


def test_what_has_no_place_is_left_out_with_its_reason(
    hssd: Path, small_house: House, tmp_path: Path
) -> None:
    cup = f"{CUP_MODEL}_:0000"
    lost = {**episode(small_house), "name_to_receptacle": {cup: "99_:0000|receptacle_mesh"}}
    nowhere = {**episode(small_house), "episode_id": "1", "scene_id": "7"}
    path = partnr_layout.write(tmp_path, [lost, nowhere])
    found = import_partnr_episodes([path], 0, scenes=hssd)
    assert found.episodes == ()
    reasons = {fault.episode_id: fault.reason for fault in found.left_out}
    assert "cup_0 is on 99_:0000, which is not in our house" in reasons["0"]
    assert "has no scene '7'" in reasons["1"]


def test_older_receptacle_names_find_the_place_below(
    hssd: Path, small_house: House, tmp_path: Path
) -> None:
    cup = f"{CUP_MODEL}_:0000"
    document = {**episode(small_house), "name_to_receptacle": {cup: handle("table_0")}}
    path = partnr_layout.write(tmp_path, [document])
    (made,) = import_partnr_episodes([path], 0, scenes=hssd).episodes
    assert made.objects[0].part == "surface_0"


def test_a_missing_download_and_two_wishes_are_one_line(
    small_house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = partnr_layout.write(tmp_path, [episode(small_house)])
    words = ["episodes", "import", "partnr-episodes", str(path), "-o", str(tmp_path / "out")]
    assert main([*words, "--scenes", str(tmp_path / "hssd-hab")]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "hssd/hssd-hab" in told
    with pytest.raises(PlannerError, match="either --fit or --scenes"):
        import_partnr_episodes([path], 0, fit=True, scenes=tmp_path)
