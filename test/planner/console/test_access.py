"""Who may open the page, and who may give orders."""

from __future__ import annotations

import pytest

from planner.console.access import access_to
from planner.world.errors import PlannerError


def test_the_loopback_needs_no_token() -> None:
    access = access_to("127.0.0.1", 0, "", read_only=False)
    assert access.allows("")
    assert access.may_order("")
    assert not access_to("::1", 0, "", read_only=True).may_order("")


def test_other_addresses_need_one_of_two_tokens() -> None:
    access = access_to("0.0.0.0", 0, "", read_only=False)  # noqa: S104
    assert len(access.control) > 20
    assert not access.allows("")
    assert not access.allows(access.control[:-1])
    assert access.may_order(access.control)
    assert access.allows(access.view)
    assert not access.may_order(access.view)
    assert access.control != access_to("0.0.0.0", 0, "", read_only=False).control  # noqa: S104


def test_a_given_token_counts_on_the_loopback_too() -> None:
    access = access_to("127.0.0.1", 0, "a-long-enough-token", read_only=False)
    assert not access.allows("")
    assert access.may_order("a-long-enough-token")
    assert not access.allows("ä")


@pytest.mark.parametrize(
    ("port", "token", "reason"),
    [(-1, "", "port: expected"), (70000, "", "port: expected"), (0, "short", "token: expected")],
)
def test_what_cannot_be_used_is_refused(port: int, token: str, reason: str) -> None:
    with pytest.raises(PlannerError, match=reason):
        access_to("127.0.0.1", port, token, read_only=False)


@pytest.mark.parametrize(
    ("host", "origin", "own"),
    [
        ("127.0.0.1:8642", "", True),
        ("127.0.0.1:8642", "http://127.0.0.1:8642", True),
        ("localhost:8642", "http://localhost:8642", True),
        ("[::1]:8642", "http://[::1]:8642", True),
        ("127.0.0.1:8642", "http://evil.example", False),
        ("127.0.0.1:8642", "http://127.0.0.1:9000", False),
        ("127.0.0.1:8642", "null", False),
        # A name of another site that was made to lead here.
        ("evil.example:8642", "http://evil.example:8642", False),
        ("", "", False),
        ("[", "", False),
    ],
)
def test_pages_of_other_sites_are_not_let_in(host: str, origin: str, own: bool) -> None:
    assert access_to("127.0.0.1", 8642, "", read_only=False).is_own(host, origin) is own


def test_a_server_for_others_has_any_name_but_one_origin() -> None:
    access = access_to("0.0.0.0", 8642, "", read_only=False)  # noqa: S104
    assert access.is_own("robot.lab:8642", "http://robot.lab:8642")
    assert not access.is_own("robot.lab:8642", "http://other.lab:8642")
