"""`planner check planner NAME` on planners whose model is the teacher."""

from __future__ import annotations

import pytest

from planner import cli


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llamar_smart_llm", "llamar_coela", "partnr_views"])
def test_planners_that_plan_once_or_separately_or_look_pass(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", "planner", name, "--model", "teacher"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["passed", "is_named_as_asked_for"],
        ["passed", "ends_an_episode"],
        ["passed", "decides_for_idle_agents_with_whole_calls"],
        ["passed", "takes_free_text"],
    ]


def test_the_agent_of_et_plan_bench_passes_without_a_model(capsys) -> None:
    assert cli.main(["check", "planner", "et_agent"]) == 0
    assert "ends_an_episode" in capsys.readouterr().out
