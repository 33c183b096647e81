"""The tutorials: their code runs, and what they promise comes true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import main

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
WITH_CODE = ("own_house", "own_planner", "own_robot")


def blocks(name: str, language: str = "python") -> list[str]:
    text = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


@pytest.mark.slow
def test_each_tutorial_leads_to_the_next() -> None:
    assert {page.stem for page in TUTORIALS if "```python" in page.read_text("utf-8")} == set(
        WITH_CODE
    )
    following = [
        re.findall(r"^Next: .*\((\w+)\.md\)", p.read_text("utf-8"), re.M) for p in TUTORIALS
    ]
    assert sorted(name for names in following for name in names) == sorted(
        page.stem for page in TUTORIALS if page.stem != "first_task"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CODE)
def test_the_code_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": name}
    found = blocks(name)
    assert found
    for block in found:
        exec(compile(block, f"{name}.md", "exec"), names)  # noqa: S102 - our own page


@pytest.mark.slow
def test_the_planner_is_found_by_its_entry_point_and_passes_its_check(tmp_path: Path) -> None:
    (module,) = [block for block in blocks("own_planner") if "PLANNER = " in block]
    (entry,) = blocks("own_planner", "toml")
    group, name, target = re.findall(r'entry-points."(.*)"\]\n(\w+) = "(.*)"', entry)[0]
    folder = tmp_path / "my_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "strolls.py").write_text(module, encoding="utf-8")
    about = tmp_path / "my_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {target}\n")
    command = "import sys; from planner.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", command, "check", "planner", name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.slow
def test_a_task_in_a_generated_house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = str(tmp_path / "small.json")
    asked = ["--room", "bedroom=2", "--room", "kitchen=1", "--room", "living_room=1"]
    assert main(["houses", "generate", "--seed", "7", *asked, "--objects", "60", "-o", house]) == 0
    words = ["--instruction", "Switch off all lamps.", "--memory", "full", "--no-images"]
    status = main(["run", house, *words, "-o", str(tmp_path / "run")])
    said = capsys.readouterr()
    assert status == 0, said.out + said.err
    assert "verdict: success (as understood)" in said.out
