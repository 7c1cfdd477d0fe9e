"""The version of this library: saved with everything it writes."""

__version__ = "0.1.0"
