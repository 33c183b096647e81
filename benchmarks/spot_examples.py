"""Which of the Spot SDK's example programs run, unmodified, against the emulator.

    SPOT_SDK_EXAMPLES=spot-sdk/python/examples SPOT_SDK_PYTHON=its/venv/bin/python \\
        python benchmarks/spot_examples.py [--only TEXT] [--jobs 4] [--logs FOLDER]

Needs the extra `spot`. The programs and the evidence that each ran are listed in
`test/sim_bridge/spot/sdk_examples.yaml`; docs/spot.md has the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "sim_bridge" / "spot"))

from foreign_programs import Outcome, Program, examples_folder, listed, missing, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="programs whose name has this text")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--logs", type=Path, help="folder for what each printed")
    args = parser.parse_args()
    examples = examples_folder()
    if examples is None:
        print("SPOT_SDK_EXAMPLES names no folder", file=sys.stderr)
        return 2
    programs = [p for p in listed().programs if args.only in p.name]
    if args.logs is not None:
        args.logs.mkdir(parents=True, exist_ok=True)

    def go(program: Program) -> tuple[Program, Outcome]:
        lacks = missing(program)
        if lacks:
            return program, Outcome(f"its Python lacks {lacks}", "", 0.0)
        with tempfile.TemporaryDirectory() as folder:
            return program, run(program, examples, Path(folder))

    ran: set[str] = set()
    failed: set[str] = set()
    with ThreadPoolExecutor(args.jobs) as pool:
        for number, (program, outcome) in enumerate(pool.map(go, programs)):
            print(f"{outcome.wall_s:5.0f} s  {program.name}: {outcome.why or 'ran'}", flush=True)
            (failed if outcome.why else ran).add(program.program)
            if args.logs is not None:
                name = program.program.replace("/", "_")
                (args.logs / f"{number:02d}_{name}.txt").write_text(
                    f"{outcome.why}\n{outcome.output}"
                )
    print(f"{len(ran - failed)} programs ran, {len(failed)} did not")
    return 0 if not failed else 1


if __name__ == "__main__":
    sys.exit(main())
