"""The program memory: retrieval, opening, learning, and programs made without a model.

Repeat with: python benchmarks/bench_program_memory.py [--records N] [--encoder FOLDER]

Times are CPU times (user and system), independent of other work on the machine. Retrieval is
measured with the query's embedding and with the reading of the K = 3 records from the file.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from machine import print_table

from papers.helper.program_change import Rebound, rebind
from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind, write_records
from planner.world.embedding import Embedder, load_encoder

THINGS = ("mug", "book", "plate", "vase", "fork", "pillow", "pencil", "bowl", "spoon", "candle")
PLACES = ("sofa", "desk", "shelf", "bed", "dining table", "counter", "side table", "dresser")
NAMES = ("Larry", "David", "Mary", "Lax", "Pax", "Gabe", "Kax", "Lion", "Ada", "Ulf")
PROGRAM = 'desk = InteractionObject("Desk")\n' + "".join(
    f'pen_{n} = InteractionObject("Pen")\npen_{n}.pickup_and_place(desk)\n' for n in range(4)
)
Row = tuple[str, str, str]


def said(number: int) -> str:
    thing, place = THINGS[number % len(THINGS)], PLACES[number // 10 % len(PLACES)]
    return (
        f"<Driver> What shall I do? <Commander> Task {number} of {NAMES[number % 7]}: put"
        f" {number % 5 + 1} {thing}s onto the {place}."
    )


def timed(call: Callable[[int], object], times: int) -> str:
    taken = []
    for number in range(times):
        begin = time.process_time()
        call(number)
        taken.append((time.process_time() - begin) * 1000)
    taken.sort()
    return f"{statistics.median(taken):.2f} ms, p99 {taken[int(times * 0.99)]:.2f} ms"


def measure(records: int, encoder: Embedder | None, folder: Path) -> list[Row]:
    path, export = folder / "programs.sqlite", folder / "programs.yaml"
    write_records(
        export,
        (
            ProgramRecord(0, RecordKind.PLAN, said(n), PROGRAM, confirmed=True)
            for n in range(records)
        ),
    )
    rows: list[Row] = []
    with ProgramMemory.open(path, encoder) as memory:
        begin = time.process_time()
        memory.import_(export)
        rows.append((f"import of {records}", f"{time.process_time() - begin:.1f} s", ""))
    begin = time.process_time()
    with ProgramMemory.open(path, encoder) as memory:
        memory.nearest("anything", RecordKind.PLAN)
        rows.append(("open, first retrieval", f"{time.process_time() - begin:.2f} s", ""))
        found = timed(lambda n: memory.nearest(said(n * 37 % records), RecordKind.PLAN), 300)
        rows.append((f"retrieval among {records}", found, "< 5 ms at 10000"))
        right = sum(
            memory.nearest(said(n), RecordKind.PLAN, 1)[0][1].key == said(n)
            for n in range(0, records, max(1, records // 200))
        )
        rows.append(("own key found first", f"{right} of 200", ""))
        learned = timed(
            lambda n: memory.add(
                ProgramRecord(0, RecordKind.PLAN, f"new {n}", PROGRAM, confirmed=True)
            ),
            50,
        )
        rows.append(("learning one", learned, ""))
    record = ProgramRecord(1, RecordKind.PLAN, "The Pax tidying.", PROGRAM, confirmed=True)
    request = "The Pax tidying with two pens, plus a book, on the shelf instead of the desk."
    assert isinstance(rebind(record, request), Rebound)
    rows.append(
        ("a program changed to a request", timed(lambda _: rebind(record, request), 200), "")
    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--encoder", type=Path, help="a sentence transformer's folder")
    args = parser.parse_args()
    encoder = load_encoder(args.encoder) if args.encoder else None
    with tempfile.TemporaryDirectory(prefix="planner-bench-") as folder:
        print_table("program memory", measure(args.records, encoder, Path(folder)))


if __name__ == "__main__":
    main()
