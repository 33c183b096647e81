"""The body lease: epochs, sequences and staleness, as in the SDK's documentation."""

from __future__ import annotations

from dataclasses import dataclass

# A lease unused for this long is stale: it is still valid, but any client may acquire it.
STALE_S = 3.0


@dataclass(slots=True)
class LeaseBook:
    """The body's lease; a new epoch invalidates every old lease."""

    epoch: str = "epoch-1"
    root: int = 0
    owner: str = ""
    latest: tuple[int, ...] = ()
    retained_s: float = 0.0
    # A keepalive policy marked it as stale; the next use makes it fresh again.
    forsaken: bool = False

    def give(self, client: str, now_s: float) -> None:
        """Makes a client the owner."""
        self.root += 1
        self.owner, self.latest = client, (self.root,)
        self.retain(now_s)

    def retain(self, now_s: float) -> None:
        """The owner used it."""
        self.retained_s, self.forsaken = now_s, False

    def stale(self, now_s: float) -> bool:
        """Whether another client may acquire it although it has an owner."""
        return bool(self.owner) and (self.forsaken or now_s - self.retained_s > STALE_S)

    def owns(self, epoch: str, sequence: tuple[int, ...]) -> bool:
        """Whether a lease is the owner's, a sublease or a superlease of it."""
        return bool(self.owner) and epoch == self.epoch and sequence[:1] == (self.root,)

    def check(self, epoch: str, sequence: tuple[int, ...]) -> str:
        """OK, or the SDK's status for an invalid lease."""
        if epoch != self.epoch:
            return "STATUS_WRONG_EPOCH"
        if not sequence:
            return "STATUS_INVALID_LEASE"
        if not self.owner or sequence[0] < self.root:
            return "STATUS_REVOKED" if sequence[0] == self.root else "STATUS_OLDER"
        if sequence < self.latest:
            return "STATUS_OLDER"
        self.latest = sequence
        return "STATUS_OK"
