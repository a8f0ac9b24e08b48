"""Test support for users and this project: a mock Kafka, an audit of the target, a demo
upstream.
"""
