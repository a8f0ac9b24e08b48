"""Where changes come from, as the driver sees it."""
