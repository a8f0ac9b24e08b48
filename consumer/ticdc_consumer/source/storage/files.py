"""The files of a storage, and their contents, through fsspec."""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from ticdc_encoder.errors import ConfigError

from ticdc_consumer.errors import Stop, Unavailable

PATIENCE = 30.0
"""Seconds that a storage may take to answer again."""

_S3 = "s3fs reads AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws or the machine's role"
_GCS = "gcsfs reads GOOGLE_APPLICATION_CREDENTIALS or the machine's service account"
_AZURE = (
    "adlfs reads AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME and "
    "AZURE_STORAGE_ACCOUNT_KEY"
)
_CREDENTIALS: Mapping[str, str] = {
    **dict.fromkeys(("s3", "s3a"), _S3),
    **dict.fromkeys(("gs", "gcs"), _GCS),
    **dict.fromkeys(("abfs", "abfss", "az"), _AZURE),
}
"""Place where a driver of fsspec finds its credentials, by the scheme of the URL."""


class Files:
    """The files below a prefix, by their path relative to it. Opening it and calls raise
    `Unavailable` for any error of the storage's driver (each has its own), with only its type and
    the place where the driver finds its credentials: its text, like the URL, may hold secrets.
    `setting` has the URL."""

    def __init__(self, url: str, setting: str = "storage.url") -> None:
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise ConfigError(f"{setting} needs `pip install ticdc-consumer[storage]`") from error
        self._scheme = url.partition("://")[0]
        try:
            # A listing must be current.
            files, prefix = url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError, TypeError) as error:
            # fsspec names the missing driver; other texts may hold the URL.
            reason = str(error) if isinstance(error, ImportError) else self._reason(error)
            raise ConfigError(f"fsspec cannot open {setting}: {reason}") from error
        except Exception as error:
            # Some drivers connect here.
            raise self._unavailable("open", error) from error
        self._files: Any = files
        self._prefix = prefix.rstrip("/")

    def list(self, below: str = "") -> dict[str, int | None]:
        """The files below a folder, each with its size; None if the driver lists none."""
        where = f"{self._prefix}/{below}".rstrip("/")
        try:
            self._files.invalidate_cache()
            details = self._files.find(where, detail=True)
        except Exception as error:
            raise self._unavailable("list its files", error) from error
        return {
            path.removeprefix(self._prefix).lstrip("/"): detail.get("size")
            for path, detail in details.items()
        }

    def sizes(self, paths: Collection[str]) -> dict[str, int]:
        """The sizes of files, one request for each. Raises `Stop` for a file without one."""
        try:
            answer = (
                self._files.sizes([f"{self._prefix}/{path}" for path in paths]) if paths else []
            )
        except Exception as error:
            raise self._unavailable("give its files' sizes", error) from error
        sizes = dict(zip(paths, answer, strict=True))
        for path, size in sizes.items():
            if size is None:
                raise Stop(
                    f"the storage lists files without their sizes, and gives none for {path}: "
                    "any of them may be empty; set storage.url to a protocol that lists sizes"
                )
        return sizes

    def read(self, path: str) -> bytes | None:
        """A file's content; None if it does not exist."""
        try:
            content: bytes = self._files.cat_file(f"{self._prefix}/{path}")
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unavailable(f"give {path}", error) from error
        return content

    def part(self, path: str, begin: int, end: int) -> bytes | None:
        """The existing bytes of a file from one offset to another; None if the file does not
        exist."""
        try:
            content: bytes = self._files.cat_file(f"{self._prefix}/{path}", start=begin, end=end)
        except FileNotFoundError:
            return None
        except Exception as error:
            # Object stores refuse a range that begins at the end of a file.
            if begin >= self.sizes([path])[path]:
                return b""
            raise self._unavailable(f"give {path}", error) from error
        return content

    def open(self, path: str) -> "OpenFile | None":
        """Opens a file to be read from its beginning; None if it does not exist."""
        try:
            return OpenFile(self._files.open(f"{self._prefix}/{path}", "rb"), path, self._reason)
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unavailable(f"give {path}", error) from error

    def _unavailable(self, what: str, error: Exception) -> Unavailable:
        return _unavailable(what, self._reason(error))

    def _reason(self, error: Exception) -> str:
        credentials = _CREDENTIALS.get(self._scheme)
        return type(error).__name__ + (f" ({credentials})" if credentials else "")


class OpenFile:
    """The bytes of a file, one part after the other, as pyarrow asks for them."""

    def __init__(self, file: Any, path: str, reason: Callable[[Exception], str]) -> None:
        self._file, self._path, self._reason = file, path, reason

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    def close(self) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        try:
            content: bytes = self._file.read(size)
        except Exception as error:
            raise _unavailable(f"give {self._path}", self._reason(error)) from error
        return content


@lru_cache(maxsize=4)
def files_of(url: str) -> Files:
    """Files of a storage, opened once per process: clients are expensive."""
    return Files(url)


def _unavailable(what: str, reason: str) -> Unavailable:
    return Unavailable(f"the storage does not {what}: {reason}")
