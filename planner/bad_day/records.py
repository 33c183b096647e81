"""What was asked of the bridge in a run, and what became of it: lines of JSON of its clients."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

# How a line of a client's log begins that is a record.
MARK = "@record "


@dataclass(frozen=True, slots=True)
class Asked:
    """One request; times are the time of day, `outcome` is empty while there is none."""

    client: str
    number: int
    kind: str  # goal or service
    name: str
    sent_s: float
    ended_s: float | None = None
    outcome: str = ""
    success: bool = False

    def line(self) -> str:
        """As a line of a log."""
        return MARK + json.dumps(asdict(self))


def read_records(log: str) -> list[Asked]:
    """The requests of a client's log, each as it was told last."""
    found: dict[int, Asked] = {}
    for line in log.splitlines():
        if line.startswith(MARK):
            try:
                record = Asked(**json.loads(line.removeprefix(MARK)))
            except ValueError:
                # A client that was killed while it wrote.
                continue
            found[record.number] = record
    return list(found.values())


def ended(asked: Asked, at_s: float, outcome: str, *, success: bool) -> Asked:
    """The request with its outcome."""
    return replace(asked, ended_s=at_s, outcome=outcome, success=success)
