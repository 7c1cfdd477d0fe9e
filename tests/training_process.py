"""Trains the run of a folder to its end, in a process that tests can kill.

The folder holds `wanted.json`, the configuration, and `run`, once it was started. Each step is
printed when it is done.
"""

import sys
from pathlib import Path

import torch

from algorist.training.config import Config
from algorist.training.run import Run


def main(folder):
    torch.set_num_threads(1)
    if (folder / "run" / "config.json").exists():
        run = Run.resume(folder / "run")
    else:
        run = Run.start(folder / "run", Config.from_json((folder / "wanted.json").read_text()))
    run.train(observe=lambda trainer, report: print(trainer.step, flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
