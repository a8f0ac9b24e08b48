"""Paths and schema files of TiCDC's cloud storage sink."""
