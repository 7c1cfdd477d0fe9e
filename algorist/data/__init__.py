"""Data: the benchmark's sets, endless training data, transforms of it, and chunks.

- `official`: what the benchmark's samplers return, and its fixed splits
- `stream`: sources of training batches with random access, and threads that compute ahead
- `development`: sets for comparing ideas, so that the test is left for the end
- `sparse`: problems on sparse graphs, of SALSA-CLRS's kind
- `transforms`: random positions, static hints as inputs, permutation outputs
- `chunks`: trajectories cut to batches of a fixed number of steps
- `text`: questions and answers for language models (CLRS-Text)
- `dm_clrs`, `pyg`: converters from and to objects of dm-clrs and PyTorch Geometric
- `cache`: batches on disk, complete and unharmed
- `prepare`: other processes that compile and draw what will be needed
"""

from algorist.data import cache, chunks, dm_clrs, official, pyg, sparse, stream, transforms
from algorist.data.clrs_text import text
from algorist.data.development_sets import DEVELOPMENT_SIZES, development
from algorist.data.stream import Stream

__all__ = [
    "DEVELOPMENT_SIZES",
    "Stream",
    "cache",
    "chunks",
    "development",
    "dm_clrs",
    "official",
    "pyg",
    "sparse",
    "stream",
    "text",
    "transforms",
]
