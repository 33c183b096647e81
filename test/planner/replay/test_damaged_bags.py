"""Whatever the bytes of a bag are: it is read or refused with one error, and stays as it is."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.writer import CompressionType, IndexType

from planner.replay.bag import Bag
from planner.replay.judging import judge
from planner.replay.recover import recover
from planner.replay.runs import Request, load_task
from planner.world.errors import FileError, PlannerError

# Sizes, counts and offsets that somebody may have put where another one was.
NUMBERS = [0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**60, 2**63 - 1, 2**64 - 1]
# Uncompressed, so that what is changed is in the messages and their definitions as well.
KINDS = {
    "plain": {"compression": CompressionType.NONE, "enable_crcs": False},
    "without chunks": {"use_chunking": False, "enable_crcs": False},
    "packed": {"compression": CompressionType.LZ4, "enable_crcs": False, "chunk_size": 20_000},
    "without summary": {
        "compression": CompressionType.ZSTD,
        "index_types": IndexType.NONE,
        "use_statistics": False,
        "repeat_channels": False,
        "repeat_schemas": False,
        "use_summary_offsets": False,
    },
}


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a few of them changed, gone, doubled or replaced by a number."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(changed))
        way = chance.randrange(6)
        if way == 0:
            changed[at] = chance.randrange(256)
        elif way == 1:
            changed[at] ^= 1 << chance.randrange(8)
        elif way == 2:
            code = chance.choice(["<H", "<I", "<Q"])
            number = chance.choice(NUMBERS) % (1 << 8 * struct.calcsize(code))
            packed = struct.pack(code, number)
            changed[at : at + len(packed)] = packed
        elif way == 3:
            length = chance.choice((1, 4, 100, 5000))
            del changed[at : at + length]
        elif way == 4:
            length = chance.choice((1, 8, 300))
            other = chance.randrange(len(changed))
            changed[at : at + length] = changed[other : other + length]
        elif chance.random() < 0.3:
            del changed[at:]
        if not changed:
            break
    return bytes(changed)


def look_at_everything(bag: Path, out: Path) -> list[str]:
    """All that is read of a bag; returns the errors."""
    errors = []

    def attempt(call) -> None:
        try:
            call()
        except PlannerError as error:
            errors.append(str(error))

    def read() -> None:
        opened = Bag(bag)
        for topic in opened.topics:
            attempt(lambda topic=topic: list(opened.messages((topic,))))
            attempt(lambda topic=topic: opened.gaps(topic))
        attempt(lambda: load_task(opened))

    attempt(read)
    for partial in (False, True):
        found = list(judge(bag, Request(partial=partial, traced=partial)))
        errors += [str(f) for f in found if isinstance(f, PlannerError)]
    try:
        recover(bag, out)
    except FileError:
        assert not out.exists()
    else:
        list(Bag(out).raw())
        shutil.rmtree(out)
    return errors


@pytest.fixture(params=KINDS)
def whole(request, film) -> bytes:
    folder = film.solved().everything("whole", **KINDS[request.param]).close()
    assert [f.agrees for f in judge(folder, Request())] == [True]
    return next(folder.glob("*.mcap")).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("cases", [100, pytest.param(1000, marks=pytest.mark.nightly)])
def test_a_damaged_bag_is_read_or_refused_with_one_error(whole, tmp_path, cases) -> None:
    bag, out = tmp_path / "damaged", tmp_path / "out"
    bag.mkdir()
    path = bag / "damaged_0.mcap"
    refused = 0
    for seed in range(cases):
        changed = damaged(whole, random.Random(seed))
        path.write_bytes(changed)
        errors = look_at_everything(bag, out)
        refused += bool(errors)
        assert all(len(error) < 2000 for error in errors)
        assert [file.name for file in bag.iterdir()] == [path.name]
        assert path.read_bytes() == changed
    # Otherwise nothing was damaged.
    assert refused > cases // 4


@given(st.binary(max_size=500), st.booleans())
def test_any_bytes_are_no_bag_or_one(tmp_path_factory, data, begins) -> None:
    bag = tmp_path_factory.mktemp("any")
    (bag / "any_0.mcap").write_bytes(b"\x89MCAP0\r\n" * begins + data)
    try:
        said = [m.topic for m in Bag(bag).raw()]
    except FileError as error:
        said = [error.file]
    assert said in ([], [str(bag / "any_0.mcap")])
