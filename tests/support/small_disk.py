"""A file system of a test's own, as small as the test wants it; it takes root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.server_address import missing


class SmallDisk:
    """In memory, mounted on `path`."""

    def __init__(self, path: Path, mebibytes: int) -> None:
        self.path, self._filler = path, path / "filler"
        options = f"size={mebibytes}m,mode=0777"
        mount: list[str | Path] = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", path]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            missing(f"a small disk cannot be mounted here: {done.stderr.strip()}")

    def grow(self, mebibytes: int) -> None:
        """To so many."""
        mount: list[str | Path] = ["mount", "-o", f"remount,size={mebibytes}m", self.path]
        subprocess.run(mount, check=True)

    def fill(self, mebibytes: int) -> None:
        """A file takes what is free, but for so many, until `empty`. Files that are there keep
        the room that they show."""
        for file in self.path.rglob("*log*"):
            _allocate(file, file.stat().st_size)
        free = os.statvfs(self.path)
        _allocate(self._filler, free.f_bavail * free.f_frsize - (mebibytes << 20))

    def empty(self) -> None:
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Also while a server has files there."""
        subprocess.run(["umount", "--lazy", self.path], check=True)


def _allocate(file: Path, size: int) -> None:
    if file.is_file() or not file.exists():
        with file.open("ab") as opened:
            os.posix_fallocate(opened.fileno(), 0, max(size, 1))


@contextmanager
def small_disk(path: Path, mebibytes: int) -> Iterator[SmallDisk]:
    """On an empty folder, which is there already."""
    disk = SmallDisk(path, mebibytes)
    try:
        yield disk
    finally:
        disk.close()
