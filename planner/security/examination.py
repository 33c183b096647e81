"""Whether a keystore can be used: every enclave there, nothing expired, permissions of today."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from planner.security import documents
from planner.security.certificates import Certificate, belongs, read_certificate
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
class Examined:
    """What was found.

    Attributes:
        present: identities that have an enclave here.
        lacking: identities of the policy that have none; a robot needs only those it runs.
        problems: what keeps a node from starting or is unsafe, a line each.
        ends: when the first certificate expires, UTC; None without any.
    """

    present: tuple[str, ...]
    lacking: tuple[str, ...]
    problems: tuple[str, ...]
    ends: datetime | None


def examine_keystore(folder: Path, policy: Policy, domain: int, now: datetime) -> Examined:
    """Look at a keystore; nothing is changed.

    Args:
        folder: of the keystore.
        policy: which identities there are, and what each may do.
        domain: the ROS domain in which nodes are to run.
        now: UTC.

    Raises:
        PlannerError: where it is none, cannot be read, or cryptography is not installed.
    """
    try:
        return _Examination(folder, policy, domain, now).run()
    except OSError as error:
        raise PlannerError(f"{folder}: cannot be read as a keystore: {error}") from None


class _Examination:
    def __init__(self, folder: Path, policy: Policy, domain: int, now: datetime) -> None:
        self._folder, self._policy, self._domain, self._now = folder, policy, domain, now
        # Who has it, by what is wrong.
        self._wrong: dict[str, list[str]] = defaultdict(list)
        self._ends: list[datetime] = []

    def run(self) -> Examined:
        ca = read_certificate((self._folder / PUBLIC / CA_CERTIFICATE).read_bytes())
        self._note_times("the authority", ca)
        governance = documents.governance(self._domain)
        if not _says(self._folder / ENCLAVES / f"{GOVERNANCE}.p7s", governance):
            self._wrong[f"governance is not that of ROS domain {self._domain}"].append("")
        present, lacking = [], []
        for name in self._policy.identities:
            folder = self._folder / ENCLAVES / enclave_of(name).lstrip("/")
            if folder.is_dir():
                present.append(name)
                self._look(name, folder, ca)
            else:
                lacking.append(name)
        problems = tuple(
            f"{', '.join(names)}: {what}" if all(names) else what
            for what, names in self._wrong.items()
        )
        return Examined(tuple(present), tuple(lacking), problems, min(self._ends, default=None))

    def _look(self, name: str, folder: Path, ca: Certificate) -> None:
        gone = [file for file in FILES if not (folder / file).is_file()]
        if gone:
            self._wrong[f"without {', '.join(gone)}"].append(name)
            return
        if (folder / KEY).stat().st_mode & 0o077:
            self._wrong["others can read the private key"].append(name)
        try:
            certificate = read_certificate((folder / CERTIFICATE).read_bytes())
            signed = belongs(certificate, (folder / KEY).read_bytes(), ca)
        except PlannerError as error:
            self._wrong[str(error)].append(name)
            return
        self._note_times(name, certificate)
        if not signed or certificate.name != enclave_of(name):
            self._wrong["the certificate is not of this key, name and authority"].append(name)
            return
        text = documents.permissions(
            enclave_of(name),
            self._policy.rights[name],
            self._domain,
            certificate.begins,
            certificate.ends,
        )
        if not _says(folder / f"{PERMISSIONS}.p7s", text):
            what = f"permissions are not those of this version in ROS domain {self._domain}"
            self._wrong[what].append(name)

    def _note_times(self, name: str, certificate: Certificate) -> None:
        self._ends.append(certificate.ends)
        if certificate.ends <= self._now:
            self._wrong["expired"].append(name)
        elif certificate.begins > self._now:
            self._wrong["not valid yet: set this machine's clock"].append(name)
        elif certificate.ends <= self._now + RENEW_WITHIN:
            self._wrong[f"expires on {certificate.ends:%Y-%m-%d}"].append(name)


def _says(signed: Path, text: str) -> bool:
    """Whether a signed document is this one; signing makes every end of line CR LF."""
    return text.encode("ascii") in signed.read_bytes().replace(b"\r\n", b"\n")
