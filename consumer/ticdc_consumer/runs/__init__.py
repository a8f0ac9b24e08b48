"""What goes through cuts beside the loop that keeps a target equal."""
