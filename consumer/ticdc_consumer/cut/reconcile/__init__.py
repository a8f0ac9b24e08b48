"""Facts -> the net change of a cut."""
