"""Exports are whole or not there, and never take the place of something else."""

from __future__ import annotations

import pytest

from planner.replay.export.cli import check_outside, new_file, new_folder, require_extra
from planner.world.errors import PlannerError


def test_a_file_appears_only_when_it_is_whole(tmp_path) -> None:
    path = tmp_path / "new" / "a.mp4"
    with new_file(path, force=False) as file:
        file.write_text("half")
        assert not path.exists()
        assert file.parent == path.parent
    assert path.read_text() == "half"
    assert [p.name for p in path.parent.iterdir()] == ["a.mp4"]


def test_what_fails_leaves_nothing_behind(tmp_path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("old")

    def fail_in_file() -> None:
        with new_file(path, force=True) as file:
            file.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail_in_file()
    assert path.read_text() == "old"
    folder = tmp_path / "tables"

    def stop_in_folder() -> None:
        with new_folder(folder, marker="m", force=False) as made:
            (made / "m").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_in_folder()
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]


def test_nothing_is_overwritten_unasked(tmp_path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("old")
    with pytest.raises(PlannerError, match="exists already; --force"), new_file(path, force=False):
        pytest.fail("no file to write")
    with new_file(path, force=True) as file:
        file.write_text("new")
    assert path.read_text() == "new"


def test_force_replaces_an_export_and_no_other_folder(tmp_path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with (
        pytest.raises(PlannerError, match=r"not an export of this format \(no columns.json\)"),
        new_folder(folder, marker="columns.json", force=True),
    ):
        pytest.fail("no folder to write")
    assert (folder / "thesis.txt").read_text() == "years of work"
    (folder / "columns.json").write_text("{}")
    with new_folder(folder, marker="columns.json", force=True) as made:
        (made / "columns.json").write_text("[]")
    assert [p.name for p in tmp_path.iterdir()] == ["tables"]
    assert {p.name: p.read_text() for p in folder.iterdir()} == {"columns.json": "[]"}


@pytest.mark.parametrize("place", ["bag", "bag/out.mp4", "bag/deep/out.mp4", "link/out.mp4", "."])
def test_a_bag_is_not_written_into(tmp_path, place) -> None:
    bag = tmp_path / "bag"
    bag.mkdir()
    (tmp_path / "link").symlink_to(bag)
    with pytest.raises(PlannerError, match="lies in the bag"):
        check_outside(tmp_path / place, [bag])
    check_outside(tmp_path / "bag.mp4", [bag])


def test_a_disk_that_takes_nothing_is_one_clear_error(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(PlannerError, match="cannot be written"),
        new_file(tmp_path / "file" / "a.mp4", force=False),
    ):
        pytest.fail("no file to write")


def test_a_missing_library_is_named_with_its_extra() -> None:
    require_extra("export", "json")
    with pytest.raises(PlannerError, match=r"no_such_library: pip install 'planner\[export\]'"):
        require_extra("export", "json", "no_such_library")
