"""Keys, certificates and signatures for DDS Security and ROS: ECDSA on P-256, S/MIME."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from planner.world.errors import PlannerError

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
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

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
