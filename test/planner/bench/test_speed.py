"""`planner bench speed`: a table whose rows come from a stand-in, and one row for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.bench.speed import Cost, Speed, slower
from planner.cli import main
from planner.world.files import read_model

ROOT = Path(__file__).parents[3]
# Stands in for `speed_rows.py`: each call of a row prints the next of the costs in NAME.json.
ROWS = """
import json, os, pathlib, sys
costs = pathlib.Path(__file__).with_name(sys.argv[1] + ".json")
first, *rest = json.loads(costs.read_text())
costs.write_text(json.dumps(rest))
print("what a row says meanwhile")
assert "PYTHONDONTWRITEBYTECODE" not in os.environ
print(json.dumps({"processor_s": first[0], "calibration_s": first[1], "machine": "here"}))
"""


def folder(path: Path, now: dict[str, list[tuple[float, float]]], committed: object = None) -> Path:
    """A folder of rows that cost what `now` says, each 1 s of a loop of 1 s when committed."""
    (path / "speed_rows.py").write_text(ROWS)
    cost = {"processor_s": 1.0, "calibration_s": 1.0, "machine": "there"}
    for name, costs in now.items():
        (path / f"{name}.json").write_text(json.dumps(costs))
    rows = {name: {"what": f"row {name}", "unit": "ms", "cost": cost} for name in now}
    (path / "speed.json").write_text(json.dumps(committed or {"rows": rows}))
    return path


def speed(path: Path, *words: str) -> int:
    return main(["bench", "speed", "--benchmarks", str(path), *words])


def told(capsys: pytest.CaptureFixture[str], what: str) -> list[str]:
    """The words after `what` in its line of the table."""
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(what)]
    return line.removeprefix(what).split()


def test_a_fifth_more_is_borne_and_what_is_beyond_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder(tmp_path, {"a": [(1.19, 1.0)], "b": [(0.5, 1.0)]})
    assert speed(path) == 0
    path = folder(tmp_path, {"a": [(1.21, 1.0)] * 3, "b": [(0.5, 1.0)]})
    assert speed(path) == 1
    out = capsys.readouterr().out
    assert out.rstrip().endswith("slower by more than 20%, or without a value: a")
    assert "+21%" in out
    assert "-50%" in out


def test_a_slower_machine_is_no_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Which would have rows compile what they import.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert speed(folder(tmp_path, {"a": [(3.0, 3.0)]})) == 0
    assert told(capsys, "row a") == ["3,000", "ms", "1,000", "ms", "1", "1", "+0%"]
    assert speed(folder(tmp_path, {"a": [(1.0, 0.5)] * 3})) == 1


def test_what_is_worse_is_measured_again_and_the_best_counts(tmp_path: Path) -> None:
    path = folder(tmp_path, {"a": [(2.0, 1.0), (1.1, 1.0), (9.0, 1.0)]})
    assert speed(path) == 0
    assert json.loads((path / "a.json").read_text()) == [[9.0, 1.0]]


def test_rows_are_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder(tmp_path, {"a": [(1.0, 1.0)], "b": []})
    assert speed(path, "--only", "a") == 0
    assert "row b" not in capsys.readouterr().out
    assert speed(path, "--only", "c") == 2
    assert "--only c: " in (said := capsys.readouterr().err)
    assert said.rstrip().endswith("speed.json has a, b")


def test_a_row_that_cannot_be_measured_says_why_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert speed(folder(tmp_path, {"a": [], "b": [(1.0, 1.0)]})) == 1
    out = capsys.readouterr().out
    assert "row a" in out
    assert "not measured: ValueError: not enough values to unpack" in out
    assert "row b" in out


def test_a_row_without_a_value_fails_until_it_is_committed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"rows": {"a": {"what": "row a", "unit": "/s"}}}
    path = folder(tmp_path, {"a": [(0.01, 2.0)] * 3}, rows)
    assert speed(path) == 1
    assert told(capsys, "row a") == ["100", "/s", "no", "value", "0.005"]
    assert speed(path, "--commit") == 0
    kept = read_model(path / "speed.json", Speed).rows["a"]
    assert kept.cost == Cost(processor_s=0.01, calibration_s=2.0, machine="here")
    assert speed(path) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ({"rows": {"a": {"what": "a", "unit": "furlongs"}}}, "rows.a.unit"),
        (
            {
                "rows": {
                    "a": {
                        "what": "a",
                        "unit": "s",
                        "cost": {"processor_s": -1, "calibration_s": 1, "machine": ""},
                    }
                }
            },
            "rows.a.cost.processor_s",
        ),
    ],
)
def test_a_file_that_is_missing_or_broken_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, said: str
) -> None:
    if content is not None:
        (tmp_path / "speed.json").write_text(json.dumps(content))
    assert speed(tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{tmp_path / 'speed.json'}" in line
    assert said in line


def test_the_rows_of_the_file_are_those_that_are_measured() -> None:
    import speed_rows

    named = [row.__name__ for row in speed_rows.ROWS]
    rows = read_model(ROOT / "benchmarks" / "speed.json", Speed).rows
    assert named == list(rows)
    assert all(row.cost is not None for row in rows.values())


@pytest.mark.slow
def test_a_row_for_real(capsys: pytest.CaptureFixture[str]) -> None:
    # What it costs is for the nightly target: here a busy machine must not matter.
    assert main(["bench", "speed", "--only", "symbolic_actions"]) in (0, 1)
    words = told(capsys, "symbolic actions")
    assert float(words[0].replace(",", "")) > 1000
    assert words[1] == "/s"


def test_the_loop_that_is_compared_with_takes_processor_time() -> None:
    import speed_rows

    then = Cost(processor_s=1.0, calibration_s=speed_rows.calibration(), machine="")
    assert 0.001 < then.calibration_s < 10
    assert slower(then, then) == 0
