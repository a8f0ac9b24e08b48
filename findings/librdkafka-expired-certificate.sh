#!/usr/bin/env bash
# Guess: the error of a Kafka client whose broker shows a certificate that has expired says so, as OpenSSL's own does.
# Seen: librdkafka's says for an expired certificate, word for word, what it says for one of an unknown authority, and suggests ssl.ca.location.
# With: confluent-kafka 2.16.0 and cryptography 50.0.2, of PyPI.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check confluent-kafka==2.16.0 cryptography==50.0.2

venv/bin/python - <<'PYTHON' | tee seen
import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PEM = serialization.Encoding.PEM


def certificate(name: str, last_day: int) -> str:
    """Makes a certificate by its own authority, that ends so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now + timedelta(days=last_day))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    Path(f"{name}.pem").write_bytes(made.public_bytes(PEM))
    Path(f"{name}.key").write_bytes(
        key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return f"{name}.pem"


def served(certificate: str) -> int:
    """Starts a TLS server that shows it; returns the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.replace(".pem", ".key"))
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, _ = listening.accept()
            with connection, suppress(OSError), context.wrap_socket(connection, server_side=True):
                pass

    threading.Thread(target=serve, daemon=True).start()
    return listening.getsockname()[1]


def of_python(port: int, authority: str) -> str:
    context = ssl.create_default_context(cafile=authority)
    with socket.create_connection(("127.0.0.1", port)) as plain:
        try:
            context.wrap_socket(plain, server_hostname="127.0.0.1")
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    return "nothing"


def of_librdkafka(port: int, authority: str) -> str:
    said: list[str] = []
    client = AdminClient(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "security.protocol": "SSL",
            "ssl.ca.location": authority,
            "error_cb": lambda error: said.append(error.str()),
            "log_level": 0,
        }
    )
    with suppress(Exception):
        client.list_topics(timeout=2)
    client.poll(0.1)
    words = next(text for text in said if "handshake" in text)
    return words.partition("certificate verify failed: ")[2].partition(" (after")[0]


expired, other = certificate("expired", -1), certificate("other", 30)
texts = {}
for case, authority in (("expired", expired), ("unknown authority", other)):
    port = served(expired)
    texts[case] = of_librdkafka(port, authority)
    print(f"{case}: OpenSSL: {of_python(port, authority)}")
    print(f"{case}: librdkafka: {texts[case]}")
print("librdkafka's are equal:", len(set(texts.values())) == 1)
PYTHON

diff - seen <<'EXPECTED'
expired: OpenSSL: certificate has expired
expired: librdkafka: broker certificate could not be verified, verify that ssl.ca.location is correctly configured or root CA certificates are installed (install ca-certificates package)
unknown authority: OpenSSL: self-signed certificate
unknown authority: librdkafka: broker certificate could not be verified, verify that ssl.ca.location is correctly configured or root CA certificates are installed (install ca-certificates package)
librdkafka's are equal: True
EXPECTED
