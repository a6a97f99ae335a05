"""ln-audit: proves that the normalization layers of a model checkpoint are what they should be."""

__version__ = "0.1.0"
