"""The program memory: finds the programs whose language is nearest, and learns (HELPER-2.2).

    with ProgramMemory.open(path) as memory:
        examples = memory.nearest("Make me a coffee.", RecordKind.PLAN)

It begins with the shipped examples and grows by records that were confirmed. Two processes may use
one file; each sees what the other has learned at its next question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from papers.helper.program_store import (
    FIRST_LEARNED,
    CorrectionKey,
    ProgramRecord,
    ProgramStore,
    RecordKind,
    checked,
    embedded_text,
    read_records,
    shipped_records,
    write_records,
)
from papers.helper.request_words import DialogueWords
from planner.world.embedding import Embedder, Vectors
from planner.world.errors import PlannerError
from planner.world.sqlite_file import ClosedOnExit
from planner.world.topics import one_line

# Exact search for the nearest vectors by L2 distance (HELPER-D21).

# Relative error of a dot product in single precision over a few thousand dimensions, with room.
_ROUNDING = 1e-4


class VectorSearch:
    """Vectors with numbers; a matrix that is searched as a whole."""

    def __init__(self) -> None:
        self._rows: Vectors = np.zeros((0, 0), np.float32)
        self._squares: NDArray[np.float32] = np.zeros(0, np.float32)
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: Iterable[int], vectors: Vectors) -> None:
        """Adds the rows whose numbers are not there yet.

        Args:
            ids: one a row.
            vectors: (n, d) float32.
        """
        added = np.fromiter(ids, np.int64)
        new = ~np.isin(added, self._ids)
        if not new.any():
            return
        added, rows = added[new], np.ascontiguousarray(vectors, np.float32)[new]
        self._rows = np.concatenate([self._rows, rows]) if len(self._ids) else rows
        squares = np.einsum("ij,ij->i", rows, rows)
        self._squares = np.concatenate([self._squares, squares])
        self._ids = np.concatenate([self._ids, added])

    def remove(self, ids: Sequence[int]) -> None:
        """Removes the rows of some numbers, where they are."""
        kept = ~np.isin(self._ids, ids)
        self._rows, self._squares = self._rows[kept], self._squares[kept]
        self._ids = self._ids[kept]

    def distance(self, query: Vectors, number: int) -> float:
        """The distance from a query, (d,), to the row of a number that is there."""
        (row,) = self._rows[self._ids == number]
        return float(np.linalg.norm(row.astype(np.float64) - query.astype(np.float64)))

    def nearest(self, query: Vectors, count: int) -> list[tuple[float, int]]:
        """Distances and numbers, the nearest first; of equal ones the smaller number first.

        Args:
            query: (d,).
            count: at most so many.
        """
        count = min(count, len(self._ids))
        if count <= 0:
            return []
        near = self._candidates(query.astype(np.float32), count)
        apart = self._rows[near].astype(np.float64) - query.astype(np.float64)
        distances = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        order = np.lexsort((self._ids[near], distances))[:count]
        return [(float(distances[i]), int(self._ids[near[i]])) for i in order]

    def _candidates(self, query: Vectors, count: int) -> NDArray[np.intp]:
        """The rows that rounding in single precision cannot exclude."""
        # Not by BLAS, whose threads take longer than the sum where other programs are at work.
        squares = self._squares - 2.0 * np.einsum("ij,j->i", self._rows, query)
        bound = np.partition(squares, count - 1)[count - 1]
        slack = _ROUNDING * float(self._squares.max() + query @ query)
        return np.nonzero(squares <= bound + slack)[0]


EXAMPLES = 3
"""K of the paper."""

Nearest = tuple[tuple[float, ProgramRecord], ...]


class ProgramMemory(ClosedOnExit):
    """Records by the L2 distance of their language; use it with `with`."""

    def __init__(
        self,
        store: ProgramStore,
        encoder: Embedder | None = None,
        *,
        shipped: Sequence[ProgramRecord] | None = None,
        fixed: bool = False,
        correction_key: CorrectionKey = CorrectionKey.BOTH,
    ) -> None:
        """Takes a store, which it closes.

        Args:
            store: of the records that were learned.
            encoder: None = `DialogueWords`, which compares words only.
            shipped: the examples to begin with; None = those of the package.
            fixed: whether the first shipped examples are given whatever is asked, as the paper's
                ablation without retrieval does.
            correction_key: the words by which corrections are found.
        """
        self._store = store
        self.encoder = encoder or DialogueWords()
        self._fixed = fixed
        self._correction_key = correction_key
        self._shipped = {one.id: one for one in (shipped_records() if shipped is None else shipped)}
        self._searches: dict[RecordKind, VectorSearch] | None = None
        self._lock = RLock()

    @classmethod
    def open(
        cls,
        path: Path | None,
        encoder: Embedder | None = None,
        *,
        fixed: bool = False,
        correction_key: CorrectionKey = CorrectionKey.BOTH,
    ) -> ProgramMemory:
        """Opens or creates a file; with None, what is learned is lost at the end.

        Raises:
            FileError: if the file is of another version, of other software, or damaged.
        """
        return cls(ProgramStore(path), encoder, fixed=fixed, correction_key=correction_key)

    def close(self) -> None:
        """Closes the file."""
        self._store.close()

    def __len__(self) -> int:
        """How many records there are, shipped ones included."""
        return len(self.records())

    def records(self, kind: RecordKind | None = None) -> list[ProgramRecord]:
        """All records, or those of a kind, the oldest first."""
        with self._lock:
            found = [*self._shipped.values(), *self._store.records()]
        return [one for one in found if kind is None or one.kind is kind]

    def record(self, number: int) -> ProgramRecord:
        """One record.

        Raises:
            PlannerError: if there is none of that id.
        """
        return self._records([number])[number]

    def nearest(
        self, text: str, kind: RecordKind, k: int = EXAMPLES, *, failure: str = ""
    ) -> Nearest:
        """The records of a kind with the smallest L2 distance, and that distance, nearest first.

        Equal ones come in the order in which they were learned. With `fixed` they are the first
        shipped ones of the kind.

        Args:
            text: the dialogue or instruction.
            kind: of the records.
            k: at most so many.
            failure: the sentence of a failure, to find corrections by.
        """
        words = embedded_text(kind, one_line(text), one_line(failure), self._correction_key)
        (query,) = self.encoder.embed([words])
        with self._lock:
            search = self._in_step()[kind]
            if self._fixed:
                first = [one.id for one in self._shipped.values() if one.kind is kind][:k]
                found = [(search.distance(query, number), number) for number in first]
            else:
                found = search.nearest(query, k)
            records = self._records([number for _, number in found])
        return tuple((distance, records[number]) for distance, number in found)

    def add(self, record: ProgramRecord) -> ProgramRecord:
        """Learns a confirmed record; one that is known already stays as it is. Returns it as kept.

        Raises:
            UnconfirmedError: if nobody has confirmed it.
            EvaluatedError: if its instruction is used for evaluation.
            PlannerError: for a field that is empty or too long, or a program that is none.
            FileError: if the file cannot be written.
        """
        return self._add([checked(record)])[0]

    def _add(self, records: Sequence[ProgramRecord]) -> list[ProgramRecord]:
        vectors, names = self._vectors(records), self._encoder_names()
        with self._lock:
            added = self._store.add(records, [names[one.kind] for one in records], vectors)
            if len(added) > 1:
                self._searches = None
            elif self._searches is not None:
                self._searches[added[0].kind].add([added[0].id], vectors)
        return added

    def forget(self, number: int) -> ProgramRecord:
        """Removes a learned record and returns it.

        Raises:
            PlannerError: if there is none of that id, or it is a shipped one.
            FileError: if the file cannot be written.
        """
        record = self.record(number)
        if number < FIRST_LEARNED:
            raise PlannerError(f"{number} is a shipped example, which every memory begins with")
        self._remove([number])
        return record

    def forget_person(self, person: str) -> int:
        """Removes all that a person taught; returns how many records.

        Raises:
            FileError: if the file cannot be written.
        """
        theirs = [one.id for one in self._store.records() if one.person == one_line(person)]
        return self._remove(theirs)

    def _remove(self, numbers: Sequence[int]) -> int:
        with self._lock:
            removed = self._store.remove(numbers)
            for search in (self._searches or {}).values():
                search.remove(numbers)
        return removed

    def keep_out(self, instructions: Iterable[str]) -> int:
        """Notes instructions used for evaluation, which are never learned from then on.

        Returns how many records had to go.
        """
        with self._lock:
            removed = self._store.keep_out(instructions)
            for search in (self._searches or {}).values():
                search.remove(removed)
        return len(removed)

    def export(self, path: Path, kind: RecordKind | None = None) -> int:
        """Writes what was learned to a file; returns how many records.

        Raises:
            FileError: if it cannot be written.
        """
        return write_records(path, [r for r in self.records(kind) if r.id >= FIRST_LEARNED])

    def import_(self, path: Path) -> int:
        """Adds the records of an export that are missing, all or none; returns how many.

        Raises:
            FileError: for a file that is not an export, or a record of it that cannot be kept.
            EvaluatedError: for an instruction that is used for evaluation.
        """
        before = len(self)
        self._add(read_records(path))
        return len(self) - before

    def _records(self, numbers: Sequence[int]) -> dict[int, ProgramRecord]:
        learned = [number for number in numbers if number not in self._shipped]
        found = {one.id: one for one in self._store.records(learned)} if learned else {}
        missing = [number for number in learned if number not in found]
        if missing:
            raise PlannerError(f"there is no record {missing[0]} in the program memory")
        return {n: self._shipped[n] if n in self._shipped else found[n] for n in numbers}

    def _in_step(self) -> dict[RecordKind, VectorSearch]:
        """The matrices, with all that is in the file now."""
        if self._store.changed_elsewhere() or self._searches is None:
            self._searches = {kind: self._loaded(kind) for kind in RecordKind}
        return self._searches

    def _loaded(self, kind: RecordKind) -> VectorSearch:
        name, search = self._encoder_names()[kind], VectorSearch()
        lacking = self._store.without_vector(kind, name)
        if lacking:
            ids = [one.id for one in lacking]
            self._store.note_vectors(name, ids, self._vectors(lacking))
        shipped = [one for one in self._shipped.values() if one.kind is kind]
        search.add([one.id for one in shipped], self._vectors(shipped))
        ids, vectors = self._store.vectors(kind, name)
        search.add(ids, vectors)
        return search

    def _vectors(self, records: Sequence[ProgramRecord]) -> Vectors:
        if not records:
            return np.zeros((0, 0), np.float32)
        return self.encoder.embed(
            [embedded_text(r.kind, r.key, r.failure, self._correction_key) for r in records]
        )

    def _encoder_names(self) -> dict[RecordKind, str]:
        """The names under which the vectors of each kind are kept."""
        name = self.encoder.embedder_id
        return {RecordKind.PLAN: name, RecordKind.CORRECTION: f"{name} of {self._correction_key}"}
