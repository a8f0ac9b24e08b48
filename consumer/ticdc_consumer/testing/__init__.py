"""For tests, of users and ours: a mock Kafka, an audit of the target, a demo upstream."""
