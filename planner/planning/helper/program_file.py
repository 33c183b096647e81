"""Files of records of the program memory: the shipped examples, exports and imports."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field

from planner.planning.helper.program_record import ProgramRecord, RecordKind, checked
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

SHIPPED = "shipped"
FIRST_LEARNED = 1001
"""Smaller ids are those of the shipped examples."""

_Text = Annotated[str, Field(min_length=1)]


class _Entry(FileModel):
    kind: RecordKind
    key: _Text
    failure: str = ""
    program: _Text
    person: str = ""
    confirmed: bool = False
    when_s: float = 0.0
    source: str = ""


class _RecordFile(FileModel):
    version: Literal[1]
    records: tuple[_Entry, ...]


class _Example(FileModel):
    key: _Text
    failure: str = ""
    program: _Text


class _ExampleFile(FileModel):
    version: Literal[1]
    plans: tuple[_Example, ...]
    corrections: tuple[_Example, ...]


@lru_cache(maxsize=1)
def shipped_records() -> tuple[ProgramRecord, ...]:
    """The examples that every memory begins with, of config/programs/examples.yaml.

    Raises:
        FileError: naming the file, the record and the reason.
    """
    return read_examples(config_dir() / "programs" / "examples.yaml")


def read_examples(path: Path) -> tuple[ProgramRecord, ...]:
    """A file in the layout of the shipped examples, checked; ids from 1, plans first.

    Raises:
        FileError: naming the file, the record and the reason.
    """
    found = read_model(path, _ExampleFile)
    groups = ((RecordKind.PLAN, found.plans), (RecordKind.CORRECTION, found.corrections))
    records: list[ProgramRecord] = []
    for kind, examples in groups:
        for place, example in enumerate(examples):
            record = ProgramRecord(
                len(records) + 1,
                kind,
                example.key,
                example.program,
                confirmed=True,
                source=SHIPPED,
                failure=example.failure,
            )
            records.append(_checked(record, path, f"{kind}s.{place}"))
    if len(records) >= FIRST_LEARNED:
        raise FileError(path, "", f"has {len(records)} records, at most {FIRST_LEARNED - 1}")
    return tuple(records)


def read_records(path: Path) -> tuple[ProgramRecord, ...]:
    """The records of an export, checked; their ids are 0.

    Raises:
        FileError: naming the file, the record and the reason.
    """
    found = read_model(path, _RecordFile)
    return tuple(
        _checked(ProgramRecord(id=0, **dict(entry)), path, f"records.{place}")
        for place, entry in enumerate(found.records)
    )


def _checked(record: ProgramRecord, path: Path, field: str) -> ProgramRecord:
    try:
        return checked(record)
    except PlannerError as error:
        raise FileError(path, field, str(error)) from None


def write_records(path: Path, records: Iterable[ProgramRecord]) -> int:
    """Writes an export; a file that is there is replaced as a whole. Returns how many.

    Raises:
        FileError: if it cannot be written.
    """
    entries = [_Entry.model_validate(_fields(record)).model_dump(mode="json") for record in records]
    text = yaml.dump(
        {"version": 1, "records": entries},
        Dumper=_BlockText,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
    return len(entries)


def _fields(record: ProgramRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in _Entry.model_fields}


class _BlockText(yaml.SafeDumper):
    """Writes texts of several lines as blocks, so that programs can be read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_BlockText.add_representer(str, _text)
