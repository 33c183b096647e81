"""The partial file of a generation, from which it goes on, and the lines on its progress."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Generic, Self, TextIO, TypeVar

from pydantic import Field, ValidationError

from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel

SUFFIX = ".partial.jsonl"
_Model = TypeVar("_Model", bound=FileModel)


class Numbered(FileModel):
    """Every line but the first: something that is done, by its number.

    Attributes:
        rejected: how many of its candidates were rejected, by reason.
    """

    number: int = Field(ge=0)
    rejected: dict[str, int]


_Asked = TypeVar("_Asked", bound=FileModel)
_Done = TypeVar("_Done", bound=Numbered)


def partial_path(output: Path) -> Path:
    """Where the partial file of an output is: beside it.

    Raises:
        FileError: for the root folder, which nothing is beside.
    """
    place = output if output.name not in ("", "..") else output.resolve()
    if not place.name:
        raise FileError(output, "", "is not a place for episodes; choose a folder or FILE.json.gz")
    return place.with_name(place.name + SUFFIX)


class PartialLines(Generic[_Asked, _Done]):
    """The partial file of one output, locked for this process; use it with `with`."""

    def __init__(self, output: Path, asked: _Asked, line: type[_Done], count: int) -> None:
        """Opens the file of an earlier run, or begins one.

        Args:
            output: the path of the final pack or folder.
            asked: what this run is to make.
            line: the model of every line but the first.
            count: numbers are below it.

        Raises:
            FileError: if it cannot be written, is that of other arguments or of a process that is
                still running, or has an invalid line.
        """
        self.path = partial_path(output)
        self._line, self._count = line, count
        self._done: dict[int, _Done] = {}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._stream: BinaryIO = self.path.open("ab+")
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self._lock()
            self._read(asked)
        except BaseException:
            self._stream.close()
            raise

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers that are done."""
        return frozenset(self._done)

    @property
    def done(self) -> list[_Done]:
        """What is done so far, by number."""
        return [self._done[number] for number in sorted(self._done)]

    @property
    def rejected(self) -> Counter[str]:
        """How many candidates were rejected so far, by reason."""
        total: Counter[str] = Counter()
        for number in sorted(self._done):
            total.update(self._done[number].rejected)
        return total

    def append(self, done: _Done) -> None:
        """Adds a line, which is on disk when this returns.

        Raises:
            FileError: if it cannot be written.
        """
        line = self._write(done)
        # As a later run would read it, so that both write the same.
        self._done[done.number] = self._parsed(line, self._line, len(self._done) + 2)

    def remove(self) -> None:
        """Deletes the file, once the output is written.

        Raises:
            FileError: if it cannot be deleted.
        """
        try:
            self.path.unlink()
        except OSError as error:
            raise FileError(self.path, "", f"cannot be deleted: {error.strerror}") from None

    def __enter__(self) -> Self:
        """Returns the object itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes the file and ends the lock."""
        self._stream.close()

    def _lock(self) -> None:
        try:
            # Unlike those of `flock`, these locks are not inherited by processes of a pool, which
            # may live longer than one that is killed.
            fcntl.lockf(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            reason = "another process is writing it; wait for that one, or choose another --output"
            raise FileError(self.path, "", reason) from None

    def _read(self, asked: _Asked) -> None:
        try:
            self._stream.seek(0)
            lines = self._stream.read().splitlines(keepends=True)
            if lines and not lines[-1].endswith(b"\n"):
                lines.pop()
                self._stream.truncate(sum(map(len, lines)))
        except OSError as error:
            raise self._unwritable(error) from None
        if not lines:
            self._write(asked)
            return
        self._compare(self._parsed(lines[0], type(asked), 1), asked)
        self._take(lines[1:])

    def _compare(self, earlier: _Asked, asked: _Asked) -> None:
        for field in type(asked).model_fields:
            was, now = getattr(earlier, field), getattr(asked, field)
            # The houses are used in their order.
            if was == now and (field != "houses" or list(was) == list(now)):
                continue
            reason = (
                f"{_shown(was)} there, {_shown(now)} in this command; "
                if field != "houses"
                else "the houses have changed since; "
            )
            remedy = "go on with the same arguments, choose another --output, or delete this file"
            raise FileError(self.path, field, reason + remedy)

    def _take(self, lines: Sequence[bytes]) -> None:
        for number, line in enumerate(lines, start=2):
            done = self._parsed(line, self._line, number)
            if done.number in self._done or done.number >= self._count:
                below = f"not below {self._count}"
                reason = f"{done.number} is there twice or {below}; delete this file"
                raise FileError(self.path, f"line {number}.number", reason)
            self._done[done.number] = done

    def _parsed(self, line: bytes, model: type[_Model], number: int) -> _Model:
        try:
            return model.model_validate_json(line)
        except ValidationError as error:
            plain = from_validation(self.path, error)
            where = f"line {number}" + (f".{plain.field}" if plain.field else "")
            reason = f"{plain.reason}; delete this file to begin again"
            raise FileError(self.path, where, reason) from None

    def _write(self, record: FileModel) -> bytes:
        line = record.model_dump_json().encode() + b"\n"
        try:
            self._stream.write(line)
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise self._unwritable(error) from None
        return line

    def _unwritable(self, error: OSError) -> FileError:
        return FileError(self.path, "", f"cannot be written: {error.strerror}")


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value)
    return "none" if value in (None, "") else str(value)


# A line now and then while episodes are generated: how many, how many rejected, how fast.

EVERY_S = 10.0


class Progress:
    """Prints the progress of one run.

    Args:
        asked: number of episodes.
        found: number of them that an earlier run made.
        stream: where lines go.
        clock_s: a clock that only goes forward, in seconds.
    """

    def __init__(
        self, asked: int, found: int, stream: TextIO, clock_s: Callable[[], float]
    ) -> None:
        self._asked = asked
        self._found = found
        self._stream = stream
        self._clock_s = clock_s
        self._begun_s = self._printed_s = clock_s()

    def update(self, made: int, rejected: int, *, last: bool = False) -> None:
        """Prints a line if the last one is ten seconds old.

        Args:
            made: number of episodes so far, those of an earlier run included.
            rejected: number of candidates, likewise.
            last: prints it in any case.
        """
        now_s = self._clock_s()
        if not last and now_s - self._printed_s < EVERY_S:
            return
        self._printed_s = now_s
        minutes = (now_s - self._begun_s) / 60
        rate = (made - self._found) / minutes if minutes > 0 else 0.0
        text = f"{made} of {self._asked} episodes, {rejected} candidates rejected"
        print(f"{text}, {rate:.0f} a minute", file=self._stream, flush=True)
