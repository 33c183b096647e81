"""What `planner doctor` says of a keystore."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planner import doctor
from planner.doctor import Finding, Status
from planner.security.keystore import KeystoreReport, check_keystore, make_keystore
from planner.security.policy import Policy, shipped_policy
from planner.world.errors import PlannerError

pytest.importorskip("cryptography", reason="keys are made with the extra security")
NAMES = tuple(shipped_policy().identities)
DOMAIN = 5
NOW = datetime.now(UTC)


@pytest.fixture
def keystore(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    make_keystore(folder, shipped_policy(), domain=DOMAIN, days=400, now=NOW)
    return folder


def examined(
    folder: Path, *, policy: Policy | None = None, domain: int = DOMAIN, days: int = 0
) -> KeystoreReport:
    now = NOW + timedelta(days=days)
    return check_keystore(folder, policy or shipped_policy(), domain, now)


def test_a_whole_keystore_has_no_problem(keystore: Path) -> None:
    found = examined(keystore)
    assert (found.present, found.missing, found.problems) == (NAMES, (), ())
    assert found.ends == (NOW + timedelta(days=400)).replace(microsecond=0)


def test_a_robot_s_share_of_it_lacks_the_operator_and_is_sound(keystore: Path) -> None:
    shutil.rmtree(keystore / "private")
    shutil.rmtree(keystore / "enclaves/planner/operator")
    found = examined(keystore)
    assert (found.missing, found.problems) == (("operator",), ())


def test_every_problem_is_reported_with_whose_it_is(keystore: Path) -> None:
    enclaves = keystore / "enclaves/planner"
    (enclaves / "bridge/key.pem").chmod(0o640)
    (enclaves / "memory/permissions.p7s").unlink()
    (enclaves / "memory/key.pem").unlink()
    shutil.copy(enclaves / "operator/cert.pem", enclaves / "viewer/cert.pem")
    (enclaves / "tour/cert.pem").write_text("none")
    shutil.copy(enclaves / "operator/permissions.p7s", enclaves / "narrator/permissions.p7s")
    problems = examined(keystore).problems
    assert len(problems) == 5, problems
    for words in (
        "bridge: others can read the private key",
        "memory: without key.pem, permissions.p7s",
        "viewer: the certificate does not match key, name and authority",
        "tour: not a certificate",
        "narrator: permissions do not match this version",
    ):
        assert any(words in problem for problem in problems), problems


def test_what_has_expired_or_soon_will_is_reported(keystore: Path) -> None:
    assert not examined(keystore, days=369).problems
    (soon,) = examined(keystore, days=371).problems
    assert "the authority, operator" in soon
    assert "expires on" in soon
    (gone,) = examined(keystore, days=401).problems
    assert gone.endswith(": expired")
    (early,) = examined(keystore, days=-2).problems
    assert early.endswith("set this machine's clock")


def test_a_keystore_of_another_domain_or_an_older_policy_is_reported(keystore: Path) -> None:
    governance, permissions = examined(keystore, domain=6).problems
    assert governance == "governance is not for ROS domain 6"
    assert "permissions do not match this version and ROS domain 6" in permissions
    changed = shipped_policy().model_dump()
    changed["identities"]["narrator"]["subscribe"] = ["/new"]
    (one,) = examined(keystore, policy=Policy.model_validate(changed)).problems
    assert one.startswith("narrator: permissions do not match this version")


def test_no_keystore_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="cannot be read as a keystore"):
        examined(tmp_path)


def row(monkeypatch: pytest.MonkeyPatch, folder: Path | str, domain: int = DOMAIN) -> list[Finding]:
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    monkeypatch.setenv("ROS_SECURITY_STRATEGY", "Enforce")
    monkeypatch.setenv("ROS_SECURITY_KEYSTORE", str(folder))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setattr(doctor, "trial", lambda *_: doctor.Trial(True, "[]"))
    return [finding for finding in doctor._network() if finding.part == "keystore"]


def test_doctor_tells_how_the_keystore_is(keystore: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = row(monkeypatch, keystore)
    assert (whole.status, whole.cure) == (Status.PRESENT, "")
    assert f"{len(NAMES)} identities, until " in whole.detail
    shutil.rmtree(keystore / "enclaves/planner/operator")
    (part,) = row(monkeypatch, keystore)
    assert part.status is Status.ABSENT
    assert part.detail.endswith("without operator")
    (other,) = row(monkeypatch, keystore, domain=9)
    assert other.status is Status.WARNING
    assert "ROS domain 9" in other.detail
    assert f"planner keystore {keystore}" in other.cure


@pytest.mark.parametrize("folder", ["", "/nowhere"])
def test_doctor_tells_of_no_keystore(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = row(monkeypatch, folder)
    assert found.status is Status.WARNING
    assert "planner keystore" in found.cure


def test_doctor_says_nothing_of_keys_where_none_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    row(monkeypatch, "/nowhere")
    monkeypatch.delenv("ROS_SECURITY_ENABLE")
    assert [each.part for each in doctor._network()] == ["network", "security (SROS 2)"]
