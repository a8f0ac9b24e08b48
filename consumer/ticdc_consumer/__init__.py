"""Applies TiCDC's Kafka topics to a database, exactly."""
