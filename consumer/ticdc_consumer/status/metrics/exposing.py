"""Exposes the metrics while a consumer runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Usage
from ticdc_consumer.status.activity.activity import Activity

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


@contextmanager
def exposed(
    options: Settings, registry: "CollectorRegistry | None", look: Callable[[], Activity]
) -> Iterator[None]:
    """Adds the metrics of `look` to `registry`; inside, `[metrics] listen` serves that registry.
    Without either, does nothing, and imports nothing."""
    if options.metrics_listen is None and registry is None:
        yield
        return
    try:
        from prometheus_client import CollectorRegistry

        from ticdc_consumer.status.metrics.collector import register
        from ticdc_consumer.status.metrics.server import MetricsServer
    except ModuleNotFoundError as error:
        raise Usage(
            f"metrics need {error.name}, which is not installed: "
            "pip install 'ticdc-consumer[metrics]'"
        ) from error
    if registry is None:
        registry = CollectorRegistry()
    register(registry, options.changefeed, look)
    if options.metrics_listen is None:
        yield
        return
    server = MetricsServer(options.metrics_listen, registry, look, options.metrics_ready_lag)
    try:
        yield
    finally:
        server.close()
