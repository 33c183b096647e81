"""`planner memory`: ask what the robots remember, and correct it.

Without `--store` the running memory node is asked over ROS; with it, the file of a run that ended.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from planner import environment
from planner.memory import operations
from planner.memory.memory import Memory
from planner.memory.operations import CorrectionError
from planner.memory.query import ask, structured
from planner.memory.store import Store, read_file
from planner.memory.updater import Operation
from planner.world.belief import Entity
from planner.world.house_checks import load_house
from planner.world.states import default_states

AUTHOR = "planner memory edit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner memory`."""
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    query = actions.add_parser("query", help='such as "where is the red cup?"')
    query.add_argument("text", help="question or words; empty = everything")
    query.add_argument("--room", default="", help="only in this room")
    query.add_argument(
        "--limit", type=int, default=20, help="maximum number of entities; 0 = no limit"
    )
    query.add_argument("--json", action="store_true", help="structured; only with --store")
    edit = actions.add_parser("edit", help="correct an entry; its source becomes `told`")
    edits = edit.add_subparsers(dest="edit", metavar="EDIT", required=True)
    add = edits.add_parser("add", help='a new thing: add "cup dirty" --at 1.0 2.0 0.8')
    add.add_argument("what")
    move = edits.add_parser("move", help="move a thing: --at X Y Z or --onto FURNITURE")
    move.add_argument("entity", help="name or Object.N")
    move.add_argument("--onto", help="furniture by name or Object.N")
    for each, required in ((add, True), (move, False)):
        each.add_argument(
            "--at", type=float, nargs=3, metavar=("X", "Y", "Z"), required=required, help="metres"
        )
    for name, field, help_ in (
        ("rename", "to", "change what it is: rename cup_149 mug"),
        ("state", "state", ", ".join((*default_states().by_word(), "open, closed"))),
    ):
        each = edits.add_parser(name, help=help_)
        each.add_argument("entity", help="name or Object.N")
        each.add_argument(field)
    remove = edits.add_parser("remove", help="remove a thing that does not exist")
    remove.add_argument("entity", help="name or Object.N")
    for each in (query, edit):
        each.add_argument("--store", type=Path, help="file of a run that ended, EPISODE.sqlite")
        environment.add_argument(each)


def run(args: argparse.Namespace) -> int:
    """Runs one action."""
    return _query(args) if args.action == "query" else _edit(args)


def _query(args: argparse.Namespace) -> int:
    if args.limit < 0:
        raise CorrectionError(f"--limit: {args.limit} is negative")
    if args.store is None:
        if args.json:
            raise CorrectionError("--json: needs --store; over ROS call /memory/query")
        from planner.memory.service.node import RemoteMemory

        remote = RemoteMemory(args.namespace)
        try:
            print(remote.query(args.text, args.room, args.limit)[0])
        finally:
            remote.close()
        return 0
    with _stored(args.store) as memory:
        answer = ask(memory, args.text, args.room, args.limit)
    print(json.dumps(structured(answer), indent=2) if args.json else answer.text)
    return 0


def _edit(args: argparse.Namespace) -> int:
    def make(known: Sequence[Entity]) -> Operation:
        return _EDITS[args.edit](args, known)

    if args.store is None:
        from planner.memory.service.node import RemoteMemory

        remote = RemoteMemory(args.namespace)
        try:
            number = remote.correct(make, AUTHOR)
        finally:
            remote.close()
    else:
        with _stored(args.store) as memory:
            operation = make(memory.snapshot().entities)
            number = memory.edit([operation], AUTHOR, memory.stamp_s).ids[0]
    print(f"Object.{number}: {args.edit} is noted as told")
    return 0


@contextmanager
def _stored(path: Path) -> Iterator[Memory]:
    content = read_file(path)
    memory = Memory(load_house(content.house), None, Store(path), episode=content.episode)
    try:
        yield memory
    finally:
        memory.close()


def _find(known: Sequence[Entity], word: str) -> Entity:
    number = word.lower().removeprefix("object.")
    for entity in known:
        if entity.name == word or str(entity.entity_id) == number:
            return entity
    raise CorrectionError(f"there is no {word} in the memory")


def _add(args: argparse.Namespace, known: Sequence[Entity]) -> Operation:  # noqa: ARG001
    return operations.add(args.what, _at(args.at))


def _move(args: argparse.Namespace, known: Sequence[Entity]) -> Operation:
    entity = _find(known, args.entity)
    if (args.at is None) == (args.onto is None):
        raise CorrectionError("move: give either --at or --onto")
    if args.onto is not None:
        return operations.move_onto(entity, _find(known, args.onto))
    return operations.move(entity, _at(args.at))


def _rename(args: argparse.Namespace, known: Sequence[Entity]) -> Operation:
    return operations.rename(_find(known, args.entity), args.to)


def _state(args: argparse.Namespace, known: Sequence[Entity]) -> Operation:
    return operations.set_state(_find(known, args.entity), args.state)


def _remove(args: argparse.Namespace, known: Sequence[Entity]) -> Operation:
    return operations.remove(_find(known, args.entity))


def _at(values: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = values
    return (x, y, z)


_EDITS: dict[str, Callable[[argparse.Namespace, Sequence[Entity]], Operation]] = {
    "add": _add,
    "move": _move,
    "rename": _rename,
    "state": _state,
    "remove": _remove,
}
