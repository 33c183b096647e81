"""A keystore in the layout of ROS 2's own tool: public/, private/ and enclaves/.

Every identity of the policy gets the enclave `/planner/IDENTITY`. Existing keys are kept, and
certificates until shortly before they expire. Governance and permissions are always rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from planner.security import documents
from planner.security.certificates import (
    Certificate,
    check_installed,
    issue,
    matches,
    new_key,
    read_certificate,
    signed,
)
from planner.security.enclave import enclave_of
from planner.security.policy import Policy
from planner.world.errors import PlannerError

AUTHORITY = "plannerCA"
# A certificate that expires sooner is renewed, for the same key.
RENEW_WITHIN = timedelta(days=30)
MAX_DOMAIN = 232
PUBLIC, PRIVATE, ENCLAVES = "public", "private", "enclaves"
CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY = "ca.cert.pem", "ca.key.pem", "cert.pem", "key.pem"
GOVERNANCE, PERMISSIONS = "governance", "permissions"
_AUTHORITIES = ("identity_ca", "permissions_ca")


@dataclass(frozen=True, slots=True)
class KeystoreChanges:
    """The result of one call.

    Attributes:
        new_keys: identities that had no key before; "" is the authority.
        renewed: identities whose certificate was renewed for an existing key.
        identities: all identities of the policy that the keystore has.
    """

    new_keys: tuple[str, ...]
    renewed: tuple[str, ...]
    identities: tuple[str, ...]


def make_keystore(
    folder: Path, policy: Policy, *, domain: int, days: int, now: datetime | None = None
) -> KeystoreChanges:
    """Create a keystore, or complete one.

    Args:
        folder: of the keystore.
        policy: its identities and what each may do.
        domain: the ROS domain for which the permissions are valid.
        days: validity of new certificates.
        now: UTC; None is the present.

    Raises:
        PlannerError: if the folder has other contents, lacks the authority's key, or cannot be
            written.
    """
    if not 0 <= domain <= MAX_DOMAIN:
        raise PlannerError(f"domain: expected 0 to {MAX_DOMAIN}, got {domain}")
    if days < 1:
        raise PlannerError(f"days: expected at least 1, got {days}")
    check_installed()
    _check(folder)
    try:
        return _KeystoreBuilder(folder, policy, domain, days, now or datetime.now(UTC)).run()
    except OSError as error:
        raise PlannerError(f"{folder}: cannot create a keystore: {error}") from None


def _check(folder: Path) -> None:
    """Refuse to mix keys with other files, or to add a second authority."""
    try:
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
        certificates = (CA_CERTIFICATE, *(f"{name}.cert.pem" for name in _AUTHORITIES))
        has_certificate = any((folder / PUBLIC / name).is_file() for name in certificates)
        has_key = (folder / PRIVATE / CA_KEY).is_file()
    except OSError as error:
        raise PlannerError(f"{folder}: not a folder for a keystore: {error}") from None
    if names and not {PUBLIC, ENCLAVES} & names:
        raise PlannerError(f"{folder}: has other contents; name a new folder, or a keystore")
    if has_certificate != has_key and (has_certificate or (folder / ENCLAVES).exists()):
        raise PlannerError(
            f"{folder}: the authority's {'key' if has_certificate else 'certificate'} is not here; "
            "run this where the keystore was made"
        )


class _KeystoreBuilder:
    """One call of `make_keystore`."""

    def __init__(self, folder: Path, policy: Policy, domain: int, days: int, now: datetime) -> None:
        self._folder, self._policy = folder, policy
        self._domain, self._days, self._now = domain, days, now
        self._new: list[str] = []
        self._renewed: list[str] = []

    def run(self) -> KeystoreChanges:
        public, private = self._folder / PUBLIC, self._folder / PRIVATE
        for path, mode in ((self._folder, 0o755), (public, 0o755), (private, 0o700)):
            path.mkdir(mode=mode, parents=True, exist_ok=True)
        private.chmod(0o700)
        ca = self._make_pair("", public / CA_CERTIFICATE, private / CA_KEY, AUTHORITY, None)
        for name in _AUTHORITIES:
            _link(public / f"{name}.cert.pem", CA_CERTIFICATE)
            _link(private / f"{name}.key.pem", CA_KEY)
        enclaves = self._folder / ENCLAVES
        enclaves.mkdir(exist_ok=True)
        self._write_document(enclaves, GOVERNANCE, documents.governance(self._domain), ca)
        for name in self._policy.identities:
            self._make_enclave(name, ca)
        return KeystoreChanges(
            tuple(self._new), tuple(self._renewed), tuple(self._policy.identities)
        )

    def _make_enclave(self, name: str, ca: tuple[Certificate, bytes]) -> None:
        path = enclave_of(name)
        folder = self._folder / ENCLAVES / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        top = "/".join(".." for _ in path.strip("/").split("/"))
        for authority in _AUTHORITIES:
            file = f"{authority}.cert.pem"
            _link(folder / file, f"{top}/../{PUBLIC}/{file}")
        _link(folder / f"{GOVERNANCE}.p7s", f"{top}/{GOVERNANCE}.p7s")
        certificate, _ = self._make_pair(name, folder / CERTIFICATE, folder / KEY, path, ca)
        text = documents.permissions(
            path,
            self._policy.rights[name],
            self._domain,
            certificate.begins,
            certificate.ends,
        )
        self._write_document(folder, PERMISSIONS, text, ca)

    def _make_pair(
        self,
        name: str,
        certificate_path: Path,
        key_path: Path,
        common_name: str,
        ca: tuple[Certificate, bytes] | None,
    ) -> tuple[Certificate, bytes]:
        """Return a certificate and its key, the existing ones while they are valid."""
        has_key = key_path.is_file()
        if has_key:
            key_path.chmod(0o600)
            key = key_path.read_bytes()
        else:
            key = new_key()
            _write(key_path, key, 0o600)
            self._new.append(name)
        if has_key and certificate_path.is_file():
            try:
                found = read_certificate(certificate_path.read_bytes())
                if self._is_valid(found, key, common_name, ca):
                    return found, key
            except PlannerError as error:
                raise PlannerError(f"{certificate_path}: {error}") from None
            if ca is None:
                # The common name that the authority signed.
                common_name = found.name
        if has_key:
            self._renewed.append(name)
        made = issue(common_name, key, ca=ca, now=self._now, days=self._days)
        _write(certificate_path, made.pem, 0o644)
        return made, key

    def _is_valid(
        self, found: Certificate, key: bytes, name: str, ca: tuple[Certificate, bytes] | None
    ) -> bool:
        if not found.begins <= self._now < found.ends - RENEW_WITHIN:
            return False
        if ca is None:
            return matches(found, key, found)
        return found.name == name and matches(found, key, ca[0])

    def _write_document(
        self, folder: Path, name: str, text: str, ca: tuple[Certificate, bytes]
    ) -> None:
        _write(folder / f"{name}.xml", text.encode("ascii"), 0o644)
        _write(folder / f"{name}.p7s", signed(text, *ca), 0o644)


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a file atomically; nobody else can read it before its mode is set."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _link(path: Path, target: str) -> None:
    if path.is_symlink():
        if path.readlink() == Path(target):
            return
        path.unlink()
    elif path.exists():
        # A copy of the keystore that followed the links works too.
        return
    path.symlink_to(target)


def identities_text(names: Iterable[str]) -> str:
    """Names for a message, with a word for the authority."""
    return ", ".join(name or "the authority" for name in names)
