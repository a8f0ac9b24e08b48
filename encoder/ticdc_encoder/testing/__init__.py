"""Histories for tests and demos, and the disturbances that at-least-once delivery allows."""
