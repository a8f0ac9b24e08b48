"""Proof that a DDL's work found in the target is the consumer's own.

Where DDL commits by itself, a crash may leave it done and not noted. The target cannot distinguish
that from another client's work: a column of the same name and type may hold other values. So the
ledger notes, before the first statement of a DDL, that it is begun, with a fingerprint of the
target's state. Work found done counts only then, and only if the fingerprint still fits.
"""

import hashlib
import json
from dataclasses import replace

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import InTheWay
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target


def note(context: DdlContext, entry: LedgerEntry, work: Alteration) -> None:
    """Notes that the work begins. Inside a transaction."""
    context.ledger.mark(replace(entry, begun=_fingerprint(context.target, work)))


def take_back(context: DdlContext, entry: LedgerEntry) -> None:
    """Notes that no work took place: the target refused its first statement."""
    with context.target.transaction():
        context.ledger.mark(replace(entry, begun=""))


def require_own(target: Target, entry: LedgerEntry, work: Alteration) -> None:
    """Raises `InTheWay` if some of the work is done, and not by the consumer."""
    if not work.as_after:
        return
    if not entry.begun:
        raise InTheWay(f"this DDL was not begun by the consumer, and {work.as_after}")
    changed = "another client changed it after this DDL was begun"
    for query, reason in work.unlike:
        if target.query(query):
            raise InTheWay(f"{reason}, so {changed}: {work.as_after}")
    if _fingerprint(target, work) != entry.begun:
        raise InTheWay(f"the table is not the one that it was, so {changed}: {work.as_after}")


def _fingerprint(target: Target, work: Alteration) -> str:
    with target.errors():
        results = [[list(row) for row in target.query(query)] for query in work.evidence]
    return hashlib.sha256(json.dumps(results, default=str).encode()).hexdigest()
