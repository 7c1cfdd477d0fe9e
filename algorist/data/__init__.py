"""Data: the benchmark's sets, endless training data, transforms of it, and chunks.

- `official`: what the benchmark's samplers return, and its fixed splits
- `stream`: sources of training batches with random access, and threads that compute ahead
- `transforms`: random positions, static hints as inputs, permutation outputs
- `chunks`: trajectories cut to batches of a fixed number of steps
- `cache`: batches on disk, complete and unharmed
- `preparing`: other processes that compile and draw what will be needed
"""

from algorist.data import cache, chunks, official, stream, transforms
from algorist.data.stream import Stream

__all__ = ["Stream", "cache", "chunks", "official", "stream", "transforms"]
