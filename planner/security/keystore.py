"""A keystore as ROS 2's own tool lays it out: keys, certificates, and whether it can be used."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from planner.security import policy
from planner.security.policy import Policy, enclave_of
from planner.world.errors import PlannerError

# Keys, certificates and signatures for DDS Security and ROS: ECDSA on P-256, S/MIME.

# Certificates begin earlier than now: clocks differ, and some software reads UTC as local time.
_EARLIER = timedelta(days=1)
P = ParamSpec("P")
T = TypeVar("T")


def _needs_cryptography(function: Callable[P, T]) -> Callable[P, T]:
    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except ImportError as error:
            raise PlannerError(
                f"keys need the package cryptography ({error}): pip install 'planner[security]'"
            ) from None

    return checked


@dataclass(frozen=True, slots=True)
class Certificate:
    """The contents of a certificate.

    Attributes:
        name: the common name of the subject.
        begins, ends: period of validity, UTC.
        pem: the certificate itself.
    """

    name: str
    begins: datetime
    ends: datetime
    pem: bytes


@_needs_cryptography
def check_installed() -> None:
    """Check that cryptography is installed.

    Raises:
        PlannerError: if it is not, with what to install.
    """
    import cryptography.x509  # noqa: F401


@_needs_cryptography
def new_key() -> bytes:
    """Return a new private key, PKCS 8 without a password, as the middleware expects it."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@_needs_cryptography
def issue(
    name: str, key: bytes, *, ca: tuple[Certificate, bytes] | None, now: datetime, days: int
) -> Certificate:
    """Issue a certificate for a key.

    Args:
        name: common name of the subject.
        key: private key of the subject.
        ca: certificate and private key of the authority; None for the authority itself.
        now: UTC.
        days: period of validity.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding

    subject = _x509_name(name)
    authority = x509.BasicConstraints(ca=ca is None, path_length=1 if ca is None else None)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_x509_name(ca[0].name) if ca else subject)
        .public_key(_private(key).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(authority, critical=ca is None)
        .sign(_private(ca[1] if ca else key), hashes.SHA256())
    )
    return read_certificate(built.public_bytes(Encoding.PEM))


@_needs_cryptography
def read_certificate(pem: bytes) -> Certificate:
    """Parse a certificate.

    Raises:
        PlannerError: if it is not a certificate, or cryptography is not installed.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        found = x509.load_pem_x509_certificate(pem)
        name = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    except (ValueError, IndexError) as error:
        raise PlannerError(f"not a certificate with a common name: {error}") from None
    return Certificate(
        str(name),
        found.not_valid_before_utc.astimezone(UTC),
        found.not_valid_after_utc.astimezone(UTC),
        pem,
    )


@_needs_cryptography
def matches(certificate: Certificate, key: bytes, ca: Certificate) -> bool:
    """Whether a certificate belongs to this key and is signed by this authority."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature

    found = x509.load_pem_x509_certificate(certificate.pem)
    try:
        found.verify_directly_issued_by(x509.load_pem_x509_certificate(ca.pem))
    except (InvalidSignature, ValueError, TypeError):
        return False
    mine: bool = found.public_key() == _private(key).public_key()
    return mine


@_needs_cryptography
def signed(text: str, certificate: Certificate, key: bytes) -> bytes:
    """Return a document with a detached signature, S/MIME."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.hazmat.primitives.serialization.pkcs7 import (
        PKCS7Options,
        PKCS7SignatureBuilder,
    )

    signer = x509.load_pem_x509_certificate(certificate.pem)
    made: bytes = (
        PKCS7SignatureBuilder()
        .set_data(text.encode("ascii"))
        .add_signer(signer, _private(key), hashes.SHA256())
        .sign(Encoding.SMIME, [PKCS7Options.Text, PKCS7Options.DetachedSignature])
    )
    return made


def _x509_name(name: str) -> Any:  # cryptography is untyped where it is not installed
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _private(key: bytes) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(key, None)
    except (ValueError, TypeError) as error:
        raise PlannerError(f"not a private key without a password: {error}") from None


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
        self._write_document(enclaves, GOVERNANCE, policy.governance(self._domain), ca)
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
        text = policy.permissions(
            path, self._policy.rights[name], self._domain, certificate.begins, certificate.ends
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


# Whether a keystore can be used: all enclaves present, nothing expired, permissions current.

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
        governance = policy.governance(self._domain)
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
        text = policy.permissions(
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
