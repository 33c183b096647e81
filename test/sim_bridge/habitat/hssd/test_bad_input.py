"""What is missing or broken in a download is one line that names the file and what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hssd_layout import MODELS, SCENE, write_hssd
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cli import main
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.house import House, house_json
from sim_bridge.habitat.hssd.dataset import HssdDataset
from sim_bridge.habitat.hssd.glb import bounds_of, triangles_of
from sim_bridge.habitat.hssd.scene import read_scene
from sim_bridge.habitat.hssd.urdf import Movables, read_urdf

SCENE_FILE = f"scenes-partnr-filtered/{SCENE}.scene_instance.json"
REGIONS = f"semantics/scenes/{SCENE}.semantic_config.json"
CHEST = f"urdf/{MODELS['chest_of_drawers_0']}"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


@pytest.fixture(scope="module")
def good(small_house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hssd(tmp_path_factory.mktemp("hssd"), small_house)


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    return shutil.copytree(good, tmp_path / "hssd")


def _error(folder: Path) -> str:
    with pytest.raises(PlannerError) as caught:
        read_scene(HssdDataset(folder), SCENE, default_catalogue())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def _edit(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_missing_download_says_what_to_get(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["houses", "import", str(tmp_path), SCENE]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    for words in ("HSSD is not here", "hssd/hssd-hab", "branch partnr", "docs/habitat.md"):
        assert words in told
    with pytest.raises(FileError, match="ai-habitat/OVMM_objects"):
        Movables([tmp_path / "objects_ovmm"])


def test_another_version_of_the_download_is_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "hssd-hab-partnr.scene_dataset_config.json").rename(
        folder / "hssd-hab.scene_dataset_config.json"
    )
    assert main(["houses", "import", str(folder), SCENE]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "another version is: hssd-hab.scene_dataset_config.json" in told
    assert "branch partnr" in told


def test_an_unknown_scene_names_some_that_there_are(folder: Path) -> None:
    with pytest.raises(FileError, match=f"has no scene '7', but {SCENE}"):
        read_scene(HssdDataset(folder), "7", default_catalogue())


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (REGIONS, "no 102000001.semantic_config.json, which says its rooms"),
        ("metadata/fpmodels-with-decomposed.csv", "says the classes of furniture"),
        (f"scene_filter_files/{SCENE}.rec_filter.json", "which receptacles can be used"),
        (f"stages/{SCENE}.stage_config.json", f"no stage '{SCENE}'"),
        (f"{CHEST}/{MODELS['chest_of_drawers_0']}.urdf", "cannot be read"),
        (f"objects/2/{MODELS['table_0']}.glb", "cannot be read"),
        (f"objects/2/{MODELS['table_0']}.object_config.json", "there is no object"),
    ],
)
def test_a_missing_file_is_named(folder: Path, file: str, words: str) -> None:
    (folder / file).unlink()
    assert words in _error(folder)


@pytest.mark.parametrize(
    "file",
    [
        SCENE_FILE,
        f"objects/2/{MODELS['table_0']}.glb",
        "metadata/fpmodels-with-decomposed.csv",
        f"{CHEST}/{MODELS['chest_of_drawers_0']}.urdf",
    ],
)
def test_what_git_lfs_did_not_fetch_is_reported(folder: Path, file: str) -> None:
    (folder / file).write_text(LFS, encoding="utf-8")
    assert "run `git lfs pull`" in _error(folder)


def test_a_version_with_other_columns_is_reported(folder: Path) -> None:
    path = folder / "metadata/fpmodels-with-decomposed.csv"
    path.write_text("id,category\nx,table\n", encoding="utf-8")
    assert "has no column 'main_category'" in _error(folder)


def test_scenes_without_rooms_and_storeys_that_are_not_there_are_refused(folder: Path) -> None:
    with pytest.raises(FileError, match="there is no storey 1: there are 1"):
        read_scene(HssdDataset(folder), SCENE, default_catalogue(), 1)
    _edit(folder / REGIONS, lambda document: document.update(region_annotations=[]))
    assert "the scene has no rooms" in _error(folder)


def test_a_broken_field_is_named_by_its_path(folder: Path) -> None:
    def unscale(document: dict[str, object]) -> None:
        document["object_instances"][0]["uniform_scale"] = 0  # type: ignore[index]

    _edit(folder / SCENE_FILE, unscale)
    assert f"{SCENE}.scene_instance.json: object_instances.0.uniform_scale" in _error(folder)


def test_a_dataset_leads_nowhere_else(folder: Path) -> None:
    _edit(
        folder / "hssd-hab-partnr.scene_dataset_config.json",
        lambda document: document.update(scene_instances={"paths": {".json": ["../../etc"]}}),
    )
    assert "leads out of the dataset" in _error(folder)


@pytest.mark.parametrize("pattern", ["", ".", "./", "stages/**x"])
def test_what_is_no_pattern_of_paths_is_refused(folder: Path, pattern: str) -> None:
    _edit(
        folder / "hssd-hab-partnr.scene_dataset_config.json",
        lambda document: document.update(scene_instances={"paths": {".json": [pattern]}}),
    )
    assert f"expected a pattern of paths in the dataset, got {pattern!r}" in _error(folder)


@given(st.binary(max_size=400), st.booleans())
def test_no_bytes_do_more_than_raise_a_file_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, header: bool
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes((b"glTF\x02\0\0\0\0\0\0\0" if header else b"") + content)
    for read in (bounds_of, triangles_of, read_urdf):
        with pytest.raises(FileError):
            read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot/>", "not one body"),
        ("<!DOCTYPE r [<!ENTITY a 'b'>]><robot/>", "is not a plain URDF"),
        ("<robot><link name='a'/><joint name='j' type='fixed'/></robot>", "has no parent"),
        (
            (
                "<robot><link name='a'/><link name='b'/><joint name='j' type='prismatic'>"
                "<parent link='a'/><child link='b'/><axis xyz='0 0 0'/></joint></robot>"
            ),
            "has no direction",
        ),
        (
            (
                "<robot><link name='a'><visual><geometry><box size='1 nan 1'/></geometry>"
                "</visual></link></robot>"
            ),
            "is not a length or angle",
        ),
    ],
)
def test_a_urdf_that_makes_no_sense_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.urdf"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=words):
        read_urdf(path)


EDITED = (
    SCENE_FILE,
    REGIONS,
    f"scene_filter_files/{SCENE}.rec_filter.json",
    f"objects/2/{MODELS['table_0']}.object_config.json",
    f"objects/4/{MODELS['couch_0']}.object_config.json",
    f"{CHEST}/{MODELS['chest_of_drawers_0']}.ao_config.json",
    f"stages/{SCENE}.stage_config.json",
    "hssd-hab-partnr.scene_dataset_config.json",
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, -1.5, 1e308, 1e-320, 1e9]),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
    st.lists(st.sampled_from([0.0, 1.0, -1.0, 1e200]), min_size=3, max_size=4),
)


def _leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found: list[tuple[str | int, ...]] = [path] if path else []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if (isinstance(value, list))
        else ()
    )
    for key, inner in items:
        found += _leaves(inner, (*path, key))
    return found


@pytest.mark.slow
@settings(max_examples=50)
@given(st.data())
def test_no_edit_of_a_file_does_more_than_raise(good: Path, data: st.DataObject) -> None:
    path = good / data.draw(st.sampled_from(EDITED))
    kept = path.read_text("utf-8")
    document = json.loads(kept)
    leaf = data.draw(st.sampled_from(_leaves(document)))
    place = document
    for key in leaf[:-1]:
        place = place[key]
    place[leaf[-1]] = data.draw(values)
    try:
        path.write_text(json.dumps(document), encoding="utf-8")
        scene = read_scene(HssdDataset(good), SCENE, default_catalogue())
    except PlannerError as error:
        if "\n" in str(error):
            raise
    else:
        # What is taken makes a house file that is read again.
        assert House.model_validate_json(house_json(scene.house)) == scene.house
    finally:
        path.write_text(kept, encoding="utf-8")
