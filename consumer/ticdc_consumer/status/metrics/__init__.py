"""The activity of a consumer for Prometheus: `METRICS` reads an `Activity`, `ActivityCollector`
gives it to a registry of `prometheus_client`, `MetricsServer` answers `/metrics`, `/healthz`,
`/readyz`, and `/` with a page for people.

`prometheus_client` is imported only if metrics are on.
"""
