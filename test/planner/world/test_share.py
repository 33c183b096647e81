from __future__ import annotations

import sys
from pathlib import Path

import pytest

from planner.world import share


def test_a_checkout_has_its_configuration_beside_it() -> None:
    assert share.is_source_tree()
    assert share.config_dir() == Path(__file__).parents[3] / "config"


@pytest.mark.parametrize(
    ("module", "prefix"),
    [
        ("user/lib/python3.11/site-packages/planner/world/share.py", "user"),
        ("usr/local/lib/python3.11/dist-packages/planner/world/share.py", "usr/local"),
        # pip install --target
        ("target/planner/world/share.py", "target"),
    ],
)
def test_a_package_finds_its_data_wherever_pip_installs_it(
    module: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / prefix / "share" / "planner" / "config"
    shipped.mkdir(parents=True)
    (shipped / "agents.yaml").touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "another"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "python"))
    prefixes = share.install_prefixes(tmp_path / module)
    assert list(prefixes[:2]) == [tmp_path / "another", tmp_path / "python"]
    monkeypatch.setattr(share, "_HERE", tmp_path / module)
    monkeypatch.setattr(share, "install_prefixes", lambda: prefixes)
    assert share.config_dir() == shipped
