"""A TLS server whose certificate has expired."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


def certificate(folder: Path) -> tuple[Path, Path]:
    """The files of one that ended yesterday, by its own authority, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now - timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), False)
        .sign(key, hashes.SHA256())
    )
    pem, format = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    files = folder / "expired.pem", folder / "expired.key"
    files[0].write_bytes(made.public_bytes(pem))
    files[1].write_bytes(key.private_bytes(pem, format, serialization.NoEncryption()))
    return files


@contextmanager
def expired(folder: Path) -> Iterator[tuple[str, Path]]:
    """Its address, and the file of the authority."""
    authority, key = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, key)
    with socket.create_server((HOST, 0)) as listening:

        def serve() -> None:
            with suppress(OSError):  # closed
                while True:
                    connection, _ = listening.accept()
                    with connection, suppress(OSError), context.wrap_socket(connection, True):
                        pass

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"{HOST}:{listening.getsockname()[1]}", authority
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()
