"""The supervisor with real processes: a driver runs it, small scripts are its children."""

import fcntl
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from planner.command_line import EXIT_CONFIGURATION, EXIT_FAILED, SILENT_AFTER_S
from planner.supervisor import RestartPolicy

DRIVER = """
import json, os, pathlib, signal, sys
from planner.supervisor import Command, RestartPolicy, Supervisor
# As in a terminal: who runs the tests in the background may have them ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
plan = json.loads(sys.argv[1])
def words(child):
    if not plan["warm"] or "words" in child:
        return child.get("words") or [sys.executable, "-uc", child["code"]]
    program = pathlib.Path(plan["folder"], child["name"])
    program.write_text(child["code"])
    return [sys.executable, str(program)]
commands = [
    Command(
        name=child["name"],
        words=words(child),
        environment=dict(os.environ),
        restart_words=child.get("restart_words", ()),
        respawn=child.get("respawn", True),
        ends_run=child.get("ends_run", False),
        stops_last=child.get("stops_last", False),
        passive=child.get("passive", False),
        warm=plan["warm"] and "words" not in child,
    )
    for child in plan["children"]
]
supervisor = Supervisor(
    commands,
    lambda name, text: print(f"{name}: {text}", flush=True),
    policy=RestartPolicy(
        first_delay_s=0.01,
        longest_delay_s=0.05,
        limit=plan.get("limit", 3),
        longest_passive_delay_s=0.08,
    ),
    stop_grace_s=plan.get("grace_s", 60.0),
    stopped_status=plan.get("stopped_status", 0),
)
sys.exit(supervisor.run())
"""

WAITS = "import time; print('ready'); time.sleep(3600)"
DIES = "raise SystemExit(3)"
STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, {on_term})
print("ready")
while True:
    time.sleep(3600)
"""


START: dict[str, Any] = {}


@pytest.fixture(autouse=True, params=["exec", "fork"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Each promise holds for programs and for forks of the supervisor."""
    folder = tmp_path / "programs"
    folder.mkdir()
    START.update(warm=request.param == "fork", folder=str(folder))


class Run:
    """A supervisor in a process of its own; reads its log line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []

    def until(self, text: str) -> str:
        """Read on until a line contains `text`; the suite's timeout is the only limit."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if text in line:
                return self.lines[-1]
        raise AssertionError(f"the log ended without {text!r}:\n" + "\n".join(self.lines))

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        assert self.process.stdout is not None
        self.lines += [line.rstrip("\n") for line in self.process.stdout]
        return self.process.wait()


def driver(*children: dict[str, Any], **plan: Any) -> list[str]:
    # Unbuffered: what cannot be flushed at exit would change the status, where nobody reads.
    return [sys.executable, "-u", "-c", DRIVER, json.dumps({"children": children, **START, **plan})]


@contextmanager
def supervised(*children: dict[str, Any], **plan: Any) -> Iterator[Run]:
    words = driver(*children, **plan)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Run(process)
        finally:
            process.kill()


def locking(lock: Path) -> str:
    """Code that holds a lock as long as its process lives."""
    return (
        f"import fcntl; held = open({str(lock)!r}, 'w'); fcntl.flock(held, fcntl.LOCK_EX); {WAITS}"
    )


def wait_until_dead(lock: Path) -> None:
    """Return once nobody holds the lock, which the kernel lets go of with its process."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)


@pytest.mark.slow
def test_a_node_that_dies_is_started_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    code = (
        f"import pathlib; count = pathlib.Path({str(count)!r})\n"
        "runs = len(count.read_text()) if count.exists() else 0\n"
        "count.write_text('x' * (runs + 1))\n"
        "import sys\n"
        "if runs < 2: sys.exit(3)\n"
        f"{WAITS}"
    )
    with supervised({"name": "flaky", "code": code}) as run:
        run.until("flaky died, status 3; restart 1 of 3 in 0.01 s")
        run.until("flaky died, status 3; restart 2 of 3 in 0.02 s")
        run.until("flaky: ready")
        run.send(signal.SIGINT)
        assert run.end() == 0


@pytest.mark.slow
def test_a_node_that_is_started_again_gets_the_words_for_that() -> None:
    again = [sys.executable, "-uc", WAITS]
    with supervised({"name": "one", "words": ["false"], "restart_words": again}) as run:
        run.until("one died, status 1; restart 1 of 3 in 0.01 s")
        run.until("one: ready")
        run.send(signal.SIGINT)
        assert run.end() == 0


@pytest.mark.slow
def test_giving_up_stops_the_others_and_is_reported() -> None:
    with supervised({"name": "good", "code": WAITS}, {"name": "bad", "code": DIES}, limit=2) as run:
        run.until("bad died, status 3; giving up after 2 restarts, stopping everything")
        assert run.end() == EXIT_FAILED
    assert any(line.startswith("planner: good stopped") for line in run.lines)


@pytest.mark.slow
def test_a_wrong_setting_is_not_tried_again() -> None:
    code = f"import sys; print('error: second bridge'); sys.exit({EXIT_CONFIGURATION})"
    with supervised({"name": "bridge", "code": code}, {"name": "good", "code": WAITS}) as run:
        assert run.end() == EXIT_CONFIGURATION
    assert "bridge: error: second bridge" in run.lines
    assert not any("restart" in line for line in run.lines)


def test_a_passive_node_that_dies_again_and_again_never_ends_the_others() -> None:
    passive = {"name": "evaluator", "code": DIES, "passive": True}
    with supervised({"name": "bridge", "code": WAITS}, passive, limit=1) as run:
        for restart, delay in enumerate(
            ("0.01", "0.02", "0.04", "0.08", "0.08", "0.08", "0.08"), 1
        ):
            run.until(
                f"evaluator died, status 3; restart {restart} in {delay} s, "
                "the others go on without it"
            )
        run.send(signal.SIGINT)
        assert run.end() == 0
    assert len([line for line in run.lines if "bridge started" in line]) == 1


def test_a_passive_task_that_dies_is_tried_again_and_its_end_is_that_of_the_run(
    tmp_path: Path,
) -> None:
    count = tmp_path / "count"
    tried = f"""
import os, pathlib
count = pathlib.Path({str(count)!r})
count.write_text((count.read_text() if count.exists() else "") + "x")
if count.read_text() == "x":
    os.kill(os.getpid(), 9)
"""
    narrator = {"name": "narrator", "code": tried, "passive": True, "respawn": False}
    with supervised({"name": "bridge", "code": WAITS}, {**narrator, "ends_run": True}) as run:
        run.until("narrator died, killed by SIGKILL; restart 1 in 0.01 s, the others go on")
        assert run.end() == 0
    assert any("narrator is done" in line for line in run.lines)


def test_pauses_grow_to_their_bound_and_no_further() -> None:
    policy = RestartPolicy()
    assert [policy.delay_s(count) for count in (0, 1, 4, 9)] == [0.5, 1.0, 8.0, 8.0]
    assert [policy.delay_s(count, passive=True) for count in (0, 4, 6, 7)] == [0.5, 8.0, 32.0, 60.0]
    assert policy.delay_s(1_000_000, passive=True) == 60.0
    assert (policy.after(7, 29.0), policy.after(7, 30.0)) == (7, 0)


@pytest.mark.slow
def test_a_node_that_ran_as_it_is_set_up_is_tried_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    code = (
        f"import pathlib, sys; count = pathlib.Path({str(count)!r})\n"
        "runs = len(count.read_text()) if count.exists() else 0\n"
        "count.write_text('x' * (runs + 1))\n"
        f"if runs < 2: sys.exit([9, {EXIT_CONFIGURATION}][runs])\n"
        f"{WAITS}"
    )
    with supervised({"name": "bridge", "code": code}) as run:
        run.until("bridge died, status 9; restart 1 of 3 in 0.01 s")
        run.until("bridge died, status 78; restart 2 of 3 in 0.02 s")
        run.until("bridge: ready")
        run.send(signal.SIGINT)
        assert run.end() == 0


def test_a_program_that_is_not_there_is_a_wrong_setting() -> None:
    with supervised({"name": "ghost", "words": ["/nonexistent/program"]}) as run:
        assert run.end() == EXIT_CONFIGURATION
    assert "ghost cannot be started" in run.lines[0]


def test_a_program_with_an_end_of_its_own_gets_the_status_of_a_stopped_run() -> None:
    with supervised({"name": "one", "code": WAITS}, stopped_status=130) as run:
        run.until("one: ready")
        run.send(signal.SIGINT)
        assert run.end() == 130


def test_ctrl_c_and_sigterm_end_it_cleanly() -> None:
    code = (
        "import time\n"
        "try:\n"
        "    print('ready')\n"
        "    time.sleep(3600)\n"
        "except KeyboardInterrupt:\n"
        "    print('bye')"
    )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with supervised({"name": "one", "code": code}, {"name": "two", "code": code}) as run:
            seen = {run.until(": ready"), run.until(": ready")}
            assert seen == {"one: ready", "two: ready"}
            run.send(number)
            assert run.end() == 0
        assert {"one: bye", "two: bye", f"planner: {number.name}: stopping"} <= set(run.lines)
        assert "planner: one stopped, status 0" in run.lines


@pytest.mark.slow
def test_a_node_that_will_not_end_is_killed_in_the_end() -> None:
    code = STUBBORN.format(on_term="signal.SIG_IGN")
    with supervised({"name": "mule", "code": code}, grace_s=0.1) as run:
        run.until("mule: ready")
        run.send(signal.SIGINT)
        assert run.end() == 0
    told = [line for line in run.lines if "mule" in line][-3:]
    assert told == [
        "planner: mule is still running: sending SIGTERM",
        "planner: mule is still running: sending SIGKILL",
        "planner: mule stopped, killed by SIGKILL",
    ]


def test_asking_twice_does_not_wait() -> None:
    code = STUBBORN.format(on_term="signal.SIG_DFL")
    with supervised({"name": "mule", "code": code}, grace_s=3600) as run:
        run.until("mule: ready")
        run.send(signal.SIGINT)
        run.until("SIGINT: stopping")
        run.send(signal.SIGINT)
        assert run.end() == 0
    assert run.lines[-1] == "planner: mule stopped, killed by SIGTERM"


def test_nodes_die_with_a_killed_supervisor(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with supervised({"name": "node", "code": locking(lock)}) as run:
        run.until("node: ready")
        run.send(signal.SIGKILL)
        wait_until_dead(lock)
        assert run.end() == -signal.SIGKILL


@pytest.mark.slow
def test_what_a_node_started_goes_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    inner = locking(lock)
    code = (
        "import subprocess, sys\n"
        f"inner = subprocess.Popen([sys.executable, '-uc', {inner!r}], stdout=subprocess.PIPE)\n"
        "inner.stdout.readline()\n"
        "print('inner runs')\n"
        "sys.exit(0)"
    )
    with supervised({"name": "parent", "code": code, "respawn": False}) as run:
        run.until("inner runs")
        assert run.end() == 0
        wait_until_dead(lock)


@pytest.mark.slow
def test_other_processes_are_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-uc", WAITS], stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        stranger.stdout.readline()
        with supervised({"name": "node", "code": WAITS}) as run:
            run.until("node: ready")
            run.send(signal.SIGTERM)
            assert run.end() == 0
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.slow
def test_the_end_of_a_task_ends_the_run() -> None:
    task = {"name": "task", "code": "print('done')", "respawn": False, "ends_run": True}
    with supervised({"name": "service", "code": WAITS}, task) as run:
        assert run.end() == 0
    assert "planner: task is done" in run.lines
    assert any(line.startswith("planner: service stopped") for line in run.lines)


def test_a_task_that_fails_fails_the_run() -> None:
    task = {"name": "task", "code": DIES, "respawn": False, "ends_run": True}
    with supervised({"name": "service", "code": WAITS}, task) as run:
        assert run.end() == EXIT_FAILED
    assert "planner: task died, status 3; stopping everything" in run.lines


@pytest.mark.slow
def test_a_task_that_is_not_done_did_not_die() -> None:
    task = {"name": "task", "code": "exit(1)", "respawn": False, "ends_run": True}
    with supervised({"name": "service", "code": WAITS}, task) as run:
        assert run.end() == EXIT_FAILED
    assert "planner: task ended without success; stopping everything" in run.lines


@pytest.mark.slow
def test_every_line_of_the_log_arrives_whole() -> None:
    code = (
        "import os, sys\n"
        "for i in range(2000): print(i, 'x' * 50)\n"
        "sys.stdout.flush(); os.write(1, b'caf\\xc3\\xa9 \\xff, no newline'); sys.stdout.flush()"
    )
    with supervised({"name": "chatty", "code": code, "respawn": False}) as run:
        assert run.end() == 0
    said = [line.removeprefix("chatty: ") for line in run.lines if line.startswith("chatty: ")]
    assert said[:-1] == [f"{i} {'x' * 50}" for i in range(2000)]
    assert said[-1] == "café \N{REPLACEMENT CHARACTER}, no newline"


@pytest.mark.slow
def test_nodes_stop_when_nobody_reads_the_log(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    talks = locking(lock).replace(
        "time.sleep(3600)", "[(print('tick'), time.sleep(0.05)) for _ in range(100000)]"
    )
    with subprocess.Popen(driver({"name": "n", "code": talks}), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while b"tick" not in process.stdout.readline():
            pass
        process.stdout.close()
        assert process.wait() == EXIT_FAILED
        wait_until_dead(lock)


LEAVES = "import time\ntry:\n    print('ready')\n    time.sleep(3600)\nexcept KeyboardInterrupt:\n"


@pytest.mark.slow
def test_the_node_that_stops_last_is_asked_when_all_others_have_ended() -> None:
    scribe = {"name": "scribe", "code": f"{LEAVES}    print('bye')", "stops_last": True}
    slow = {"name": "slow", "code": f"{LEAVES}    time.sleep(0.5); print('bye')"}
    with supervised(scribe, slow) as run:
        run.until(": ready")
        run.until(": ready")
        run.send(signal.SIGINT)
        assert run.end() == 0
    ends = [line for line in run.lines if "bye" in line or "stopped" in line]
    assert ends == [
        "slow: bye",
        "planner: slow stopped, status 0",
        "scribe: bye",
        "planner: scribe stopped, status 0",
    ]


@pytest.mark.slow
def test_the_node_that_stops_last_is_reached_past_a_node_that_had_to_be_killed() -> None:
    scribe = {"name": "scribe", "code": f"{LEAVES}    print('bye')", "stops_last": True}
    mule = {"name": "mule", "code": STUBBORN.format(on_term="signal.SIG_IGN")}
    with supervised(scribe, mule, grace_s=0.1) as run:
        run.until(": ready")
        run.until(": ready")
        run.send(signal.SIGINT)
        assert run.end() == 0
    assert run.lines[-2:] == ["scribe: bye", "planner: scribe stopped, status 0"]
    assert "planner: mule stopped, killed by SIGKILL" in run.lines


TELLS = """
import sys, time
sys.path.insert(0, "")
from planner.command_line import supervisor_is_silent
known = None
while True:
    if supervisor_is_silent() is not known:
        known = supervisor_is_silent()
        print("it is silent" if known else "it is heard")
    time.sleep(0.05)
"""


def test_a_process_can_tell_that_its_supervisor_is_stopped() -> None:
    with supervised({"name": "bridge", "code": TELLS}) as run:
        run.until("it is heard")
        run.send(signal.SIGSTOP)
        time.sleep(SILENT_AFTER_S + 1.0)
        run.send(signal.SIGCONT)
        # What it said meanwhile waited for the supervisor.
        run.until("it is silent")
        run.until("it is heard")
        run.send(signal.SIGINT)
        run.end()


def test_a_process_that_says_much_does_not_wait_for_a_supervisor_that_is_stopped(
    tmp_path: Path,
) -> None:
    done = tmp_path / "done"
    says = f"""
import pathlib, time
print("ready")
time.sleep(0.5)
for _ in range(6000):
    print("x" * 100)
pathlib.Path({str(done)!r}).touch()
time.sleep(3600)
"""
    with supervised({"name": "bridge", "code": says}) as run:
        run.until("ready")
        run.send(signal.SIGSTOP)
        deadline = time.monotonic() + 60.0
        while not done.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send(signal.SIGCONT)
        assert done.exists()
        run.send(signal.SIGINT)
        run.end()
