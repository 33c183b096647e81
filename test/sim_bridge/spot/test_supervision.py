"""What the bridge makes of the robot's answers, whichever thread gets them first."""

from __future__ import annotations

from typing import Any, cast

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from sim_bridge.safety.health import Lease
from sim_bridge.safety.options import default_safety
from sim_bridge.spot.permit import LeaseEntry
from sim_bridge.spot.supervision import Supervision


class OvertakenLink:
    """A robot whose lease is claimed while the list of leases is on its way."""

    skew_s = 0.0

    def __init__(self) -> None:
        self.lease: object | None = None
        self.claim_meanwhile = False

    def now_s(self) -> float:
        return 0.0

    def client(self, *_: object) -> None:
        """No client of another service is used."""

    def lease_book(self) -> LeaseEntry:
        if self.claim_meanwhile:
            self.claim_meanwhile = False
            self.lease = object()
            self.watch.keep_lease(well=False)
            return LeaseEntry()
        return LeaseEntry("us", "epoch", self.lease is not None)

    watch: Supervision


def test_a_list_of_leases_from_before_the_claim_does_not_undo_it() -> None:
    link = OvertakenLink()
    link.watch = Supervision(cast(Any, link), cast(Any, None), default_safety(), lambda: None)
    link.claim_meanwhile = True
    link.watch.keep_lease(well=False)
    assert link.watch.lease() is Lease.OURS
