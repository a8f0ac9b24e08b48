"""One module per protocol, encode and decode side by side."""
