"""How a changefeed is doing: what it stores about itself, why it is there, and its metrics."""
