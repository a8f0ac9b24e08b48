"""What a storage's driver refuses, as it is said."""

from importlib import import_module
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.source.storage.files import Files
from ticdc_encoder.errors import ConfigError


class Refuses(MemoryFileSystem):  # type: ignore[misc]
    def find(self, *args: Any, **more: Any) -> Any:
        raise PermissionError("key=secret")


class RefusesToOpen(MemoryFileSystem):  # type: ignore[misc]
    def __init__(self, *args: Any, **more: Any) -> None:
        raise ValueError("key=secret")


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("s3://b/sink", "s3fs reads AWS_ACCESS_KEY_ID"),
        ("gs://b/sink", "gcsfs reads GOOGLE_APPLICATION_CREDENTIALS"),
        ("abfs://b/sink", "adlfs reads AZURE_STORAGE_CONNECTION_STRING"),
    ],
)
def test_a_refusal_names_the_driver_and_its_credentials_source(
    url: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme, drivers = url.partition(":")[0], import_module("fsspec.registry")._registry
    monkeypatch.setitem(drivers, scheme, Refuses)
    with pytest.raises(Unavailable) as unavailable:
        Files(url).list()
    said = str(unavailable.value)
    assert said.startswith(f"the storage does not list its files: PermissionError ({wanted}")
    assert "secret" not in said
    monkeypatch.setitem(drivers, scheme, RefusesToOpen)
    with pytest.raises(ConfigError) as wrong:
        Files(url)
    said = str(wrong.value)
    assert said.startswith(f"fsspec cannot open storage.url: ValueError ({wanted}")
    assert "secret" not in said
