"""A certificate authority of our own and one certificate for all names that the SDK uses."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# The SDK's bootstrap names; every entry of the directory says api.spot.robot.
AUTHORITY = "api.spot.robot"
NAMES = ("auth.spot.robot", AUTHORITY, "id.spot.robot", "payload-registration.spot.robot")
_VALID = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Identity:
    """PEM: the authority that clients must trust, the server's certificate and its key."""

    authority_pem: bytes
    certificate_pem: bytes
    key_pem: bytes


def make_identity() -> Identity:
    """A new authority with one certificate; neither is stored."""
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root_name, name = _name("planner spot emulator authority"), _name("planner spot emulator")
    root = (
        _builder(root_name, root_name, root_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([x509.DNSName(each) for each in NAMES])
    leaf = (
        _builder(name, root_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .sign(root_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Identity(
        authority_pem=root.public_bytes(pem),
        certificate_pem=leaf.public_bytes(pem),
        key_pem=key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + _VALID)
    )
