"""Releases of TiCDC that are known to send wrong or disordered data, and the effects here.

Messages do not name the release that wrote them, so `[source] version` does.
`docs/reference/advisories.md` is made from this table. Sources: the issues, and TiDB's release
notes for 8.5.8 (pingcap/docs, `releases/release-8.5.8.md`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ticdc_encoder.version import Version, version_number

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, ok, warn


@dataclass(frozen=True, slots=True)
class Advisory:
    """One defect of TiCDC."""

    name: str
    issue: str
    """`repository#number` on GitHub."""
    affected: tuple[tuple[str, str], ...]
    """Ranges of versions: the first with the defect, the first without it."""
    defect: str
    here: str
    """The effect on the target of this consumer."""
    remedy: str
    new_architecture: bool = False
    """True if only TiCDC's new architecture has the defect."""

    def affects(self, version: Version) -> bool:
        return any(
            version_number(first) <= version < version_number(mended)
            for first, mended in self.affected
        )

    @property
    def url(self) -> str:
        return "https://github.com/" + self.issue.replace("#", "/issues/")

    @property
    def releases(self) -> str:
        """The affected releases as text."""
        ranges = ", ".join(f"{first} or later, before {mended}" for first, mended in self.affected)
        return f"{ranges}, with the new architecture" if self.new_architecture else ranges


_NEW = (("8.5.4-release.1", "8.5.8"),)
_HARMLESS = (
    "none: a replayed row is dropped by its commit_ts, and of several versions of a row the one "
    "with the greatest commit_ts counts"
)
_VERIFY = "upgrade to 8.5.8 or later; then compare the rows: ticdc-consumer verify CONFIG"

ADVISORIES = (
    Advisory(
        "reordering on retry",
        "pingcap/tiflow#11935",
        (
            ("6.4.0", "6.5.12"),
            ("6.6.0", "7.1.7"),
            ("7.2.0", "7.5.6"),
            ("7.6.0", "8.1.3"),
            ("8.2.0", "8.5.1"),
        ),
        "after a failed request the Kafka client may send a partition's messages in another order",
        _HARMLESS,
        "upgrade for the sake of other consumers of the topic",
    ),
    Advisory(
        "duplicate dispatchers after a failover",
        "pingcap/ticdc#5083",
        _NEW,
        "two dispatchers send the rows of one table for a while after its maintainer has moved",
        _HARMLESS,
        "upgrade to 8.5.8 or later for the sake of other consumers of the topic",
        new_architecture=True,
    ),
    Advisory(
        "duplicate dispatchers by a race",
        "pingcap/ticdc#6069",
        _NEW,
        "two dispatchers of one table are created while tables move, and old rows are sent again",
        _HARMLESS,
        "upgrade to 8.5.8 or later for the sake of other consumers of the topic",
        new_architecture=True,
    ),
    Advisory(
        "a stale capture keeps writing",
        "pingcap/ticdc#5202",
        _NEW,
        "a capture that lost its etcd session keeps sending rows after its successor has started",
        _HARMLESS,
        "upgrade to 8.5.8 or later for the sake of other consumers of the topic",
        new_architecture=True,
    ),
    Advisory(
        "rows differ after a Kafka controller failure",
        "pingcap/ticdc#5437",
        _NEW,
        "after a failure of the Kafka controller a consumer's rows differed from the upstream",
        "rows may be missing from the topic, which no consumer can notice",
        _VERIFY,
        new_architecture=True,
    ),
    Advisory(
        "DDL of a new table is skipped",
        "pingcap/ticdc#5401",
        _NEW,
        "the checkpoint passes the DDL that adds a table, and later DDL of that table is not sent",
        "rows come in a shape that no DDL explains, which usually stops the run; a lost TRUNCATE "
        "or default leaves wrong rows",
        _VERIFY,
        new_architecture=True,
    ),
)


def advisories(premises: Premises) -> Iterator[Finding]:
    """The known defects of the release that `[source] version` names."""
    version = premises.options.source_version
    if version is None:
        yield ok(
            "advisories",
            "not checked: [source] version does not name the release of TiCDC, and its messages "
            "do not show it",
        )
        return
    known = [advisory for advisory in ADVISORIES if advisory.affects(version)]
    for advisory in known:
        condition = "if its new architecture is on: " if advisory.new_architecture else ""
        yield warn(
            "advisories",
            f"TiCDC {version}, {condition}{advisory.name} ({advisory.url}): {advisory.defect}. "
            f"Harm to this target: {advisory.here}. What to do: {advisory.remedy}",
        )
    if not known:
        yield ok("advisories", f"none is known for TiCDC {version}")
