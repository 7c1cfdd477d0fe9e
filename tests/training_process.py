"""Trains the run of a folder in a process that dies without a word, wherever it is.

The folder holds `wanted.json`, the configuration, and `run`, once it was started. Each step is
printed when it is done. After some of them the process has so many seconds to live: those in which
it computes, so that it does not matter how busy the machine is.
"""

import signal
import sys
from pathlib import Path

import torch

from algorist.training.config import Config
from algorist.training.run import Run


def main(folder, count, seconds):
    torch.set_num_threads(1)
    if (folder / "run" / "config.json").exists():
        run = Run.resume(folder / "run")
    else:
        run = Run.start(folder / "run", Config.from_json((folder / "wanted.json").read_text()))
    end = run.trainer.step + count

    def observe(trainer, report):
        print(trainer.step, flush=True)
        if trainer.step == end:
            signal.setitimer(signal.ITIMER_PROF, seconds)  # nobody handles it, so it kills

    run.train(observe=observe)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
