import gc
import importlib
import subprocess
import sys

import pytest

from planner import cli
from planner.parts.command import COMMAND_PARTS
from planner.world.errors import PlannerError
from sim_bridge.backend import BACKENDS


@pytest.mark.parametrize("name", [name for name in COMMAND_PARTS.names() if "." not in name])
def test_every_command_keeps_the_convention_and_explains_itself(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(COMMAND_PARTS.get(name).run)
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    assert f"usage: planner {name}" in capsys.readouterr().out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    parts = COMMAND_PARTS.usable().items()
    assert all(f"\n    {name}" in shown for name, _ in parts if "." not in name)
    for name, part in parts:
        assert "." in name or part.summary in " ".join(shown.split())


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["fly"])
    assert "invalid choice: 'fly'" in capsys.readouterr().err


def test_a_users_mistake_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["up", "backend:=unity"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        f"error: argument backend: 'unity' is not one of {', '.join(BACKENDS.names())}\n"
    )


@pytest.mark.slow
def test_what_a_process_of_its_own_has_loaded_is_no_garbage() -> None:
    code = (
        "import gc, sys; from planner import cli; from planner.commands import run; "
        "run.run = lambda _: 0 if gc.get_freeze_count() > 1000 else 8; "
        "sys.argv = ['planner', 'run', 'any']; sys.exit(cli.main())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_caller_keeps_its_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    module = importlib.import_module("planner.commands.run")
    monkeypatch.setattr(module, "run", lambda _: frozen.append(gc.get_freeze_count()) or 0)
    before = gc.get_freeze_count()
    assert cli.main(["run", "any"]) == 0
    assert frozen == [before]


def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(_words: list[str], **_: bool) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "_dispatch", defect)
    with pytest.raises(ZeroDivisionError):
        cli.main([])


def test_planner_errors_and_interrupts_have_their_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_words: list[str], **_: bool) -> int:
        raise PlannerError("no such house")

    def interrupted(_words: list[str], **_: bool) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dispatch", broken)
    assert cli.main([]) == 2
    assert capsys.readouterr().err == "error: no such house\n"
    monkeypatch.setattr(cli, "_dispatch", interrupted)
    assert cli.main([]) == 130


def test_commands_without_ros_do_not_import_it() -> None:
    code = (
        "import sys; from planner import cli\n"
        "try: cli.main(['up', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'rclpy', 'planner_msgs', 'mujoco', 'torch', 'cv2'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "needless"),
    [
        (["--help"], {"numpy", "pydantic", "yaml"}),
        (["episodes", "list"], {"cv2", "mujoco", "openai", "rclpy", "scipy", "shapely", "torch"}),
    ],
)
def test_a_quick_command_imports_only_what_it_needs(words: list[str], needless: set[str]) -> None:
    code = (
        "import sys; from planner import cli\n"
        f"try: cli.main({words})\n"
        "except SystemExit: pass\n"
        f"heavy = {needless} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
