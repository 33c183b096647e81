"""Requests to the bridge and their outcomes, as JSON lines in the logs of its clients."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

# Marks the lines of a client's log that are records.
RECORD_PREFIX = "@record "
# The outcome of a goal whose result never came.
GAVE_UP = "client gave up"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; times are wall-clock time, `outcome` is empty until it has ended."""

    client: str
    number: int
    kind: str  # goal or service
    name: str
    sent_s: float
    ended_s: float | None = None
    outcome: str = ""
    success: bool = False

    def log_line(self) -> str:
        """The record as a line of a log."""
        return RECORD_PREFIX + json.dumps(asdict(self))


def read_records(log: str) -> list[Request]:
    """The requests in a client's log, each in its latest state."""
    found: dict[int, Request] = {}
    for line in log.splitlines():
        if line.startswith(RECORD_PREFIX):
            try:
                record = Request(**json.loads(line.removeprefix(RECORD_PREFIX)))
            except ValueError:
                # The client was killed while writing this line.
                continue
            found[record.number] = record
    return list(found.values())


def ended(request: Request, at_s: float, outcome: str, *, success: bool) -> Request:
    """The request with its outcome."""
    return replace(request, ended_s=at_s, outcome=outcome, success=success)
