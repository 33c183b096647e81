"""How the page is put together: its parts, its policy, and what stands in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from planner.cli import main
from planner.models.ledger import ModelPrices, PriceTable
from planner.replay.report.cli import priced
from planner.replay.report.collect import collect
from planner.replay.report.document import ModelCall, Report
from planner.replay.report.page import SCHEMA_NAME, SCRIPTS, page_html, report_json, schema_text

ASSETS = resources.files("planner.replay.report").joinpath("assets")
CALL = ModelCall(0.0, "react", "m", ("agent_0",), 1, "", "", (), "", 0, 0, 0, None, None)


def sources() -> dict[str, str]:
    return {name: ASSETS.joinpath(name).read_text("utf-8") for name in SCRIPTS}


def test_each_module_imports_only_what_comes_before_it() -> None:
    before: set[str] = set()
    for name, text in sources().items():
        assert set(re.findall(r'^import .* from "\./(.*)";$', text, re.M)) <= before, name
        assert text.count("import ") == len(re.findall(r"^import ", text, re.M))
        before.add(name)


def test_all_modules_are_in_the_page_and_no_name_is_given_twice() -> None:
    assert {p.name for p in ASSETS.iterdir() if p.name.endswith(".js")} == set(SCRIPTS)
    given_names = [
        name
        for text in sources().values()
        for name in re.findall(r"^(?:export )?(?:function|class|const|let) (\w+)", text, re.M)
    ]
    assert len(given_names) == len(set(given_names))


def test_every_imported_name_is_exported() -> None:
    texts = sources()
    for text in texts.values():
        for names, file in re.findall(r'^import \{ (.*) \} from "\./(.*)";$', text, re.M):
            for name in names.split(", "):
                assert re.search(rf"^export (?:function|class|const) {name}\b", texts[file], re.M)


def test_nothing_makes_markup_or_code_of_text() -> None:
    for name, text in sources().items():
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
            r"|fetch\(|XMLHttpRequest|WebSocket|https?://(?!www\.w3\.org/2000/svg)",
            text,
        )
        assert not found, (name, found)


@pytest.fixture
def report(film):
    film.solved()
    return Report((collect(film.everything("bag").close(), "bag", 1_000_000).report,))


def test_the_policy_allows_the_page_s_own_script_and_style_alone(report) -> None:
    page = page_html(report, [[]])
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.S)
    for text, rule in ((style, "style-src"), (script, "script-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"


def test_the_same_report_is_the_same_page(report) -> None:
    assert page_html(report, [[b"1"]]) == page_html(report, [[b"1"]])
    assert report_json(report) == report_json(report)


def shown_prompts(report: Report) -> list[str]:
    """The prompts as the page puts them together again."""
    page = page_html(report, [[]])
    (block,) = re.findall(r'id="report-data">(.*?)</script>', page, re.S)
    whole: list[str] = []
    for call in json.loads(block)["bags"][0]["model_calls"]:
        whole.append((whole[-1][: call["same"]] if whole else "") + call["prompt"])
    return whole


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=6))
def test_prompts_come_whole_though_each_is_kept_as_what_is_new(texts) -> None:
    grown = ["".join(texts[: i + 1]) for i in range(len(texts))]
    empty = Report((replace(EMPTY, model_calls=tuple(replace(CALL, prompt=t) for t in grown)),))
    assert shown_prompts(empty) == grown


def test_calls_have_a_cost_only_where_prices_were_given() -> None:
    prices = PriceTable(
        version=1, currency="EUR", models={CALL.model: ModelPrices(prompt=2.0, reply=8.0)}
    )
    call = replace(CALL, prompt_tokens=1000, reply_tokens=100)
    bag = replace(EMPTY, model_calls=(call, replace(call, model="another")))
    assert priced(bag, None) is bag
    found = priced(bag, prices)
    assert found.currency == "EUR"
    assert [call.cost for call in found.model_calls] == [pytest.approx(0.0028), None]
    (block,) = re.findall(
        r'id="report-data">(.*?)</script>', page_html(Report((found,)), [[]]), re.S
    )
    assert json.loads(block)["bags"][0]["currency"] == "EUR"


def test_too_long_texts_are_cut_on_the_page_and_whole_in_the_document(monkeypatch) -> None:
    monkeypatch.setattr("planner.replay.report.page._TEXT_CHARACTERS", 100)
    calls = (replace(CALL, prompt="a" * 80, reply="b" * 30), replace(CALL, prompt="c" * 50))
    told = Report((replace(EMPTY, model_calls=calls),))
    (block,) = re.findall(r'id="report-data">(.*?)</script>', page_html(told, [[]]), re.S)
    shown = json.loads(block)["bags"][0]["model_calls"]
    assert [len(c["prompt"]) for c in shown] == [80, 0]
    assert (len(shown[0]["reply"]), shown[0]["cut"], shown[1]["cut"]) == (20, 10, 50)
    whole = json.loads(report_json(told))["bags"][0]["model_calls"]
    assert [len(c["prompt"]) for c in whole] == [80, 50]


def _empty():
    from planner.replay.report import document as d

    about = d.About("", "", "", "", "", "", "", "", None, (), 0.0, 0.0, 0, "receipt", False, {})
    verdicts = d.Verdicts(None, None, None, final=False, reason="")
    return d.BagReport(
        "bag",
        (),
        about,
        verdicts,
        (),
        (),
        (),
        (),
        (),
        d.Work((), ()),
        None,
        (),
        (),
        None,
        (),
        (),
        (),
        (),
    )


EMPTY = _empty()


SCHEMAS = Path(__file__).resolve().parents[4] / "docs" / "schema"


def test_the_published_schema_is_current() -> None:
    published = (SCHEMAS / SCHEMA_NAME).read_text("utf-8")
    assert published == schema_text(), "run: python -m planner.replay.report.page docs/schema"


@pytest.mark.slow
def test_a_report_reads_back_as_it_was(film, tmp_path) -> None:
    film.solved()
    main(["report", str(film.everything("bag").close()), "-o", str(tmp_path / "out")])
    text = (tmp_path / "out" / "report.json").read_text("utf-8")
    read = TypeAdapter(Report).validate_json(text)
    assert json.loads(text) == TypeAdapter(Report).dump_python(read, mode="json")
    assert read.bags[0].verdicts.agree is True
