"""A version of TiCDC, ordered as its tags are."""

import re
from dataclasses import dataclass
from functools import total_ordering

from ticdc_encoder.errors import ConfigError

_FORM = re.compile(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]+))?", re.ASCII)
_HOTFIX = re.compile(r"\d{8}(-|$)", re.ASCII)
_MOST = 10**9


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """`pre_release` is what follows the number, as in 9.0.0-beta.1: such a version comes before the
    release of its number, in the order of semver.org, and so do TiCDC's builds: 8.5.4-release.1 is
    of October 2025, 8.5.4 of November."""

    major: int
    minor: int
    patch: int
    pre_release: str = ""

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch

    def __lt__(self, other: "Version") -> bool:
        return (self.numbers, self._stage) < (other.numbers, other._stage)

    def __str__(self) -> str:
        suffix = f"-{self.pre_release}" if self.pre_release else ""
        return ".".join(map(str, self.numbers)) + suffix

    @property
    def _stage(self) -> tuple[tuple[int, int, str], ...]:
        """Numbers come before words, all of them before the release, which has none."""
        if not self.pre_release:
            return ((2, 0, ""),)
        parts = re.split("[.-]", self.pre_release)
        return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts)


def version_number(version: str) -> Version:
    """`v8.5.4-release.1` -> Version(8, 5, 4, "release.1"). A date after the number, as in
    8.5.7-20260728-c8d4d68, is a hotfix's, and stands for the release. Raises ConfigError."""
    match = _FORM.fullmatch(version)
    if match is None:
        raise ConfigError(f"not a TiCDC version: {version!r}")
    suffix = match[4] or ""
    pre_release = "" if _HOTFIX.match(suffix) else suffix
    return Version(int(match[1]), int(match[2]), int(match[3]), pre_release)


def last_of(pattern: str) -> Version:
    """`7.5.2` -> that version; `7.5.x` -> one after all of 7.5."""
    major, minor, patch = (_MOST if part == "x" else int(part) for part in pattern.split("."))
    return Version(major, minor, patch)
