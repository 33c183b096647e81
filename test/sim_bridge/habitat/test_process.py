"""The protocol with habitat-sim's process, against a stand-in for habitat-sim."""

from __future__ import annotations

import ast
import json
import mmap
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_bridge.habitat.process import (
    WORKER,
    HabitatError,
    HabitatGoneError,
    HabitatProcess,
    Timeouts,
    interpreter,
)
from sim_bridge.habitat.worker import (
    MAX_MESSAGE_BYTES,
    Pictures,
    WireError,
    graphics_device,
    picture_bytes,
    receive,
    send,
    too_old,
)

STAND_IN = Path(__file__).with_name("stand_in.py")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_a_message_arrives_as_it_was_sent(message: dict[str, object]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, message)
        assert receive(theirs) == message


@given(st.binary(max_size=64))
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(noise)
        with pytest.raises(WireError):
            read_to_the_end(theirs)


def read_to_the_end(connection: socket.socket) -> None:
    while True:
        receive(connection)


def test_a_message_too_long_is_refused_before_it_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall((MAX_MESSAGE_BYTES + 1).to_bytes(4, "big"))
        with pytest.raises(WireError, match="too long"):
            receive(theirs)


def test_pictures_lie_in_the_memory_side_by_side() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(picture_bytes(5, 3))
        memory = mmap.mmap(file.fileno(), 0)
        written = Pictures(memory, 5, 3)
        written.rgb[:] = np.arange(45).reshape(3, 5, 3)
        written.depth[:] = 1.5
        written.ids[:] = -7
        again = Pictures(memory, 5, 3)
        assert again.rgb[2, 4].tolist() == [42, 43, 44]
        assert again.depth.shape == (3, 5)
        assert (again.depth == 1.5).all()
        assert (again.ids == -7).all()
        with pytest.raises(ValueError, match="buffer"):
            Pictures(memory, 6, 3)


def test_the_worker_runs_on_python_3_9_with_nothing_of_ours() -> None:
    tree = ast.parse(WORKER.read_text(), feature_version=(3, 9))
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    roots = {name.partition(".")[0] for name in imported}
    assert roots - set(sys.stdlib_module_names) == {"numpy", "habitat_sim", "magnum"}
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))


def test_without_a_gpu_the_processor_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _self: False)
    assert graphics_device(None) == -1
    assert graphics_device(3) == 3
    monkeypatch.setattr(Path, "exists", lambda _self: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert graphics_device(None) == 0
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert graphics_device(None) == -1


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "orders.json"
    monkeypatch.setenv("STAND_IN_ORDERS", str(path))
    return path


def started(load_s: float = 20.0, answer_s: float = 20.0) -> HabitatProcess:
    timeouts = Timeouts(start_s=60.0, load_s=load_s, answer_s=answer_s)
    return HabitatProcess(sys.executable, picture_bytes(4, 4), timeouts, worker=STAND_IN)


@pytest.fixture
def process(orders: Path) -> Iterator[HabitatProcess]:
    made = started()
    yield made
    made.close()


def test_a_request_is_answered_and_a_refusal_is_no_end(
    process: HabitatProcess, orders: Path
) -> None:
    assert process.about["version"] == "stand-in"
    assert process.ask("rays", rays=[[1, 2]]) == {"hits": [None]}
    orders.write_text(json.dumps({"mesh": "refuse"}))
    with pytest.raises(HabitatError, match="asked for mesh: RuntimeError: it refuses"):
        process.ask("mesh")
    with pytest.raises(HabitatError, match="there is no request 'dance'"):
        process.ask("dance")
    assert process.fault == ""
    assert process.ask("add") == {}


def test_an_abort_is_one_error_with_its_last_words(process: HabitatProcess, orders: Path) -> None:
    orders.write_text(json.dumps({"view": "abort"}))
    with pytest.raises(HabitatGoneError) as gone:
        process.ask("view")
    text = str(gone.value)
    assert "SIGABRT" in text
    assert "when asked for view" in text
    assert "unable to find CUDA device 0" in text
    assert "\n" not in text
    with pytest.raises(HabitatGoneError, match="SIGABRT"):
        process.ask("hello")


def test_an_end_is_noticed_without_asking(process: HabitatProcess) -> None:
    os.kill(process.pid, 9)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert "SIGKILL while nothing was asked of it" in process.fault


@pytest.mark.slow
def test_a_client_that_hangs_or_sends_nonsense_is_stopped(orders: Path) -> None:
    for order, says in (("hang", "did not answer within 0.3 s"), ("garbage", "too long")):
        orders.write_text("{}")
        process = started(load_s=0.3)
        orders.write_text(json.dumps({"mesh": order}))
        with pytest.raises(HabitatGoneError, match=says):
            process.ask("mesh")
        assert not Path(f"/proc/{process.pid}").exists() or process.fault
        process.close()
        process.close()


@pytest.mark.slow
def test_each_kind_of_request_has_its_own_timeout(orders: Path) -> None:
    process = started(load_s=30.0, answer_s=0.3)
    orders.write_text(json.dumps({"open_house": "slow", "view": "slow"}))
    assert process.ask("open_house", cameras={}, ids=[]) == {"missing": [], "device": -1}
    with pytest.raises(HabitatGoneError, match=r"did not answer within 0\.3 s when asked for view"):
        process.ask("view", camera="hand")
    process.close()


@pytest.mark.slow
def test_a_process_that_hangs_is_found_without_being_needed(orders: Path) -> None:
    process = started(answer_s=2.0)
    assert process.confirm() == ""
    os.kill(process.pid, signal.SIGSTOP)
    began_s = time.monotonic()
    while not process.confirm() and time.monotonic() - began_s < 60:
        time.sleep(0.05)
    assert "it did not answer within 1.8 s when asked for alive" in process.fault
    process.close()


@pytest.mark.slow
def test_an_interpreter_without_habitat_sim_is_reported(orders: Path) -> None:
    orders.write_text(json.dumps({"hello": "absent"}))
    with pytest.raises(HabitatError, match="has no habitat_sim: No module named"):
        started()
    orders.write_text(json.dumps({"hello": "no bullet"}))
    with pytest.raises(HabitatError, match="has no Bullet"):
        started()


def test_an_old_habitat_sim_is_refused(orders: Path) -> None:
    orders.write_text(json.dumps({"hello": "old"}))
    with pytest.raises(HabitatError, match=r"is version 0\.3\.2, older than 0\.3\.3; docs/habitat"):
        started()


@pytest.mark.parametrize(
    ("version", "is_old"),
    [("0.3.3", False), ("0.3.10", False), ("1.0.0", False), ("0.2.5", True), ("main", False)],
)
def test_versions_are_compared_as_numbers(version: str, is_old: bool) -> None:
    assert bool(too_old(version)) is is_old


def test_no_program_and_no_habitat_sim_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLANNER_HABITAT_PYTHON", raising=False)
    with pytest.raises(HabitatError, match="is not a program that can be run"):
        interpreter(str(tmp_path / "python"))
    monkeypatch.setenv("PLANNER_HABITAT_PYTHON", sys.executable)
    assert interpreter("") == sys.executable
    monkeypatch.setattr("sim_bridge.habitat.process.find_spec", lambda _name: None)
    monkeypatch.delenv("PLANNER_HABITAT_PYTHON")
    with pytest.raises(HabitatError, match="PLANNER_HABITAT_PYTHON"):
        interpreter("")
    script = tmp_path / "broken"
    script.write_text("no program")
    script.chmod(0o755)
    with pytest.raises(HabitatError, match="cannot be run"):
        HabitatProcess(str(script), 64, Timeouts(5.0, 5.0, 5.0))
