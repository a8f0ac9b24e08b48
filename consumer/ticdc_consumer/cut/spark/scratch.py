"""A folder below the temporary one for everything that one start of Spark writes to this machine's
disk. Spark removes it; the next start of that name removes the leftovers of a killed one."""

import atexit
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK = "lock"


class Scratch:
    """A folder that this process and its JVM, which inherits `lock`, own until they end.

    A folder is made before it is locked: one without the file `lock` belongs to a start that is at
    work on it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        new = path / "lock.new"
        self.lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Without locks in the file system, nobody can tell who lives: the folder stays.
        with suppress(OSError):
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(path / LOCK)
        self._process = os.getpid()
        atexit.register(self.remove)

    def remove(self) -> None:
        if os.getpid() == self._process:  # not by a fork of it
            atexit.unregister(self.remove)
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self.lock)


@contextmanager
def scratch(name: str) -> Iterator[Scratch]:
    """Creates a folder for `name`, after removing those that dead processes left for it; it is
    removed if the caller fails, else when this process ends."""
    parent = Path(tempfile.gettempdir())
    prefix = f"{re.sub(r'[^A-Za-z0-9_.]+', '-', name).strip('-')[:24]}-spark-"
    own = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}")
    for path in parent.glob(f"{prefix}*"):
        if own.fullmatch(path.name):
            with suppress(OSError):
                _remove_if_left(path)
    folder = Scratch(Path(tempfile.mkdtemp(prefix=prefix, dir=parent)))  # of mode 0700
    try:
        yield folder
    except BaseException:
        folder.remove()
        raise


def _remove_if_left(path: Path) -> None:
    """Removes a leftover folder. Raises OSError if its process lives, or another user owns it."""
    if path.lstat().st_uid != os.getuid():
        return
    lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
