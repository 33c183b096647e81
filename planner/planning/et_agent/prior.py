"""How much the agent knows before it begins (ETPLAN-1.2)."""

from __future__ import annotations

from enum import StrEnum


class Prior(StrEnum):
    """What is known from the start, besides the names of rooms (ETPLAN-1.2).

    P: nothing; only what is seen counts. FP: the large furniture, which nobody carries. G:
    everything, for runs whose memory is complete.
    """

    P = "P"
    FP = "FP"
    G = "G"
