"""Text of a bag in cells of a CSV file, where spreadsheets calculate and terminals obey."""

from __future__ import annotations

import re

# What a spreadsheet takes for a formula's beginning (OWASP: CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Control characters but line ends and tabs, what changes the direction of text, lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def cell(text: str) -> str:
    """A text as a cell: one that a spreadsheet would calculate gets an apostrophe before it.

    Control characters become their pictures, such as U+241B for an escape; those that change the
    direction of text, and lone surrogates, become U+FFFD.
    """
    shown = _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))
    return f"'{shown}" if text.startswith(_FORMULA) else shown


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
