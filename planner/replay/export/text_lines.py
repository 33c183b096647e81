"""Text of a bag as a few lines of a picture."""

from __future__ import annotations

from PIL import ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def wrapped(text: str, face: Font, room_px: float, max_lines: int) -> list[str]:
    """The first lines of a wrapped text; an ellipsis marks a cut."""
    lines: list[str] = []
    for word in _printable(text).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and face.getlength(longer) <= room_px:
            lines[-1] = longer
        else:
            lines.append(word)
    shown = lines[:max_lines]
    if len(lines) > max_lines:
        shown[-1] += " ..."
    return [_cut(line, face, room_px) for line in shown]


def _cut(line: str, face: Font, room_px: float) -> str:
    if face.getlength(line) <= room_px:
        return line
    while line and face.getlength(f"{line}...") > room_px:
        line = line[:-1]
    return f"{line}..."


def _printable(text: str) -> str:
    # Cut before it is processed: a text in a bag may be megabytes.
    return "".join(c if c.isprintable() else " " for c in text[:2000])
