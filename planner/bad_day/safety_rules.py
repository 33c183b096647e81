"""The numbers of the safety rules that bad days are run with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def safety_rules(otherwise: Mapping[str, Any]) -> dict[str, Any]:
    """As config/safety.yaml, but nobody approves what hands do, and it sits down sooner.

    Whoever decides must be heard before a simulator, too, so that its silence is seen there.
    """
    return {
        "version": 1,
        "approval": {"where": "never"},
        "people": {"where": "never"},
        "executive": {"where": "always"},
        # The emulator draws its pictures on the same processors.
        "timeouts": {"image_s": 3.0},
        "keepalive": {"warn_after_s": 1.0, "motors_off_after_s": 3.0},
        **otherwise,
    }
