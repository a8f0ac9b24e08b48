"""The tree of errors: what a program may answer by trying again, and what it can catch."""

import pytest
import ticdc_consumer
import ticdc_consumer.upstream.session  # has errors of its own
from ticdc_consumer import errors
from ticdc_encoder.errors import ConfigError, DefinitionError, TicdcError, WireError

TREE: list[tuple[type[TicdcError], type[Exception], int]] = [
    (TicdcError, Exception, 3),
    (ConfigError, TicdcError, 2),
    (errors.Usage, ConfigError, 2),
    (errors.Unavailable, TicdcError, 1),
    (errors.Away, errors.Unavailable, 1),
    (errors.SourceAway, errors.Unavailable, 1),
    (errors.UserRefused, errors.Unavailable, 1),
    (errors.ReadOnly, errors.Unavailable, 1),
    (errors.Full, errors.Unavailable, 1),
    (errors.Fenced, TicdcError, 4),
    (errors.Stop, TicdcError, 3),
    (errors.InTheWay, errors.Stop, 3),
    (errors.Denied, errors.Stop, 3),
    (errors.SchemaMissing, errors.Stop, 3),
    (errors.Drift, errors.Stop, 3),
    (errors.KeyTaken, errors.Stop, 3),
    (errors.NotHeld, errors.Stop, 3),
    (errors.NoTable, errors.Stop, 3),
    (errors.Misfit, errors.Stop, 3),
    (errors.UpstreamAway, errors.Stop, 3),
    (errors.Unsupported, errors.Stop, 3),
    (errors.ValuesNotSent, errors.Unsupported, 3),
    (errors.TableNotSent, errors.Unsupported, 3),
    (WireError, TicdcError, 3),
    (DefinitionError, TicdcError, 3),
]
STAY_INSIDE = {
    *(errors.Retry, errors.Locked, errors.RegistryAway, errors.ClaimCheckAway),
    *(errors.StagedRowsLost, errors.UnknownCommit, errors.NoAnswer, errors.LeftOut),
    errors.Sendable,
}
"""Those that do not leave a consumer."""


@pytest.mark.parametrize(("kind", "parent", "exit_code"), TREE)
def test_an_error_has_its_parent_and_its_exit_code(
    kind: type[TicdcError], parent: type[Exception], exit_code: int
) -> None:
    public = [
        each
        for each in kind.__mro__[1:]
        if not each.__name__.startswith("_") and each is not errors.Sendable
    ]
    assert (public[0], kind.exit_code) == (parent, exit_code)


SENT = [
    *("Unavailable", "Away", "NoAnswer", "SourceAway", "UserRefused", "ReadOnly", "Full", "Fenced"),
    *("Retry", "Locked", "RegistryAway", "ClaimCheckAway", "Denied", "SnapshotRemoved"),
]


@pytest.mark.parametrize("kind", SENT)
def test_an_error_that_the_driver_answers_keeps_its_class(kind: str) -> None:
    error = errors.received(kind, "why")
    assert (type(error).__name__, str(error)) == (kind, "why")


@pytest.mark.parametrize("kind", ["Stop", "NotHeld", "Misfit", "WireError", "DefinitionError"])
def test_any_other_error_of_a_task_stops_the_run(kind: str) -> None:
    assert type(errors.received(kind, "why")) is errors.Stop


def test_only_what_may_be_tried_again_has_exit_code_1() -> None:
    again = {kind for kind, _, code in TREE if code == 1}
    assert again == {kind for kind, _, _ in TREE if issubclass(kind, errors.Unavailable)}


def test_every_error_that_leaves_a_consumer_is_exported() -> None:
    defined = {
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, TicdcError)
    }
    public = {getattr(ticdc_consumer, name) for name in ticdc_consumer.__all__}
    exported = {each for each in public if isinstance(each, type) and issubclass(each, TicdcError)}
    assert exported == (defined - STAY_INSIDE) | {WireError, DefinitionError}
    assert exported == {kind for kind, _, _ in TREE}
