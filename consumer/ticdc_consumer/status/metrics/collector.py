"""Gives the activities of consumers to a registry of `prometheus_client`."""

from collections.abc import Callable, Iterator
from itertools import accumulate
from weakref import WeakKeyDictionary

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from ticdc_consumer.status.activity.activity import BOUNDS, Activity, StageSeconds
from ticdc_consumer.status.metrics.definitions import CHANGEFEED, METRICS, PREFIX, MetricDefinition

Look = Callable[[], Activity]


class ActivityCollector(Collector):
    """The consumers of a process that share a registry, where each metric is one family. `looks`
    are by changefeed."""

    def __init__(self) -> None:
        self.looks: dict[str, Look] = {}

    def describe(self) -> list[Metric]:
        """The families, without a look: a registry refuses names that it already has."""
        return [_family(metric) for metric in METRICS.values()]

    def collect(self) -> Iterator[Metric]:
        activities = [look() for look in list(self.looks.values())]
        for metric in METRICS.values():
            family = _family(metric)
            for activity in activities:
                _add(family, metric, activity)
            yield family


_collectors: WeakKeyDictionary[CollectorRegistry, ActivityCollector] = WeakKeyDictionary()


def register(registry: CollectorRegistry, changefeed: str, look: Look) -> None:
    """Makes the registry show `look` from here on, even after the consumer's end, until another
    consumer of the changefeed replaces it."""
    if registry not in _collectors:
        collector = ActivityCollector()
        registry.register(collector)
        _collectors[registry] = collector
    _collectors[registry].looks[changefeed] = look


def _family(metric: MetricDefinition) -> Metric:
    name, labels = PREFIX + metric.name, (CHANGEFEED, *metric.labels)
    match metric.kind:
        case "gauge":
            return GaugeMetricFamily(name, metric.help, labels=labels)
        case "counter":
            return CounterMetricFamily(name, metric.help, labels=labels)
        case "histogram":
            return HistogramMetricFamily(name, metric.help, labels=labels)


def _add(family: Metric, metric: MetricDefinition, activity: Activity) -> None:
    for labels, value in metric.values(activity):
        names = [activity.changefeed, *labels]
        match family, value:
            case HistogramMetricFamily(), StageSeconds():
                bounds = [*(str(bound) for bound in BOUNDS), "+Inf"]
                buckets = zip(bounds, map(float, accumulate(value.buckets)), strict=True)
                family.add_metric(names, list(buckets), value.sum)
            case GaugeMetricFamily() | CounterMetricFamily(), int() | float():
                family.add_metric(names, value)
