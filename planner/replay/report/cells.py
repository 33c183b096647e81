"""Text from a bag as safe cells of a CSV file, for spreadsheets and terminals."""

from __future__ import annotations

import re

# Characters at which spreadsheets start a formula (OWASP: CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Control characters except line ends and tabs, direction overrides, lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def cell(text: str) -> str:
    """A text as a cell: one that a spreadsheet would evaluate gets a leading apostrophe.

    Control characters become visible symbols, such as U+241B for an escape; direction overrides and
    lone surrogates become U+FFFD.
    """
    shown = _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))
    return f"'{shown}" if text.startswith(_FORMULA) else shown


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
