"""The numbers of the safety rules: the shipped file, and files that make no sense."""

import pytest

from sim_bridge.safety.options import SafetyOptions, default_safety


def options(**changes: object) -> SafetyOptions:
    return SafetyOptions.model_validate(changes)


def test_the_shipped_file_says_what_the_defaults_say() -> None:
    assert default_safety() == SafetyOptions()


@pytest.mark.parametrize(
    "bad",
    [
        {"motion": {"command_ttl_s": 10}},
        {"motion": {"resend_s": 0.9}},
        {"motion": {"speed_m_s": 1.5}},
        {"motion": {"hard_cap_m_s": 1.6}},
        {"battery": {"warn": 0.05}},
        {"keep_out": {"zones": [{"name": "x", "polygon_m": [[0, 0], [1, 1]]}]}},
        {"keep_out": {"zones": [{"name": "x", "polygon_m": [[0, 0], [1, 1], [0, 1], [1, 0]]}]}},
        {"speed": 3},
    ],
)
def test_numbers_that_make_no_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"SafetyOptions"):
        options(**bad)
