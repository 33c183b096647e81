"""Whether a keystore can be used: all enclaves present, nothing expired, permissions current."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from planner.security import documents
from planner.security.certificates import Certificate, matches, read_certificate
from planner.security.enclave import enclave_of
from planner.security.keystore import (
    CA_CERTIFICATE,
    CERTIFICATE,
    ENCLAVES,
    GOVERNANCE,
    KEY,
    PERMISSIONS,
    PUBLIC,
    RENEW_WITHIN,
)
from planner.security.policy import Policy
from planner.world.errors import PlannerError

FILES = (
    "identity_ca.cert.pem",
    CERTIFICATE,
    KEY,
    "permissions_ca.cert.pem",
    f"{GOVERNANCE}.p7s",
    f"{PERMISSIONS}.p7s",
)


@dataclass(frozen=True, slots=True)
class KeystoreReport:
    """The findings.

    Attributes:
        present: identities that have an enclave here.
        missing: identities of the policy without an enclave; a robot needs only those it runs.
        problems: what keeps a node from starting or is unsafe, a line each.
        ends: when the first certificate expires, UTC; None if there is none.
    """

    present: tuple[str, ...]
    missing: tuple[str, ...]
    problems: tuple[str, ...]
    ends: datetime | None


def check_keystore(folder: Path, policy: Policy, domain: int, now: datetime) -> KeystoreReport:
    """Check a keystore without changing it.

    Args:
        folder: of the keystore.
        policy: the identities and what each may do.
        domain: the ROS domain in which nodes are to run.
        now: UTC.

    Raises:
        PlannerError: if it is not a keystore, cannot be read, or cryptography is not installed.
    """
    try:
        return _KeystoreCheck(folder, policy, domain, now).run()
    except OSError as error:
        raise PlannerError(f"{folder}: cannot be read as a keystore: {error}") from None


class _KeystoreCheck:
    def __init__(self, folder: Path, policy: Policy, domain: int, now: datetime) -> None:
        self._folder, self._policy, self._domain, self._now = folder, policy, domain, now
        # Names of the identities that have a problem, by problem.
        self._problems: dict[str, list[str]] = defaultdict(list)
        self._ends: list[datetime] = []

    def run(self) -> KeystoreReport:
        ca = read_certificate((self._folder / PUBLIC / CA_CERTIFICATE).read_bytes())
        self._note_times("the authority", ca)
        governance = documents.governance(self._domain)
        if not _has_text(self._folder / ENCLAVES / f"{GOVERNANCE}.p7s", governance):
            self._problems[f"governance is not for ROS domain {self._domain}"].append("")
        present, missing = [], []
        for name in self._policy.identities:
            folder = self._folder / ENCLAVES / enclave_of(name).lstrip("/")
            if folder.is_dir():
                present.append(name)
                self._look(name, folder, ca)
            else:
                missing.append(name)
        problems = tuple(
            f"{', '.join(names)}: {what}" if all(names) else what
            for what, names in self._problems.items()
        )
        return KeystoreReport(
            tuple(present), tuple(missing), problems, min(self._ends, default=None)
        )

    def _look(self, name: str, folder: Path, ca: Certificate) -> None:
        gone = [file for file in FILES if not (folder / file).is_file()]
        if gone:
            self._problems[f"without {', '.join(gone)}"].append(name)
            return
        if (folder / KEY).stat().st_mode & 0o077:
            self._problems["others can read the private key"].append(name)
        try:
            certificate = read_certificate((folder / CERTIFICATE).read_bytes())
            signed = matches(certificate, (folder / KEY).read_bytes(), ca)
        except PlannerError as error:
            self._problems[str(error)].append(name)
            return
        self._note_times(name, certificate)
        if not signed or certificate.name != enclave_of(name):
            self._problems["the certificate does not match key, name and authority"].append(name)
            return
        text = documents.permissions(
            enclave_of(name),
            self._policy.rights[name],
            self._domain,
            certificate.begins,
            certificate.ends,
        )
        if not _has_text(folder / f"{PERMISSIONS}.p7s", text):
            what = f"permissions do not match this version and ROS domain {self._domain}"
            self._problems[what].append(name)

    def _note_times(self, name: str, certificate: Certificate) -> None:
        self._ends.append(certificate.ends)
        if certificate.ends <= self._now:
            self._problems["expired"].append(name)
        elif certificate.begins > self._now:
            self._problems["not valid yet: set this machine's clock"].append(name)
        elif certificate.ends <= self._now + RENEW_WITHIN:
            self._problems[f"expires on {certificate.ends:%Y-%m-%d}"].append(name)


def _has_text(signed: Path, text: str) -> bool:
    """Whether a signed document has this text; signing turns line ends into CR LF."""
    return text.encode("ascii") in signed.read_bytes().replace(b"\r\n", b"\n")
