"""Readers that find a row's parts by position; each is proved against its decoder."""
