"""Messages of a page: what is read, what is refused and why."""

from __future__ import annotations

import json

import pytest

from planner.console.protocol import MAX_MESSAGE, Correct, Instruct, ProtocolError, Skill, read


def test_orders_are_read() -> None:
    assert read('{"type":"instruct","order":1,"words":"Tidy."}') == Instruct(
        type="instruct", order=1, words="Tidy."
    )
    call = read('{"type":"skill","order":2,"agent":"agent_1","call":"Pick[cup_0]"}')
    assert isinstance(call, Skill)
    moved = '{"type":"correct","order":3,"change":"move","entity":101,"at":[1.5,2,0.8]}'
    assert isinstance(read(moved), Correct)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "message: Invalid JSON"),
        ("[]", "message: "),
        ('{"type":"fly","order":1}', "'fly' found .* does not match"),
        ('{"type":"instruct","order":1}', "words: Field required"),
        ('{"type":"instruct","order":1,"words":""}', "words: .*at least 1"),
        ('{"type":"instruct","order":-1,"words":"a"}', "order: .*greater"),
        ('{"type":"instruct","order":1,"words":"a","agents":[]}', "agents: Extra"),
        ('{"type":"skill","order":1,"agent":"a/../b","call":"Wait[]"}', "agent: .*pattern"),
        ('{"type":"seek","at":NaN}', "at: "),
        ('{"type":"seek","at":-1}', "at: .*greater"),
        ('{"type":"play","on":true,"rate":1e9}', "rate: .*less"),
        ('{"type":"correct","order":1,"change":"move","at":[1,2]}', "at"),
        ('{"type":"trace","key":"../x"}', "key: .*pattern"),
        (json.dumps({"type": "answer", "order": 1, "words": "x" * MAX_MESSAGE}), "at most"),
        ("[" * 9000, "message: "),
    ],
)
def test_what_cannot_be_used_is_refused_with_field_and_reason(text: str, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        read(text)
