"""The files of `deploy/` hold what this release takes, and pass the judges of their formats."""

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from support.server_address import missing
from ticdc_consumer import config
from ticdc_consumer.cli.arguments import parser

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
DOCKERFILES = sorted((DEPLOY / "docker").glob("*Dockerfile"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yml"))
UNIT = DEPLOY / "systemd" / "ticdc-consumer@.service"
STANDBY = DEPLOY / "systemd" / "standby.conf"
KUBERNETES = "1.31"


def named(path: Path) -> str:
    return path.name


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def runs(words: list[str]) -> None:
    """The command line takes these words."""
    assert parser().parse_args(words).command == "run"


def test_the_services_of_compose_have_the_settings_of_a_consumer(tmp_path: Path) -> None:
    (compose,) = documents(DEPLOY / "docker" / "compose.yml")
    consumer = compose["services"]["consumer"]
    path = tmp_path / "consumer.toml"
    path.write_text(compose["configs"]["empty"]["content"])
    options = config.Settings.read(path, environ=consumer["environment"])
    kafka = compose["services"]["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert kafka == f"PLAINTEXT://{options.kafka['bootstrap.servers']}"
    database = compose["services"]["postgres"]["environment"]
    assert consumer["environment"]["TICDC_TARGET_PASSWORD"] == database["POSTGRES_PASSWORD"]
    shop = compose["services"]["shop"]["entrypoint"]
    assert (ROOT / shop[1].lstrip("/")).exists()
    assert shop[3] in options.topics


@pytest.mark.parametrize("path", DOCKERFILES, ids=named)
def test_a_dockerfile_copies_what_exists_and_is_let_in(path: Path) -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", path.read_text(), re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored, name


def test_the_image_runs_a_consumer() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    entry, command = (
        yaml.safe_load(re.findall(rf"^{word} (\[.*\])$", text, re.MULTILINE)[-1])
        for word in ("ENTRYPOINT", "CMD")
    )
    assert entry[-1] == "ticdc-consumer"
    runs(command)


@pytest.mark.parametrize("path", DOCKERFILES, ids=named)
def test_hadolint_finds_nothing(path: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def of_kubernetes() -> Iterator[Any]:
    for path in MANIFESTS:
        for document in documents(path):
            if "sparkoperator" not in document["apiVersion"]:
                yield pytest.param(document, id=document["kind"])


@pytest.mark.parametrize("document", list(of_kubernetes()))
def test_a_manifest_fits_the_schemas_of_kubernetes(document: Mapping[str, Any]) -> None:
    kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_a_wrong_manifest_does_not() -> None:
    wrong = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES, strict=True)


def test_the_settings_of_kubernetes_are_settings(tmp_path: Path) -> None:
    settings, deployment, _ = documents(DEPLOY / "kubernetes" / "consumer.yml")
    (tmp_path / "password").write_text("secret")
    text = settings["data"]["consumer.toml"]
    path = tmp_path / "consumer.toml"
    path.write_text(text.replace("/etc/ticdc-secret/password", str(tmp_path / "password")))
    assert config.Settings.read(path, environ={}).changefeed == "orders"
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    runs(container["args"])
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/etc/ticdc", "/etc/ticdc-secret", "/tmp"} <= mounts


def test_the_application_of_sparks_operator_runs_a_consumer() -> None:
    (application,) = documents(DEPLOY / "kubernetes" / "spark-operator.yml")
    runs(application["spec"]["arguments"])
    main = application["spec"]["mainApplicationFile"].removeprefix("local://")
    assert f" {main}\n" in (DEPLOY / "docker" / "spark.Dockerfile").read_text()


def unit(path: Path) -> configparser.ConfigParser:
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(path.read_text())
    return read


@pytest.mark.parametrize(("path", "codes"), [(UNIT, "2 3 4"), (STANDBY, "2 3")], ids=str)
def test_a_unit_runs_a_consumer_and_knows_its_exit_codes(path: Path, codes: str) -> None:
    service = unit(path)["Service"]
    _, *words = shlex.split(service["ExecStart"])
    runs(words)
    assert service["RestartPreventExitStatus"] == codes


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    program = shutil.which("true")
    if shutil.which("systemd-analyze") is None or program is None:
        missing("systemd-analyze is not installed")
    # A program that exists, which the real one does not before it is installed.
    text = UNIT.read_text().replace("/opt/ticdc-consumer/bin/ticdc-consumer", program)
    path = tmp_path / "ticdc-consumer@orders.service"
    path.write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "ticdc-consumer" in line]
    assert ours == []
