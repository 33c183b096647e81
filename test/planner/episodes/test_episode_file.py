"""Packs: everything comes back, equal content gives equal files, other files are refused."""

import gzip
from pathlib import Path

import pytest

from planner.episodes.episode_file import unpacked, write_pack
from planner.episodes.recipes.build import shipped_episodes
from planner.world.episode import read_episode
from planner.world.errors import FileError
from planner.world.house_checks import load_house, read_house


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_everything_comes_back(tmp_path: Path) -> None:
    episodes = [read_episode(path) for path in shipped_episodes()[:3]]
    house = load_house("heldout_0")
    pack = tmp_path / "some.json.gz"
    write_pack(pack, episodes, [house])
    folder = unpacked(pack)
    found = {path.stem: read_episode(path) for path in folder.glob("*.json")}
    assert found == {episode.episode_id: episode for episode in episodes}
    assert read_house(folder / "houses" / "heldout_0.json") == house
    assert unpacked(pack) == folder
    before = pack.read_bytes()
    write_pack(pack, episodes, [house])
    assert pack.read_bytes() == before


def test_a_pack_that_cannot_be_replaced_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    episodes = [read_episode(path) for path in shipped_episodes()[:2]]
    pack = tmp_path / "some.json.gz"
    write_pack(pack, episodes[:1])
    before = pack.read_bytes()

    def full(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("planner.episodes.episode_file.os.fsync", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        write_pack(pack, episodes)
    assert pack.read_bytes() == before


def packed(content: bytes) -> bytes:
    """Compressed, the same at any time."""
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", packed(b"no"), packed(b'{"version": 2, "episodes": []}')],
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.json.gz"
    path.write_bytes(content)
    with pytest.raises(FileError):
        unpacked(path)
