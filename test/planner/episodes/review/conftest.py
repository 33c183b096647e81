"""Fixtures: a few shipped episodes in a folder, and their review."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from planner.episodes.review.review import Review, ReviewServer, episodes_to_review
from planner.world.house_checks import find_episode

NAMES = ("bed_first_0", "boots_pair_0", "toys_home_0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three episodes."""
    made = tmp_path / "episodes"
    made.mkdir()
    for name in NAMES:
        shutil.copy(find_episode(name), made)
    return made


@pytest.fixture
def review(folder: Path, tmp_path: Path) -> Review:
    """A review of them that has just begun."""
    return Review(episodes_to_review([folder]), tmp_path / "review")


@pytest.fixture
def server(review: Review) -> Iterator[ReviewServer]:
    """Its page."""
    with ReviewServer(review, 0) as made:
        thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()
