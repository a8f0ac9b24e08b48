"""Tables and databases of the target that several upstream ones share."""
