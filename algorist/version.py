"""The version of this library: the build reads it here, and every file that it writes names it."""

__version__ = "0.1.0"
