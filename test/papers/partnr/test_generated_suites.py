"""The shipped suites of generated episodes: as many as they say, of all types, sound and small."""

from collections import Counter
from pathlib import Path

import pytest

from papers.partnr.generation.generating import misreading
from planner.bench.runs.manifest import suite_places
from planner.episodes.episode_file import read_pack
from planner.episodes.lint.linting import Linter
from planner.world.house_checks import load_episode
from planner.world.share import config_dir

FOLDER = config_dir() / "suites"
# Episodes and houses of each split.
SIZES = {"val": (1000, 13), "test": (1000, 10)}


@pytest.fixture(params=[pytest.param("val", marks=pytest.mark.slow), "test"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (place,) = suite_places(f"partnr_{request.param}")
    return place


@pytest.mark.slow
def test_each_has_all_types_in_houses_of_its_own() -> None:
    houses: list[str] = []
    for split, (count, own) in SIZES.items():
        episodes = read_pack(FOLDER / f"partnr_{split}.json.gz").episodes
        assert len({episode.episode_id for episode in episodes}) == count
        assert {episode.split for episode in episodes} == {split}
        assert len({episode.instruction for episode in episodes}) >= 0.99 * count
        kinds = Counter(episode.episode_id.split("_")[0] for episode in episodes)
        assert min(kinds.values()) >= 0.23 * count
        found = {episode.house for episode in episodes}
        assert len(found) == own
        houses += found
    assert len(set(houses)) == len(houses)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 10_000_000


@pytest.mark.slow
def test_a_sample_is_sound(folder: Path) -> None:
    linter = Linter()
    for path in sorted(folder.glob("*.json"))[::333]:
        assert linter.lint(path).findings == ()


@pytest.mark.slow
def test_what_is_read_is_what_is_judged(folder: Path) -> None:
    drawn = sorted(folder.glob("*.json"))[::10]
    understood = [misreading(*load_episode(path)) == "" for path in drawn]
    assert sum(understood) >= 0.95 * len(understood)
