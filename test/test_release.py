"""scripts/release.py: what it refuses and what it leaves behind; test_wheel.py really builds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import release

ROOT = Path(__file__).parents[1]
CHANGES = "# Changelog\n\n## 1.2.3 (2026-01-31)\n\n### Added\n\n- Lamps.\n\n## 1.2.2 (2026-01-01)\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Of a project that can be released as 1.2.3."""
    root = tmp_path / "checkout"
    texts = {
        "pyproject.toml": '[project]\nversion = "1.2.3"\n',
        "CHANGELOG.md": CHANGES,
        "CITATION.cff": "version: 1.2.3\n",
        "README.md": "![Version 1.2.3](docs/badges/version.svg)\n",
        "docs/badges/version.svg": '<svg aria-label="version: 1.2.3"/>\n',
        "msgs/package.xml": "<version>1.2.3</version>\n",
        "package.xml": "<version>1.2.3</version>\n",
        ".gitignore": "/dist/\n",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    release.git(root, "init", "--quiet")
    for key, value in (("user.name", "A"), ("user.email", "a@example.org")):
        release.git(root, "config", key, value)
    release.git(root, "add", ".")
    release.git(root, "commit", "--quiet", "-m", "all")
    return root


def test_what_this_tree_says_about_its_version_agrees() -> None:
    # Work under way and an earlier release are no disagreement.
    apart = ("checkout: ", "tag v", "CHANGELOG.md: '## ")
    assert [line for line in release.lacking(ROOT) if not line.startswith(apart)] == []


def test_a_dry_run_changes_nothing(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["--dry-run"], checkout) == 0
    assert capsys.readouterr().out == "release: would build, try and tag v1.2.3\n"
    assert not (checkout / "dist").exists()
    assert release.git(checkout, "tag") == ""


@pytest.mark.parametrize("name", [*release.STATED, "CHANGELOG.md"])
def test_a_file_about_another_version_is_named(
    checkout: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = checkout / name
    path.write_text(path.read_text().replace("1.2.3", "1.2.1"))
    release.git(checkout, "commit", "--quiet", "--all", "-m", "another")
    assert release.main(["--dry-run"], checkout) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"release: {name}: ")


def test_a_changelog_without_a_date_is_refused(checkout: Path) -> None:
    changes = CHANGES.replace("2026-01-31", "not released yet")
    (checkout / "CHANGELOG.md").write_text(changes)
    release.git(checkout, "commit", "--quiet", "--all", "-m", "another")
    (line,) = release.lacking(checkout)
    assert line == "CHANGELOG.md: '## 1.2.3 (not released yet)' has no date such as 2026-01-31"


def test_a_change_or_a_tag_is_in_the_way(checkout: Path) -> None:
    (checkout / "new.py").touch()
    release.git(checkout, "tag", "v1.2.3")
    assert [line.partition(":")[0] for line in release.lacking(checkout)] == [
        "checkout",
        "tag v1.2.3",
    ]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of packages that were tried; stand-ins build and install them."""
    names: list[str] = []

    def build(tree: Path, folder: Path) -> tuple[Path, Path]:
        assert (tree / "CITATION.cff").is_file()
        packages = folder / "planner-1.2.3.tar.gz", folder / "planner-1.2.3-any.whl"
        for package in packages:
            package.write_text(package.name)
        return packages

    def environment(_folder: Path, package: Path) -> Path:
        names.append(package.name)
        return Path(sys.executable)

    monkeypatch.setattr(release, "build", build)
    monkeypatch.setattr(release, "environment", environment)
    return names


def test_both_packages_are_tried_before_the_commit_is_tagged(
    checkout: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "_TRIAL", "import sys; assert sys.argv[1] == '1.2.3'")
    assert release.main([], checkout) == 0
    assert tried == ["planner-1.2.3.tar.gz", "planner-1.2.3-any.whl"]
    assert sorted(path.name for path in (checkout / "dist").iterdir()) == sorted(tried)
    message = release.git(checkout, "tag", "--list", "--format=%(contents)", "v1.2.3")
    assert message == "planner 1.2.3\n\n### Added\n\n- Lamps."
    commit = release.git(checkout, "rev-parse", "v1.2.3^{commit}")
    assert commit == release.git(checkout, "rev-parse", "HEAD")


@pytest.mark.usefixtures("tried")
def test_what_fails_in_its_environment_is_not_tagged(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "_TRIAL", "raise SystemExit('no lamp')")
    with pytest.raises(RuntimeError, match="no lamp"):
        release.main([], checkout)
    assert release.git(checkout, "tag") == ""
    assert list((checkout / "dist").iterdir()) == []


def test_the_script_is_a_command() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "release.py", "--help"], capture_output=True, text=True, check=True
    )
    assert "--dry-run" in done.stdout
