"""Tortures a consumer of TiCDC's topics, whatever it is written in, and judges what it leaves."""
