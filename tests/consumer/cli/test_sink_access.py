"""How a sink is reached, as librdkafka and fsspec name it."""

from typing import Any

import pytest
from ticdc_consumer.cli.sink_access import Access, changed_uri, kafka_access, prefix_of
from ticdc_consumer.errors import Usage

SASL_PASSWORD = "TICDC_KAFKA_SASL_PASSWORD"

REACHED: list[tuple[str, dict[str, str], dict[str, Any], dict[str, Any], list[str]]] = [
    ("without security nothing is set", {}, {}, {}, []),
    (
        "TLS by the machine's certificates",
        {"enable-tls": "true"},
        {},
        {"kafka.security.protocol": "SSL"},
        [],
    ),
    (
        "certificates turn TLS on",
        {"ca": "/ca", "cert": "/cert", "key": "/key", "insecure-skip-verify": "true"},
        {},
        {
            "kafka.ssl.ca.location": "/ca",
            "kafka.ssl.certificate.location": "/cert",
            "kafka.ssl.key.location": "/key",
            "kafka.security.protocol": "SSL",
            "kafka.enable.ssl.certificate.verification": False,
        },
        [],
    ),
    (
        "a password is named, and not carried over",
        {"sasl-mechanism": "plain", "sasl-user": "u", "sasl-password": "canary"},
        {},
        {
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": "u",
            "kafka.security.protocol": "SASL_PLAINTEXT",
        },
        [SASL_PASSWORD],
    ),
    (
        "the sink URI rules over the file",
        {"sasl-user": "of-uri"},
        {
            "sink.kafka-config.sasl-user": "of-file",
            "sink.kafka-config.sasl-mechanism": "SCRAM-SHA-256",
            "sink.kafka-config.enable-tls": True,
        },
        {
            "kafka.sasl.mechanism": "SCRAM-SHA-256",
            "kafka.sasl.username": "of-uri",
            "kafka.security.protocol": "SASL_SSL",
        },
        [SASL_PASSWORD],
    ),
    (
        "Kerberos has a principal and a keytab",
        {
            "sasl-mechanism": "gssapi",
            "sasl-gssapi-user": "cdc",
            "sasl-gssapi-realm": "R",
            "sasl-gssapi-service-name": "kafka",
            "sasl-gssapi-keytab-path": "/tab",
        },
        {},
        {
            "kafka.sasl.mechanism": "GSSAPI",
            "kafka.sasl.kerberos.principal": "cdc@R",
            "kafka.sasl.kerberos.service.name": "kafka",
            "kafka.sasl.kerberos.keytab": "/tab",
            "kafka.security.protocol": "SASL_PLAINTEXT",
        },
        [],
    ),
    (
        "OAuth asks its own server",
        {"sasl-mechanism": "OAUTHBEARER"},
        {
            "sink.kafka-config.sasl-oauth-client-id": "id",
            "sink.kafka-config.sasl-oauth-client-secret": "canary",
            "sink.kafka-config.sasl-oauth-token-url": "https://idp/token",
            "sink.kafka-config.sasl-oauth-scopes": ["a", "b"],
        },
        {
            "kafka.sasl.mechanism": "OAUTHBEARER",
            "kafka.sasl.oauthbearer.method": "oidc",
            "kafka.sasl.oauthbearer.client.id": "id",
            "kafka.sasl.oauthbearer.token.endpoint.url": "https://idp/token",
            "kafka.sasl.oauthbearer.scope": "a b",
            "kafka.security.protocol": "SASL_PLAINTEXT",
        },
        ["TICDC_KAFKA_SASL_OAUTHBEARER_CLIENT_SECRET"],
    ),
]


@pytest.mark.parametrize(
    ("in_uri", "in_file", "settings", "secrets"),
    [case[1:] for case in REACHED],
    ids=[case[0] for case in REACHED],
)
def test_kafka_is_reached_as_ticdc_reaches_it(
    in_uri: dict[str, str], in_file: dict[str, Any], settings: dict[str, Any], secrets: list[str]
) -> None:
    access = kafka_access(in_file, in_uri)
    assert (access.settings, access.secrets) == (settings, secrets)
    assert "canary" not in str(access)


PREFIXES = [
    ("s3://bucket/a/b?access-key=canary&protocol=csv", "s3://bucket/a/b", ["access-key"]),
    ("gcs://bucket/a?credentials-file=canary", "gs://bucket/a", ["credentials-file"]),
    ("azblob://box/a?sas-token=canary", "abfs://box/a", ["sas-token"]),
    ("file:///data/sink?protocol=csv", "file:///data/sink", []),
    ("nfs:///data", "file:///data", []),
]


@pytest.mark.parametrize(("uri", "prefix", "named"), PREFIXES)
def test_a_storage_is_a_prefix_and_its_parameters_are_named(
    uri: str, prefix: str, named: list[str]
) -> None:
    access = Access()
    assert prefix_of("the sink URI", uri, access) == prefix
    assert [note.partition(":")[0] for note in access.notes] == [
        f"the sink URI with {name}" for name in named
    ]
    assert "canary" not in str(access)


@pytest.mark.parametrize("uri", ["ftp://canary/x", "s3://[canary/x"])
def test_another_storage_is_refused_without_its_uri(uri: str) -> None:
    with pytest.raises(Usage) as caught:
        prefix_of("the sink URI", uri, Access())
    assert "canary" not in str(caught.value)


def test_a_changed_uri_shows_no_secret() -> None:
    uri = "kafka://user:canary@k:1,l:2/t?protocol=avro&sasl-password=canary&protocol=simple"
    assert changed_uri(uri, {"enable-tidb-extension": "true"}) == (
        "kafka://k:1,l:2/t?protocol=avro&sasl-password=***&enable-tidb-extension=true"
    )
