"""A bag in which every text is hostile: nothing of it becomes markup, a path or a formula."""

from __future__ import annotations

import csv
import json
import re

import pytest

from planner.cli import main


@pytest.fixture
def made(hostile_bag, tmp_path):
    output = tmp_path / "out"
    assert main(["report", str(hostile_bag), "-o", str(output)]) == 0
    return output


def test_no_text_of_the_bag_is_in_the_markup(made) -> None:
    page = (made / "report.html").read_text("utf-8")
    blocks = re.findall(
        r"<script type=\"application/json\" id=\"[a-z-]+\">(.*?)</script>", page, re.S
    )
    assert len(blocks) == 2
    for block in blocks:
        assert not re.search("[<>&\u2028\u2029]", block)
        json.loads(block)
    bare = page
    for block in blocks:
        bare = bare.replace(block, "")
    assert "onerror" not in bare
    assert page.count("<script") == 3
    assert page.count("</script>") == 3


def test_nothing_is_written_elsewhere(made, hostile_bag, tmp_path) -> None:
    assert sorted(p.name for p in tmp_path.iterdir()) == [hostile_bag.name, "out"]
    names = sorted(p.name for p in made.rglob("*") if p.is_file())
    assert all(re.fullmatch(r"[a-z_]+\.(html|json|csv|parquet)", name) for name in names)


def test_cells_are_no_formulas_and_hold_no_orders_for_terminals(made) -> None:
    cells = 0
    for path in (made / "tables").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.reader(stream):
                for text in row:
                    cells += 1
                    assert not re.match(r"[=+@\t\r]|-(?![0-9.])", text), (path.name, text)
                    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert cells > 500


def test_what_is_printed_holds_no_orders_for_terminals(hostile_bag, tmp_path, capsys) -> None:
    assert main(["report", str(hostile_bag), "-o", str(tmp_path / "again")]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "hostile: failure" in said.out


@pytest.mark.slow
def test_the_page_shows_it_as_text_and_runs_none_of_it(made, browser) -> None:
    browser.open(made / "report.html")
    assert browser.run("document.title") == "Report of a run"
    assert "onerror" in browser.run("document.body.textContent")
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.wait("document.querySelectorAll('pre').length > 0")
    assert browser.run("document.title") == "Report of a run"
    assert browser.run("document.querySelectorAll('[onerror], iframe, object, embed').length") == 0
    assert browser.run("document.querySelectorAll('script').length") == 3
    assert not browser.requests
    assert not browser.complaints
