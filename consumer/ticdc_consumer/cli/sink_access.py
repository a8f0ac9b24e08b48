"""Conversion of a changefeed's sink access to the consumer's settings, without any secret.

Source: TiCDC `pkg/sink/kafka/options.go` (`applyTLS`, `applySASL`; pingcap/ticdc at b813e76). The
scheme kafka+ssl does not turn TLS on there: `enable-tls` does, or files of certificates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from ticdc_encoder.settings import SinkSetting, list_of

from ticdc_consumer.config.redact import MASK
from ticdc_consumer.config.settings import variable
from ticdc_consumer.errors import Usage

_KAFKA = "sink.kafka-config"
_FILES = {
    "ca": "ssl.ca.location",
    "cert": "ssl.certificate.location",
    "key": "ssl.key.location",
}
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")
_PREFIXES = {
    **dict.fromkeys(("file", "local", "nfs"), "file"),
    "s3": "s3",
    **dict.fromkeys(("gcs", "gs"), "gs"),
    **dict.fromkeys(("azure", "azblob"), "abfs"),
}
"""Storage schemes: TiCDC's name -> fsspec's."""
_PUBLIC = frozenset(
    {"protocol", "partition-num", "max-message-bytes", "max-batch-size", "replication-factor"}
    | {"enable-tidb-extension", "avro-enable-watermark", "kafka-version", "required-acks"}
    | {"compression", "auto-create-topic", "enable-tls", "sasl-mechanism", "kafka-client-id"}
    | {"content-compatible", "encoding-format", "date-separator", "worker-count", "flush-interval"}
    | {"file-size", "enable-partition-separator", "max-retry"}
)
"""Parameters whose values may be printed."""


@dataclass(slots=True)
class Access:
    """`settings` by their dotted names; `secrets` are the environment variables that must be set;
    `notes` name what could not be carried over, and what to do."""

    settings: dict[str, Any] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_secret(self, name: str) -> None:
        self.secrets.append(variable(name))

    def add(self, name: str, value: Any) -> None:
        """Adds the settings that are present."""
        if value:
            self.settings[name] = value


def split(name: str, uri: str) -> SplitResult:
    """Splits the URI into its parts. Raises `Usage`, which does not show the URI."""
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        raise Usage(f"{name} is not a URI") from None
    return parts


def brokers_of(sink_uri: str) -> str:
    """Hosts and ports of a sink URI that was parsed before."""
    return urlsplit(sink_uri).netloc.rpartition("@")[2]


def kafka_access(in_file: Mapping[str, Any], in_uri: Mapping[str, str]) -> Access:
    """TLS and SASL with librdkafka's names. Raises ConfigError, and `Usage` for a mechanism that
    TiCDC does not have."""
    access = Access()

    def read(name: str, default: bool | str = "") -> Any:
        setting = SinkSetting(f"{_KAFKA}.{name}", default, name)
        return setting.read(in_file, in_uri)

    files = {name: read(name) for name in _FILES}
    tls = read("enable-tls", False) or any(files.values())
    for name, path in files.items():
        access.add(f"kafka.{_FILES[name]}", path)
    mechanism = read("sasl-mechanism").upper()
    if mechanism:
        if mechanism not in _MECHANISMS:
            raise Usage(f"sasl-mechanism is not one of TiCDC's: {', '.join(_MECHANISMS)}")
        access.settings["kafka.sasl.mechanism"] = mechanism
        if mechanism == "GSSAPI":
            _kerberos(access, read)
        elif mechanism == "OAUTHBEARER":
            _oauth(access, in_file)
        else:
            access.add("kafka.sasl.username", read("sasl-user"))
            access.add_secret("kafka.sasl.password")
    if tls or mechanism:
        layers = ["SASL"] * bool(mechanism) + ["SSL" if tls else "PLAINTEXT"]
        access.settings["kafka.security.protocol"] = "_".join(layers)
    if tls and read("insecure-skip-verify", False):
        access.settings["kafka.enable.ssl.certificate.verification"] = False
    local = [*(name for name in files if files[name])]
    if "kafka.sasl.kerberos.keytab" in access.settings:
        local.append("sasl-gssapi-keytab-path")
    if local:
        access.notes.append(
            f"{', '.join(local)}: the files are on TiCDC's machines; copy them to this one, or set "
            "the paths in [kafka]"
        )
    return access


def _kerberos(access: Access, read: Any) -> None:
    user, realm = read("sasl-gssapi-user"), read("sasl-gssapi-realm")
    access.add("kafka.sasl.kerberos.principal", f"{user}@{realm}" if realm else user)
    access.add("kafka.sasl.kerberos.service.name", read("sasl-gssapi-service-name"))
    access.add("kafka.sasl.kerberos.keytab", read("sasl-gssapi-keytab-path"))
    if read("sasl-gssapi-auth-type").lower() == "user":
        access.notes.append(
            'sasl-gssapi-auth-type = "user": librdkafka takes no password of Kerberos; set '
            '"sasl.kerberos.keytab" in [kafka]'
        )
    if read("sasl-gssapi-kerberos-config-path"):
        access.notes.append(
            "sasl-gssapi-kerberos-config-path: librdkafka has no such setting; set KRB5_CONFIG in "
            "the consumer's environment"
        )


def _oauth(access: Access, in_file: Mapping[str, Any]) -> None:
    """Carries over OAuth's settings, which TiCDC reads in the file alone, its secret in Base64."""
    of_file = {
        "kafka.sasl.oauthbearer.client.id": "sasl-oauth-client-id",
        "kafka.sasl.oauthbearer.token.endpoint.url": "sasl-oauth-token-url",
    }
    access.settings["kafka.sasl.oauthbearer.method"] = "oidc"
    for name, theirs in of_file.items():
        access.add(name, in_file.get(f"{_KAFKA}.{theirs}"))
    scopes = list_of(f"{_KAFKA}.sasl-oauth-scopes", in_file, str)
    access.add("kafka.sasl.oauthbearer.scope", " ".join(scopes))
    access.add_secret("kafka.sasl.oauthbearer.client.secret")
    access.notes.append(
        "sasl-oauth-client-secret: TiCDC has it in Base64; the consumer takes it decoded"
    )
    if in_file.get(f"{_KAFKA}.sasl-oauth-audience"):
        access.notes.append(
            "sasl-oauth-audience: librdkafka has no such setting; set oauth_cb in [kafka] to a "
            "function of yours that gets the token"
        )


def prefix_of(name: str, uri: str, access: Access) -> str:
    """Returns the storage's prefix for fsspec. Notes its parameters, which may be secrets, by name.
    Raises `Usage` for a storage that TiCDC does not have; the message does not show the URI."""
    parts = split(name, uri)
    scheme = _PREFIXES.get(parts.scheme)
    if scheme is None:
        raise Usage(f"{name} has the scheme {parts.scheme!r}, not one of {', '.join(_PREFIXES)}")
    if parts.query:
        names = ", ".join(sorted({key for key, _ in parse_qsl(parts.query, True)} - _PUBLIC))
        if names:
            access.notes.append(
                f"{name} with {names}: the driver takes credentials and endpoints from its own "
                "environment; set them there, as docs/how-to/files.md lists"
            )
    return f"{scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def registry_of(url: str, access: Access) -> None:
    """Carries over a schema registry without its user and password."""
    parts = split("schema-registry", url)
    host = parts.netloc.rpartition("@")[2]
    access.settings["registry.url"] = f"{parts.scheme}://{host}{parts.path}"
    if "@" in parts.netloc:
        access.add_secret("registry.basic.auth.user.info")


def changed_uri(sink_uri: str, changes: Mapping[str, str]) -> str:
    """The sink URI with other parameters, each value that may be secret as ***."""
    parts = urlsplit(sink_uri)
    parameters: dict[str, str] = {}
    for key, value in parse_qsl(parts.query, True):
        parameters.setdefault(key, value if key in _PUBLIC else MASK)
    query = urlencode({**parameters, **changes}, quote_via=quote, safe="/:,*")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}?{query}"
