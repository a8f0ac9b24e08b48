"""What a consumer is at, for Prometheus: `METRICS` reads an `Activity`, `ActivityCollector` gives
it to a registry of `prometheus_client`, `MetricsServer` answers `/metrics`, `/healthz` and
`/readyz`.

`prometheus_client` is imported only if metrics are on.
"""
