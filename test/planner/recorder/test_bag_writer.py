"""A bag that is begun where there is no room for it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from planner.recorder import bag_writer
from planner.recorder.bag_writer import BagWriter, DiskFullError


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, "no room")

    with monkeypatch.context() as patch:
        patch.setattr(bag_writer, "save_metadata", refuse)
        with pytest.raises(DiskFullError, match="bag: cannot be written"):
            BagWriter(tmp_path / "bag")
    assert list(tmp_path.iterdir()) == []
    BagWriter(tmp_path / "bag").close()
    assert (tmp_path / "bag" / "bag_0.mcap").stat().st_size > 0
