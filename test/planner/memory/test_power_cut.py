"""Commits of the memory and a power cut."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from power_cut import Machine

from planner.memory import store
from planner.memory.store import Content, JournalSync, StoreError, read_file


def stored(machine: Machine) -> Content | None:
    """What is left of the memory; None = no usable file."""
    try:
        return read_file(machine.after_power_cut() / "store" / "e1.sqlite")
    except StoreError:
        return None


def test_a_commit_survives_a_power_cut_without_another_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    script = """
        from memory_samples import layout_of
        from planner.memory.settings import open_memory
        from planner.memory.updater import Operation
        from planner.world.belief import OperationKind
        memory = open_memory(
            layout_of(3), None, folder=FOLDER / "store", episode="e1", agents={}, clock_s=100.0
        )
        while True:
            for _ in range(int(input())):
                add = Operation(OperationKind.ADD, description="cup", position_m=(1.0, 2.0, 0.5))
                memory.edit([add], "child", 1.0)
            print(memory.sequence, flush=True)
        """
    with machine.running(script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for count in (1, 50, 1):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
            told = int(process.stdout.readline())
            deadline = time.monotonic() + 60
            while (content := stored(machine)) is None or content.sequence < told:
                assert time.monotonic() < deadline, f"{told} was told, stored is {content}"
                time.sleep(0.1)
            assert content.sequence == told


def test_what_the_disk_refuses_is_said_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SYNC_S", 0.01)
    (tmp_path / "a.sqlite-wal").write_bytes(b"x")
    is_broken, synced = True, 0

    def sync(_descriptor: int) -> None:
        nonlocal synced
        if is_broken:
            raise OSError(5, "Input/output error")
        synced += 1

    monkeypatch.setattr(store.os, "fdatasync", sync)
    pace = JournalSync(tmp_path / "a.sqlite")
    pace.note()
    deadline = time.monotonic() + 60
    while not pace.failure:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert pace.failure == "cannot be brought to the disk: Input/output error"
    is_broken = False
    while pace.failure:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    pace.close()
    assert synced == 1
