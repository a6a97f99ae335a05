"""Is the artifact's norm the source's? Pairing, equality in the artifact's own convention, and what explains a difference."""
