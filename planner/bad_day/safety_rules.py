"""The safety rules used under fault injection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def safety_rules(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """As config/safety.yaml, but without approvals, and the robot sits down sooner.

    A simulator requires heartbeats too, so that a silent client has an effect there.
    """
    return {
        "version": 1,
        "approval": {"where": "never"},
        "people": {"where": "never"},
        "executive": {"where": "always"},
        # The emulator renders its pictures on the same CPU.
        "timeouts": {"image_s": 3.0},
        "keepalive": {"warn_after_s": 1.0, "motors_off_after_s": 3.0},
        **overrides,
    }
