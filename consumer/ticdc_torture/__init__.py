"""Tortures a consumer of TiCDC's topics, in any language, and judges its results."""
