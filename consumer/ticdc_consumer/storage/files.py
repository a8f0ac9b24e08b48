"""EDGE a storage, as fsspec opens it: which files there are, and what is in them."""

from functools import lru_cache
from typing import Any

from ticdc_encoder.errors import ConfigError

from ticdc_consumer.errors import Unavailable


class Files:
    """The files below a prefix, by their path relative to it. Calls raise `Unavailable` whatever
    the storage's driver raised (each has errors of its own); it shows no part of the URL, which
    may hold secrets."""

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise ConfigError("[storage] needs `pip install ticdc-consumer[storage]`") from error
        try:
            # What is listed must be what is there now.
            files, prefix = url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError, TypeError) as error:
            raise ConfigError(
                f"fsspec cannot open storage.url: {type(error).__name__}: is its driver installed?"
            ) from error
        self._files: Any = files
        self._prefix = prefix.rstrip("/")

    def list(self, below: str = "") -> dict[str, int]:
        """The files below a folder, each with its size."""
        where = f"{self._prefix}/{below}".rstrip("/")
        try:
            self._files.invalidate_cache()
            found = self._files.find(where, detail=True)
        except Exception as error:
            raise _unavailable("list its files", error) from error
        return {
            path.removeprefix(self._prefix).lstrip("/"): int(about.get("size") or 0)
            for path, about in found.items()
        }

    def read(self, path: str) -> bytes | None:
        """A file's content; None where it is not there."""
        try:
            content: bytes = self._files.cat_file(f"{self._prefix}/{path}")
        except FileNotFoundError:
            return None
        except Exception as error:
            raise _unavailable(f"give {path}", error) from error
        return content


@lru_cache(maxsize=4)
def files_of(url: str) -> Files:
    """One per storage and process: clients are expensive."""
    return Files(url)


def _unavailable(what: str, error: Exception) -> Unavailable:
    return Unavailable(f"the storage does not {what}: {type(error).__name__}")
