"""The page: one self-contained HTML file that makes no network requests.

No text of a bag is ever part of the markup: it is JSON in a block that no browser executes, with
the characters escaped that could end it, and the scripts make text nodes of it. A policy in the
page's head allows only the page's own script and style, by their hashes, and embedded pictures.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypedDict

from pydantic import TypeAdapter

from planner.replay.report.document import ModelCall, Report

# Ordered so that each module comes after its imports.
SCRIPTS = (
    "dom.js", "timeline.js", "chart.js", "floor_plan.js", "gantt.js", "player.js", "sections.js",
    "model_calls.js", "comparison.js", "report.js",
)  # fmt: skip
STYLE = "report.css"
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
# Limit for all prompts and replies on the page; report.json has them in full.
_TEXT_CHARACTERS = 5_000_000
_REPORT = TypeAdapter(Report)
# Characters that could end the block or be read as markup, and the line ends of old JavaScript.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def report_json(report: Report) -> str:
    """The content of report.json."""
    document = _REPORT.dump_python(report, mode="json")
    return json.dumps(document, sort_keys=True, ensure_ascii=True, indent=1) + "\n"


def report_schema() -> dict[str, object]:
    """The JSON Schema of report.json."""
    return _REPORT.json_schema()


def page_html(report: Report, pictures: Sequence[Sequence[bytes]]) -> str:
    """The whole page.

    Args:
        report: what it shows.
        pictures: of each bag, as JPEG, in the order of its report.
    """
    style, script = _asset(STYLE), _script()
    encoded = [[base64.b64encode(jpeg).decode("ascii") for jpeg in bag] for bag in pictures]
    return _PAGE.format(
        policy=_policy(style, script),
        style=style,
        script=script,
        data=_embedded(_shown(report)),
        pictures=_embedded(encoded),
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Report of a run</title>
<style>{style}</style>
</head>
<body>
<main id="report"><noscript>This page is drawn by the script in it.</noscript></main>
<script type="application/json" id="report-data">{data}</script>
<script type="application/json" id="report-pictures">{pictures}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _policy(style: str, script: str) -> str:
    return (
        "default-src 'none'; img-src data:; "
        f"style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text("utf-8")


def _script() -> str:
    """All modules as one script: each comes after its imports, so import lines are removed."""
    texts = (_EXPORT.sub("", _IMPORT.sub("", _asset(name))) for name in SCRIPTS)
    return "\n" + "\n".join(texts)


def _embedded(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate cannot be encoded in UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8").translate(_ESCAPES)


def _shown(report: Report) -> dict[str, Any]:
    """The document for the page: prompts without the part they share with the previous one."""
    document: dict[str, Any] = _REPORT.dump_python(report, mode="json")
    left = _TEXT_CHARACTERS
    for bag, shown in zip(document["bags"], report.bags, strict=True):
        # The part of the previous prompt that the page has, which may have been cut.
        before = ""
        for row, call in zip(bag["model_calls"], shown.model_calls, strict=True):
            short = _shortened(call, before, left)
            row.update(short)
            left -= len(short["prompt"]) + len(short["reply"])
            before = before[: short["same"]] + short["prompt"]
    return document


class _Short(TypedDict):
    """A call's texts on the page; `same`: number of characters shared with the previous prompt."""

    same: int
    prompt: str
    reply: str
    cut: int


def _shortened(call: ModelCall, before: str, room: int) -> _Short:
    """A call without text that the page has already or has no room for."""
    same = _shared(before, call.prompt)
    own = call.prompt[same:]
    prompt = own[: max(0, room)]
    reply = call.reply[: max(0, room - len(own))]
    return _Short(
        same=same, prompt=prompt, reply=reply, cut=len(own + call.reply) - len(prompt + reply)
    )


def _shared(one: str, other: str) -> int:
    """Length of the common prefix of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# The JSON Schema of report.json, published in docs/schema/.
#
# `python -m planner.replay.report.page docs/schema` rewrites it.

SCHEMA_NAME = "report.schema.json"


def schema_text() -> str:
    """The file's text."""
    schema = {"title": "A report of one or more bags", **report_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    (Path(sys.argv[1]) / SCHEMA_NAME).write_text(schema_text(), encoding="utf-8")
