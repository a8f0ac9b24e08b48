"""The net change of a cut -> the target."""
