"""What several upstream tables or databases share in the target."""
