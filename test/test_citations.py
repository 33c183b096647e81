"""Every decision, check and rule that the repository cites has an entry in its docs."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from citation import CITATION, PAPERS, ROOT, backward_ranges, cited, entries, pages

# Forms of citation that pointed to files which the repository does not hold.
OLD_FORMS = re.compile(
    r"""
      (?<![\w-])D-\d+\b                                      # a decision without its paper
    | \bspec/(?:partnr|epm|llamar|helper|et_plan)            # the specifications
    | \b(?:epm|llamar|et_plan_bench)\.md\ (?:\d|D-|[Cc]heck)
    | (?<![\w-])F[1-9]\.\d                                   # the study of Spot
    | \bresearch[:/]|\bseeds/|\bdesign\.md|\[I\]
    | (?<!acceptance\ )\b[Cc]hecks?\ \d+                     # a check without its paper
    | \b[Tt]able\ \d+\b|\bLines?\ \d+(?:-\d+)?\ of\ the\ paper
    | (?<=[a-z]\ )\(\d{1,2}\.\d{1,2}\)(?=[."',:;]*(?:\s|$))  # a bare section
    """,
    re.VERBOSE,
)
# Each old form has one of these; searching for all of them at every position takes seconds.
PARTS = tuple(
    re.compile(part)
    for part in (
        r"D-\d", r"spec/", r"\.md ", r"F[1-9]\.\d", r"research[:/]", r"seeds/", r"design\.md",
        r"\[I\]", r"hecks? \d", r"able \d", r"of the paper", r"\(\d{1,2}\.\d{1,2}\)",
    )
)  # fmt: skip
# Data and what tools wrote; the schemas hold docstrings.
DATA = {".json", ".jsonl", ".lock", ".svg"}
CHECK_IN_A_NAME = re.compile(
    r"\bdef test_(?:(\w+?)_)??(?:\w+_and_)?checks?_(\d+)(?:_(?:to|and)_(\d+))?"
)
CHECKS_FROM_TO = re.compile(r"test_(?:(\w+?)_)??checks?_(\d+)(?:_(to|and)_(\d+))?")
CHECK = re.compile(r"(\w+)-[CS]\d+")
NUMBERED = re.compile(r"\bdef test_(\d+)_(?:and_)?(?:(\d+)_)?")
PAPER_OF = {"epm": "EPM", "llamar": "LLAMAR", "et": "ETPLAN", "helper": "HELPER"}
RULE = re.compile(r"(?<![\w.])[Rr]ules? (\d+(?:(?:, | and | to )\d+)*)")


@pytest.fixture(autouse=True)
def in_a_checkout() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")


@cache
def texts() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = {}
    for name in sorted(set(listed.split("\0"))):
        path = ROOT / name
        data = path.suffix in DATA and not name.startswith("docs/schema/")
        if not name or data or not path.is_file():
            continue
        # This very file spells the old forms.
        if name == "test/test_citations.py":
            continue
        try:
            found[name] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


@cache
def known() -> frozenset[str]:
    return frozenset(entry for page in pages() for _, entry in entries(page))


def test_every_citation_has_an_entry() -> None:
    missing = {
        f"{name}: {entry}" for name, text in texts().items() for entry in cited(text) - known()
    }
    assert not missing
    assert sum(len(CITATION.findall(text)) for text in texts().values()) > 300


def test_every_range_rises_within_one_kind() -> None:
    assert not {name: wrong for name, text in texts().items() if (wrong := backward_ranges(text))}


def test_entries_are_unique_and_their_anchors_are_their_ids() -> None:
    found = [pair for page in pages() for pair in entries(page)]
    assert not [entry for entry, n in Counter(entry for _, entry in found).items() if n > 1]
    assert not [pair for pair in found if pair[0] != pair[1].lower()]


def test_every_page_of_decisions_is_linked() -> None:
    index = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    for page in pages()[1:]:
        assert f"](decisions/{page.name})" in index


def test_the_numbers_of_checks_in_the_names_of_tests_have_entries() -> None:
    missing = []
    for name, text in texts().items():
        papers = {entry.partition("-")[0] for entry in cited(text)} & set(PAPERS)
        for number, of in numbers_in_names(name, text):
            candidates = {of} if of else papers
            if not {f"{paper}-C{number}" for paper in candidates} & known():
                missing.append(f"{name}: check {number} of {sorted(candidates)}")
    assert not missing


@pytest.mark.needs("papers", "sim_bridge/spot", "sim_bridge/habitat")
@pytest.mark.parametrize("paper", ["LLAMAR", "ETPLAN", "HELPER"])
def test_every_check_of_a_paper_is_quoted_by_a_test(paper: str) -> None:
    checks = {entry for entry in known() if CHECK.fullmatch(entry) and entry.startswith(paper)}
    assert checks
    assert not checks - checks_of_tests()


def test_llamars_checks_are_all_entries() -> None:
    numbered = {f"LLAMAR-C{n}" for n in range(1, 41)} | {f"LLAMAR-S{n}" for n in range(1, 11)}
    assert {entry for entry in known() if re.fullmatch(r"LLAMAR-[CS]\d+", entry)} == numbered


@cache
def checks_of_tests() -> frozenset[str]:
    """The checks that test functions quote: in their names, or within them in full."""
    found: set[str] = set()
    for name, text in texts().items():
        if not re.fullmatch(r"test/.*/?test_\w+\.py", name):
            continue
        quoted = cited(text)
        # Parsing them all takes seconds, and most quote nothing.
        if not quoted and not CHECK_IN_A_NAME.search(text):
            continue
        papers = {entry.partition("-")[0] for entry in quoted} & set(PAPERS)
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            if quoted:
                found |= cited(ast.unparse(node))
            if match := CHECKS_FROM_TO.match(node.name):
                of, first, how, last = match.groups()
                numbers = {int(first), int(last or first)}
                if how == "to":
                    numbers = set(range(int(first), int(last) + 1))
                within = {PAPER_OF[of]} if of in PAPER_OF else papers
                found |= {f"{paper}-C{number}" for paper in within for number in numbers}
    return frozenset(found)


def numbers_in_names(name: str, text: str) -> Iterator[tuple[int, str | None]]:
    for prefix, first, last in CHECK_IN_A_NAME.findall(text):
        for number in {first, last} - {""}:
            yield int(number), PAPER_OF.get(prefix)
    if name.startswith("test/planner/memory/"):
        for found in NUMBERED.findall(text):
            for number in set(found) - {""}:
                yield int(number), None


def old_forms(text: str) -> list[str]:
    if not any(part.search(text) for part in PARTS):
        return []
    return [match[0] for match in OLD_FORMS.finditer(text)]


def test_old_forms_do_not_come_back() -> None:
    found = [
        f"{name}: {form}"
        for name, text in texts().items()
        if not name.startswith("docs/decisions")
        for form in old_forms(text)
    ]
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "# spec/partnr.md D-49: the paper's second trace",
        "as D-13 says",
        "(spec/epm.md 2.5)",
        '"""F6.4: a killed bridge."""',
        "(research: F6.2)",
        '"""Check 29: the reference."""',
        "the tools only where no summary is given (7.4).",
        "as design.md has it",
    ],
)
def test_an_old_form_is_found(line: str) -> None:
    assert old_forms(line)


def test_safety_rules_that_are_cited_are_on_their_page() -> None:
    page = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    rules = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    missing = []
    for name, text in texts().items():
        for found in RULE.findall(text):
            numbers = {int(number) for number in re.findall(r"\d+", found)}
            missing += [f"{name}: rule {number}" for number in sorted(numbers - rules)]
    assert not missing
