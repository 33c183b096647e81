import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# A node whose module says that it loads, takes long, and then has a `main`.
SLOW = """
import sys, time
print("loading", flush=True)
time.sleep(float(sys.argv[1]))

def main():
    try:
        print("running", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        return 3
"""
RUN = "import sys; from planner.ros.entry import run_main; sys.exit(run_main('slow_node'))"


@pytest.mark.parametrize(
    ("loads_s", "until", "status"),
    [("60", "loading", -signal.SIGINT), ("0", "running", 3)],
)
def test_ctrl_c_while_a_node_loads_and_later(
    tmp_path: Path, loads_s: str, until: str, status: int
) -> None:
    (tmp_path / "slow_node.py").write_text(SLOW)
    with subprocess.Popen(
        [sys.executable, "-c", RUN, loads_s],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A test run in the background ignores it, which would be inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline().strip() != until:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
    assert process.returncode == status


def test_what_is_loaded_is_left_alone_by_the_collector(tmp_path: Path) -> None:
    main = "import gc\n\ndef main():\n    return 7 if gc.get_freeze_count() > 1000 else 8\n"
    (tmp_path / "slow_node.py").write_text(main)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", RUN], env=environment, check=False).returncode == 7


def test_a_crash_in_native_code_prints_where_python_was(tmp_path: Path) -> None:
    crash = "import os, signal\n\ndef main():\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    (tmp_path / "slow_node.py").write_text(crash)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in ended.stderr
    assert "slow_node.py" in ended.stderr
    assert "in main" in ended.stderr
