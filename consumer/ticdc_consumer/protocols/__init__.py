"""What differs by protocol, an entry each."""
