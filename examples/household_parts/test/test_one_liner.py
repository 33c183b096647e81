"""The chat model passes its check; run where the package is installed beside planner."""

from planner.app.planner_check import check_model
from planner.models.model_choice import ModelChoice


def test_the_chat_model_keeps_its_promises() -> None:
    report = check_model(ModelChoice("one_liner", options={"line": "Wait[]"}))
    assert report.conforms, report.table()
