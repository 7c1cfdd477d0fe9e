"""The fused scan and what it is composed from: private to `Net`, which chooses it."""
