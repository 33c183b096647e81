"""What `planner keystore` makes, as OpenSSL and a reader of DDS permissions see it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planner import cli
from planner.security import keystore as keystore_module
from planner.security.keystore import make_keystore, read_certificate
from planner.security.policy import OPERATOR, shipped_policy
from planner.world.errors import PlannerError

pytest.importorskip("cryptography", reason="keys are made with the extra security")
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
DOMAIN = 42
NAMES = sorted(shipped_policy().identities)


def make(folder: Path, *, days: int = 3650, now: datetime | None = None, domain: int = DOMAIN):
    return make_keystore(folder, shipped_policy(), domain=domain, days=days, now=now)


@pytest.fixture(scope="module")
def keystore(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys") / "store"
    make(folder)
    return folder


def openssl(*words: str | Path) -> str:
    if shutil.which("openssl") is None:
        pytest.skip("there is no command openssl")
    done = subprocess.run(
        ["openssl", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def verified(folder: Path, name: str) -> ET.Element:
    """A signed document of an enclave, once OpenSSL has found its signature good."""
    text = openssl(
        *("smime", "-verify", "-text", "-in", folder / f"{name}.p7s"),
        *("-CAfile", folder / "permissions_ca.cert.pem"),
    )
    return ET.fromstring(text)  # noqa: S314 - as above


def texts(element: ET.Element, path: str) -> list[str]:
    return [each.text or "" for each in element.findall(path)]


@pytest.mark.parametrize("name", NAMES)
def test_every_enclave_has_the_six_files_that_ros_looks_for(keystore: Path, name: str) -> None:
    enclave = keystore / "enclaves/planner" / name
    for file in (
        *("identity_ca.cert.pem", "cert.pem", "key.pem"),
        *("permissions_ca.cert.pem", "governance.p7s", "permissions.p7s"),
    ):
        assert (enclave / file).read_bytes(), file


@pytest.mark.parametrize("name", NAMES)
def test_certificates_are_of_the_authority_on_p_256_and_named_after_the_enclave(
    keystore: Path, name: str
) -> None:
    enclave = keystore / "enclaves/planner" / name
    certificate = enclave / "cert.pem"
    openssl("verify", "-CAfile", enclave / "identity_ca.cert.pem", certificate)
    shown = openssl("x509", "-in", certificate, "-noout", "-text", "-nameopt", "RFC2253")
    assert "ASN1 OID: prime256v1" in shown
    assert f"Subject: CN=/planner/{name}\n" in shown
    assert "CA:FALSE" in shown
    public = openssl("x509", "-in", certificate, "-noout", "-pubkey")
    assert openssl("pkey", "-in", enclave / "key.pem", "-pubout") == public


@pytest.mark.parametrize("name", NAMES)
def test_signed_permissions_say_what_the_policy_says(keystore: Path, name: str) -> None:
    enclave = keystore / "enclaves/planner" / name
    grants = verified(enclave, "permissions").findall("permissions/grant")
    assert [texts(grant, "subject_name") for grant in grants] == [[f"CN=/planner/{name}"]]
    (grant,) = grants
    assert texts(grant, "default") == ["DENY"]
    (rule,) = (each for each in grant if each.tag.endswith("_rule"))
    assert rule.tag == "allow_rule"
    assert texts(rule, "domains/id") == [str(DOMAIN)]
    rights = shipped_policy().rights[name]
    assert set(texts(rule, "publish/topics/topic")) == rights.publish
    assert set(texts(rule, "subscribe/topics/topic")) == rights.subscribe
    certificate = read_certificate((enclave / "cert.pem").read_bytes())
    times = [*texts(grant, "validity/not_before"), *texts(grant, "validity/not_after")]
    limits = (certificate.begins, certificate.ends)
    assert [datetime.fromisoformat(each).replace(tzinfo=UTC) for each in times] == [*limits]


@pytest.mark.parametrize("service", ["claim", "power_on", "estop/release", "safety/answer"])
def test_no_signed_permission_but_the_operator_s_has_a_safety_service_s_request(
    keystore: Path, service: str
) -> None:
    may = []
    for name in NAMES:
        document = verified(keystore / "enclaves/planner" / name, "permissions")
        published = texts(document, "permissions/grant/allow_rule/publish/topics/topic")
        if f"rq/agent_?/{service}Request" in published:
            may.append(name)
    assert may == [OPERATOR]


def test_governance_lets_nobody_in_without_keys_and_encrypts(keystore: Path) -> None:
    for name in NAMES:
        document = verified(keystore / "enclaves/planner" / name, "governance")
        (rule,) = document.findall("domain_access_rules/domain_rule")
        assert texts(rule, "domains/id") == [str(DOMAIN)]
        assert texts(rule, "allow_unauthenticated_participants") == ["false"]
        assert texts(rule, "enable_join_access_control") == ["true"]
        assert texts(rule, "discovery_protection_kind") == ["ENCRYPT"]
        (topics,) = rule.findall("topic_access_rules/topic_rule")
        assert texts(topics, "topic_expression") == ["*"]
        assert texts(topics, "enable_read_access_control") == ["true"]
        assert texts(topics, "enable_write_access_control") == ["true"]
        assert texts(topics, "data_protection_kind") == ["ENCRYPT"]
        assert texts(topics, "metadata_protection_kind") == ["ENCRYPT"]


def test_a_document_that_was_changed_is_not_verified(keystore: Path, tmp_path: Path) -> None:
    signed = keystore / "enclaves/planner/viewer/permissions.p7s"
    changed = tmp_path / "permissions.p7s"
    changed.write_bytes(signed.read_bytes().replace(b"stopRequest", b"claimRequest"))
    with pytest.raises(AssertionError, match=r"(?i)digest failure"):
        openssl(
            "smime", "-verify", "-text", "-in", changed, "-CAfile", keystore / "public/ca.cert.pem"
        )


def test_nobody_else_reads_private_keys(keystore: Path) -> None:
    keys = [path for path in keystore.rglob("*key.pem") if not path.is_symlink()]
    assert len(keys) == len(NAMES) + 1
    assert {stat.S_IMODE(path.stat().st_mode) for path in keys} == {0o600}
    assert stat.S_IMODE((keystore / "private").stat().st_mode) == 0o700


def test_a_second_call_keeps_keys_and_certificates_and_adds_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    assert set(make(folder).new_keys) == {"", *NAMES}
    kept = {path: path.read_bytes() for path in folder.rglob("*.pem")}
    shutil.rmtree(folder / "enclaves/planner/tour")
    (folder / "enclaves/planner/viewer/permissions.p7s").unlink()
    (folder / "enclaves/planner/memory/governance.p7s").unlink()
    (folder / "enclaves/planner/bridge/key.pem").chmod(0o644)
    again = make(folder)
    assert (again.new_keys, again.renewed) == (("tour",), ())
    for path, content in kept.items():
        assert (path.read_bytes() == content) == (
            path.parent.name != "tour" or path.name.endswith("_ca.cert.pem")
        ), path
    assert stat.S_IMODE((folder / "enclaves/planner/bridge/key.pem").stat().st_mode) == 0o600
    for name in NAMES:
        verified(folder / "enclaves/planner" / name, "permissions")
        verified(folder / "enclaves/planner" / name, "governance")


def test_certificates_that_expire_are_issued_again_for_the_same_keys(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    make(folder, days=90, now=NOW)
    keys = {path: path.read_bytes() for path in folder.rglob("*key.pem")}
    assert not make(folder, days=90, now=NOW + timedelta(days=59)).renewed
    later = NOW + timedelta(days=400)
    again = make(folder, days=90, now=later)
    assert (again.new_keys, set(again.renewed)) == ((), {"", *NAMES})
    assert {path: path.read_bytes() for path in folder.rglob("*key.pem")} == keys
    for name in NAMES:
        certificate = folder / "enclaves/planner" / name / "cert.pem"
        assert read_certificate(certificate.read_bytes()).ends == later + timedelta(days=90)
        at = str(int(later.timestamp()))
        openssl("verify", "-attime", at, "-CAfile", folder / "public/ca.cert.pem", certificate)


def test_another_domain_gets_permissions_of_its_own_and_the_same_keys(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    make(folder)
    again = make(folder, domain=7)
    assert (again.new_keys, again.renewed) == ((), ())
    document = verified(folder / "enclaves/planner/bridge", "permissions")
    assert texts(document, "permissions/grant/allow_rule/domains/id") == ["7"]


def test_what_the_tool_of_ros_made_is_extended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its layout is ours, its authority has another name."""
    folder = tmp_path / "store"
    with monkeypatch.context() as patched:
        patched.setattr(keystore_module, "AUTHORITY", "sros2CA")
        make(folder, days=90, now=NOW)
    shutil.rmtree(folder / "enclaves/planner")
    other = folder / "enclaves/talker"
    other.mkdir()
    (other / "key.pem").write_text("of another program")
    later = NOW + timedelta(days=80)
    again = make(folder, now=later)
    assert (set(again.new_keys), again.renewed) == ({*NAMES}, ("",))
    assert (other / "key.pem").read_text() == "of another program"
    assert read_certificate((folder / "public/ca.cert.pem").read_bytes()).name == "sros2CA"
    certificate = folder / "enclaves/planner/bridge/cert.pem"
    at = str(int(later.timestamp()))
    openssl("verify", "-attime", at, "-CAfile", folder / "public/ca.cert.pem", certificate)


def test_a_certificate_that_is_of_somebody_else_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    make(folder)
    enclaves = folder / "enclaves/planner"
    for file in ("cert.pem", "key.pem"):
        shutil.copy(enclaves / "operator" / file, enclaves / "viewer" / file)
    shutil.copy(enclaves / "operator/cert.pem", enclaves / "tour/cert.pem")
    assert set(make(folder).renewed) == {"viewer", "tour"}
    for name in ("viewer", "tour"):
        assert read_certificate((enclaves / name / "cert.pem").read_bytes()).name.endswith(name)


def test_two_authorities_are_not_mixed_up_with_a_third(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    make(folder)
    shutil.rmtree(folder / "private")
    for name in ("identity_ca", "permissions_ca"):
        shutil.copy(folder / "public/ca.cert.pem", folder / f"public/{name}.new")
        (folder / f"public/{name}.new").replace(folder / f"public/{name}.cert.pem")
    (folder / "public/ca.cert.pem").unlink()
    with pytest.raises(PlannerError, match="the authority's key is not here"):
        make(folder)


def test_a_folder_that_cannot_be_a_keystore_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("a file")
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("of a user")
    without = tmp_path / "without"
    make(without)
    shutil.rmtree(without / "private")
    broken = tmp_path / "broken"
    make(broken)
    (broken / "enclaves/planner/bridge/cert.pem").write_text("none")
    before = sorted(tmp_path.rglob("*"))
    for folder, why in (
        (file, "not a folder"),
        (file / "below", "file"),
        (other, "has other contents"),
        (without, "the authority's key is not here; run this where the keystore was made"),
        (broken, "enclaves/planner/bridge/cert.pem: not a certificate"),
        (Path("/proc/planner"), "cannot create a keystore"),
    ):
        assert cli.main(["keystore", str(folder)]) == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1, said
        assert said[0].startswith("error: ")
        assert why in said[0]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "environment", "why"),
    [
        (["--domain", "233"], "", "domain: expected 0 to 232, got 233"),
        (["--domain", "-1"], "", "got -1"),
        ([], "seven", "ROS_DOMAIN_ID: expected a whole number, got 'seven'"),
        (["--days", "0"], "", "days: expected at least 1, got 0"),
    ],
)
def test_numbers_out_of_range_are_refused(
    words: list[str],
    environment: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", environment)
    assert cli.main(["keystore", str(tmp_path / "store"), *words]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_the_command_says_what_it_made_and_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "12")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["keystore", "store"]) == 0
    said = capsys.readouterr().out
    assert f"{len(NAMES)} identities for ROS domain 12" in said
    assert f"export ROS_SECURITY_KEYSTORE={tmp_path / 'store'}" in said
    assert cli.main(["keystore", "store"]) == 0
    assert "new keys" not in capsys.readouterr().out


@pytest.mark.slow
def test_without_cryptography_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from planner import cli; sys.exit(cli.main(['keystore', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store")],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'planner[security]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "store").exists()


def test_a_domain_that_is_none_is_an_error_of_the_library_too(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="got 500"):
        make(tmp_path / "store", domain=500)
