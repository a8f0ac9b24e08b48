"""What several tests share: brokers, databases, golden messages, random worlds."""
