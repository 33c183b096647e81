"""`planner programs`: the program memory: what was taught, and its exchange and removal."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from papers.helper.program_memory import EXAMPLES, ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
from planner.command_line import aligned
from planner.world.embedding import load_encoder
from planner.world.errors import FileError, PlannerError

# The instructions of some suites by their names.
InstructionsOf = Callable[[Sequence[str]], Sequence[str]]
_SHOWN = 72


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner programs`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="one line a record")
    listing.add_argument("--person", help="only what this person taught")
    show = actions.add_parser("show", help="one record with its program")
    show.add_argument("id", type=int)
    find = actions.add_parser("find", help="the records that a planner would be shown")
    find.add_argument("text", help="a dialogue or an instruction")
    find.add_argument("--failure", default="", help="a failure's sentence: finds corrections")
    find.add_argument("-k", type=int, default=EXAMPLES, help=f"how many, default {EXAMPLES}")
    find.add_argument(
        "--encoder", type=Path, metavar="DIR", help="a sentence transformer; default: words only"
    )
    export = actions.add_parser("export", help="write what was learned to a file")
    export.add_argument("-o", "--output", type=Path, required=True, metavar="YAML")
    importing = actions.add_parser("import", help="learn the records of an exported file")
    importing.add_argument("file", type=Path, metavar="YAML")
    forget = actions.add_parser("forget", help="remove records for good")
    forget.add_argument("id", type=int, nargs="*")
    forget.add_argument("--person", help="all that this person taught")
    keep_out = actions.add_parser(
        "keep-out", help="never learn the instructions of a suite, and forget those that are known"
    )
    keep_out.add_argument("suites", nargs="+", metavar="SUITE", help="a suite, folder or pack")
    for each in (listing, export):
        each.add_argument("--kind", choices=[kind.value for kind in RecordKind], help="only these")
    for each in (listing, show, find):
        each.add_argument("--memory", type=Path, metavar="FILE", help="default: shipped examples")
    for each in (export, importing, forget, keep_out):
        each.add_argument("--memory", type=Path, metavar="FILE", required=True)


def run(args: argparse.Namespace, instructions_of: InstructionsOf) -> int:
    """Runs one action.

    Args:
        args: as parsed.
        instructions_of: finds suites, for `keep-out`.

    Raises:
        FileError: for a memory that is not there or cannot be used.
        PlannerError: for a record or a suite that is not there.
    """
    makes_memory = args.action in ("import", "keep-out")
    if args.memory is not None and not makes_memory and not args.memory.is_file():
        raise FileError(args.memory, "", "there is no program memory")
    if args.action == "keep-out":
        instructions = instructions_of(args.suites)
        with ProgramMemory.open(args.memory) as memory:
            removed = memory.keep_out(instructions)
        print(f"{len(set(instructions))} instructions are never learned; {removed} records removed")
        return 0
    encoder = load_encoder(args.encoder) if getattr(args, "encoder", None) else None
    with ProgramMemory.open(args.memory, encoder) as memory:
        _ACTIONS[args.action](memory, args)
    return 0


def _list(memory: ProgramMemory, args: argparse.Namespace) -> None:
    records = memory.records(_kind(args))
    if args.person is not None:
        records = [record for record in records if record.person == args.person]
    if not records:
        print("no records")
        return
    rows = [
        (str(r.id), r.kind.value, r.person or r.source or "-", _when(r), _cut(r.key))
        for r in records
    ]
    print("\n".join(aligned([("id", "kind", "from", "when", "said"), *rows])))


def _show(memory: ProgramMemory, args: argparse.Namespace) -> None:
    record = memory.record(args.id)
    fields = {
        "id": str(record.id),
        "kind": record.kind.value,
        "said": record.key,
        "failure": record.failure,
        "person": record.person,
        "learned": _when(record),
        "source": record.source,
    }
    print("\n".join(f"{name}: {text}" for name, text in fields.items() if text))
    print(f"\n{record.program.rstrip()}")


def _find(memory: ProgramMemory, args: argparse.Namespace) -> None:
    if args.k < 1:
        raise PlannerError(f"-k: {args.k} is less than 1")
    kind = RecordKind.CORRECTION if args.failure else RecordKind.PLAN
    found = memory.nearest(args.text, kind, args.k, failure=args.failure)
    rows = [(f"{distance:.3f}", str(r.id), _cut(r.key)) for distance, r in found]
    print("\n".join(aligned([("distance", "id", "said"), *rows])))


def _export(memory: ProgramMemory, args: argparse.Namespace) -> None:
    print(f"wrote {memory.export(args.output, _kind(args))} records to {args.output}")


def _import(memory: ProgramMemory, args: argparse.Namespace) -> None:
    print(f"learned {memory.import_(args.file)} new records from {args.file}")


def _forget(memory: ProgramMemory, args: argparse.Namespace) -> None:
    if bool(args.id) == (args.person is not None):
        raise PlannerError("forget: give either ids or --person")
    if args.person is not None:
        print(f"forgot {memory.forget_person(args.person)} records of {args.person}")
        return
    for number in args.id:
        print(f"forgot {number}: {_cut(memory.forget(number).key)}")


def _kind(args: argparse.Namespace) -> RecordKind | None:
    return RecordKind(args.kind) if args.kind else None


def _when(record: ProgramRecord) -> str:
    if not record.when_s:
        return "-"
    return datetime.fromtimestamp(record.when_s).astimezone().strftime("%Y-%m-%d %H:%M")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


_ACTIONS: Mapping[str, Callable[[ProgramMemory, argparse.Namespace], None]] = {
    "list": _list,
    "show": _show,
    "find": _find,
    "export": _export,
    "import": _import,
    "forget": _forget,
}
