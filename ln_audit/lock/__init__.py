"""The lockfile: what a reviewed model's norms are, so that every later artifact of it can be held to that, whatever its form."""
