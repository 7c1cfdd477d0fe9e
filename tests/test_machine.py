"""What the machine is asked for."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from algorist import machine

def faults():
    for _ in range(10):
        np.zeros(2**23)[:] = 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

{first}
before = faults()
print(faults() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is for glibc")
def test_freed_memory_is_used_again():
    """Ten blocks of 64 MB, one after the other."""

    def faults(first):
        words = [sys.executable, "-c", PROGRAM.format(first=first)]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    assert faults("") > 20 * faults("machine.keep_freed_memory()")
