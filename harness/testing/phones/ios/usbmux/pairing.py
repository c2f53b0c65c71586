"""Pairing: keys and certificates of this computer and of stand-in iPhones, and the records of who trusts whom."""

from __future__ import annotations

import datetime
import plistlib
import ssl
import threading
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, parse_plist

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_VALID: Final = datetime.timedelta(days=3650)
_NAME: Final = x509.Name([])
"""Certificates of pairings name nobody."""
_PEM: Final = serialization.Encoding.PEM


@dataclass(frozen=True, slots=True)
class Pairing:
    """A computer that a phone trusts.

    Attributes:
        host_id: Identifier that the computer chose.
        host_certificate: Its certificate, PEM, which its connections prove to have the key of.
        device_certificate: Certificate that it made for the phone, PEM.
    """

    host_id: str
    host_certificate: bytes
    device_certificate: bytes


@dataclass(slots=True)
class Pairings:
    """Computers that a phone trusts, and the phone's key. Any thread may use it.

    Attributes:
        key: Private key of the phone.
        folder: Where keys are written, as TLS wants files.
    """

    key: rsa.RSAPrivateKey
    folder: Path
    _contexts: dict[str, ssl.SSLContext] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def public_key(self) -> bytes:
        """The phone's public key, as lockdown gives it: PEM of PKCS 1."""
        return self.key.public_key().public_bytes(_PEM, serialization.PublicFormat.PKCS1)

    def add(self, pairing: Pairing) -> None:
        """Trust a computer from now on.

        Raises:
            ValueError: Its certificates are none, or not for this phone's key.
        """
        with self._lock:
            try:
                context = self._make_context(pairing)
            except ssl.SSLError as error:
                raise ValueError(str(error)) from error
            self._contexts[pairing.host_id] = context

    def clear(self) -> None:
        """Trust no computer any more."""
        with self._lock:
            self._contexts.clear()

    def includes(self, host_id: str) -> bool:
        """Return whether it trusts this computer."""
        with self._lock:
            return host_id in self._contexts

    def tls_context(self, host_id: str) -> ssl.SSLContext | None:
        """Return how the phone speaks TLS with this computer, whose certificate it demands; None without pairing."""
        with self._lock:
            return self._contexts.get(host_id)

    def _make_context(self, pairing: Pairing) -> ssl.SSLContext:
        identity = self.folder / "identity.pem"
        identity.write_bytes(private_pem(self.key) + pairing.device_certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")  # iOS and its clients sign with SHA-1
        context.num_tickets = 0
        context.load_cert_chain(identity)
        context.load_verify_locations(cadata=pairing.host_certificate.decode("ascii"))
        context.verify_flags = ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        context.verify_mode = ssl.CERT_REQUIRED
        return context


class Computer:
    """What usbmuxd knows on this machine: its identifier, keys, and pair records by UDID. Any thread may use it."""

    def __init__(self) -> None:
        self.buid = str(uuid.uuid4()).upper()
        self.host_id = str(uuid.uuid4()).upper()
        self._records: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def read_record(self, udid: str) -> bytes | None:
        """Return the pair record of a phone; None if there is none."""
        with self._lock:
            return self._records.get(udid)

    def save_record(self, udid: str, record: bytes) -> None:
        """Keep the pair record of a phone."""
        with self._lock:
            self._records[udid] = record

    def delete_record(self, udid: str) -> None:
        """Forget the pairing with a phone; no error if there is none."""
        with self._lock:
            self._records.pop(udid, None)

    def pair(self, phone: StandInIPhone) -> None:
        """Pair with a phone whose user trusts this computer, as usbmuxd does by itself; nothing if they are paired."""
        if phone.conditions.trusted is not True or phone.conditions.locked or self._is_paired(phone):
            return
        root_key, root = self._root
        host_key, host = self._host
        pairing = Pairing(self.host_id, public_pem(host), public_pem(_sign(phone.pairings.key, root_key)))
        phone.pairings.add(pairing)
        record = {
            "HostID": self.host_id,
            "SystemBUID": self.buid,
            "HostCertificate": pairing.host_certificate,
            "HostPrivateKey": private_pem(host_key),
            "DeviceCertificate": pairing.device_certificate,
            "RootCertificate": public_pem(root),
            "RootPrivateKey": private_pem(root_key),
            "EscrowBag": uuid.uuid4().bytes * 2,
            "WiFiMACAddress": phone.wifi_address,
        }
        self.save_record(phone.model.udid, plistlib.dumps(record))

    def _is_paired(self, phone: StandInIPhone) -> bool:
        content = self.read_record(phone.model.udid)
        if content is None:
            return False
        try:
            return phone.pairings.includes(str(parse_plist(content).get("HostID")))
        except ConnectionEnded:
            return False  # a client saved something else

    @cached_property
    def _root(self) -> tuple[rsa.RSAPrivateKey, x509.Certificate]:
        key = make_key()
        return key, _sign(key, key, authority=True)

    @cached_property
    def _host(self) -> tuple[rsa.RSAPrivateKey, x509.Certificate]:
        key = make_key()
        return key, _sign(key, self._root[0])


def make_key() -> rsa.RSAPrivateKey:
    """Make a private key as phones and computers have it."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def private_pem(key: rsa.RSAPrivateKey) -> bytes:
    """Return a private key as PEM."""
    return key.private_bytes(_PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())


def public_pem(certificate: x509.Certificate) -> bytes:
    """Return a certificate as PEM."""
    return certificate.public_bytes(_PEM)


def _sign(key: rsa.RSAPrivateKey, authority_key: rsa.RSAPrivateKey, *, authority: bool = False) -> x509.Certificate:
    """Certify the public part of a key."""
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _VALID)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
