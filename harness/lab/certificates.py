"""`harness lab certificate HOST`: an authority of our own, and certificates of the hosts that it vouches for.

A certificate of the authority lets its holder execute programs on every host of the lab: it belongs to machines.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.core.errors import EnvironmentProblem, UsageError
from harness.files.atomic import write_atomically
from harness.lab.configuration import AUTHORITY, OWN, require_packages

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY_KEY: Final = "ca-key.pem"
_HOST: Final = re.compile(r"[A-Za-z0-9:](?:[A-Za-z0-9.:-]{0,251}[A-Za-z0-9:])?")
_AUTHORITY_DAYS, _HOST_DAYS = 3650, 825
_CLOCKS_DIFFER: Final = datetime.timedelta(days=1)
_PRIVATE: Final = 0o600


def make_certificate(host: str, folder: Path) -> Path:
    """Make the certificate of a host, and the authority where there is none yet.

    Args:
        host: Name or address of the host, as others reach it.
        folder: Folder of the authority: `ca.pem`, and `ca-key.pem`, which never leaves it.

    Returns:
        The folder to copy to the host: `ca.pem`, and `this.pem` with certificate and key.

    Raises:
        UsageError: That is no name of a host.
        EnvironmentProblem: A file cannot be read or written.
    """
    if _HOST.fullmatch(host) is None or ".." in host or host in {AUTHORITY, AUTHORITY_KEY}:
        raise UsageError(f"{host!r} is no name of a host", hint="give the name or the address by which others reach it")
    require_packages()
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - an extra

    own = folder / host.replace(":", "_")
    try:
        authority, authority_key = _open_authority(folder)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _sign(host, key, authority, authority_key)
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(own / AUTHORITY, _pem(authority))
        write_atomically(own / OWN, _pem(certificate) + _key_pem(key), mode=_PRIVATE)
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"no certificate could be made in {folder}: {error}", hint="name another folder by --certificates"
        ) from error
    return own


def _open_authority(folder: Path) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    """Return certificate and key of the authority, made where there is neither.

    Raises:
        OSError: They cannot be read or written.
        ValueError: They are not what they should be, or one is missing.
    """
    from cryptography import x509  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - an extra

    certificate_file, key_file = folder / AUTHORITY, folder / AUTHORITY_KEY
    if certificate_file.exists() or key_file.exists():
        kept = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        if not isinstance(kept, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{key_file} is no key of an authority")
        return x509.load_pem_x509_certificate(certificate_file.read_bytes()), kept
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "edge-harness lab")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + datetime.timedelta(days=_AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(is_authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_atomically(key_file, _key_pem(key), mode=_PRIVATE)
    write_atomically(certificate_file, _pem(certificate))
    return certificate, key


def _sign(
    host: str,
    key: EllipticCurvePrivateKey,
    authority: x509.Certificate,
    authority_key: EllipticCurvePrivateKey,
) -> x509.Certificate:
    from cryptography import x509  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - an extra
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415 - an extra

    now = datetime.datetime.now(datetime.UTC)
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host[:64])]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + datetime.timedelta(days=_HOST_DAYS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(is_authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.SubjectAlternativeName([_name_of(host)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _key_usage(*, is_authority: bool) -> x509.KeyUsage:
    from cryptography import x509  # noqa: PLC0415 - an extra

    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _name_of(host: str) -> x509.GeneralName:
    from cryptography import x509  # noqa: PLC0415 - an extra

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - an extra

    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
