from pathlib import Path

import pytest
from PIL import Image

from planner.narrator.picture import save
from planner.world.errors import PlannerError

PICTURE = Image.new("RGB", (8, 8))


def test_a_picture_is_kept_in_a_folder_of_its_own(tmp_path: Path) -> None:
    save(PICTURE, tmp_path / "out" / "run.png")
    assert Image.open(tmp_path / "out" / "run.png").size == (8, 8)


def test_a_picture_that_cannot_be_kept_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlannerError, match=r"run\.png: cannot be written"):
        save(PICTURE, tmp_path / "file" / "run.png")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_leaves_no_piece_of_a_picture(tmp_path: Path) -> None:
    (tmp_path / "run.png").symlink_to("/dev/full")
    with pytest.raises(PlannerError, match="No space left"):
        save(PICTURE, tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []
