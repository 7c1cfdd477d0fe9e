"""Jobs: the runs of an experiment that are not yet trained and tested.

Below the folder of runs each part has a folder, and in it one for each run, under any name: a run
is known by its configuration. So a run that comes from another machine need only be put there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from algorist.atomic import replace_text
from algorist.data.prepare import prepare_in_background
from algorist.experiments.config_hash import config_hash
from algorist.experiments.plan import Part
from algorist.experiments.results import Results
from algorist.model.compute_config import ComputeConfig
from algorist.training.config import Config
from algorist.training.divergence import DivergedError
from algorist.training.job_pool import GpuContext
from algorist.training.logs import TensorBoard
from algorist.training.run import Observer, Run, ignore_step
from algorist.training.saved_learners import CONFIG, is_run, read_config

_DIVERGED = "diverged.txt"


@dataclass(frozen=True)
class Job:
    """A run of a part that is not yet done: trained in part, trained but not tested, or new."""

    part: Part
    seeds: tuple[int, ...]
    folder: Path

    @property
    def title(self) -> str:
        """Its name in displays and messages."""
        return f"{self.part.name.part} ({_seeds(self.seeds)})"

    @property
    def has_begun(self) -> bool:
        """Whether there is a run already."""
        return is_run(self.folder)

    def run(self, computing: ComputeConfig, context: GpuContext | None = None) -> Run:
        """The run, started or resumed."""
        self._expect_no_divergence()
        if self.has_begun:
            self.expect_own()
            return Run.resume(self.folder, computing, context=context)
        return Run.start(
            self.folder, replace(self.part.config, seeds=self.seeds), computing, context
        )

    def train(
        self,
        run: Run,
        should_stop: Callable[[], bool],
        observe: Observer = ignore_step,
    ) -> bool:
        """Train the run; whether its last step is reached."""
        if run.trainer.step == run.trainer.config.schedule.steps:
            return True
        try:
            return run.train(logs=[TensorBoard(run)], observe=observe, should_stop=should_stop)
        except DivergedError as error:
            self._diverged(error)
            raise

    def expect_own(self) -> None:
        """Raise a `ValueError` if the run in the folder has other settings by now."""
        config = read_config(self.folder / CONFIG)
        got, expected = config_hash(config), self.part.config_hash
        if got != expected or config.seeds != self.seeds:
            raise ValueError(
                f"{self.folder}: got the recipe {got} with {_seeds(config.seeds)}, "
                f"expected {expected} with {_seeds(self.seeds)}: somebody has resumed this run "
                "with other settings; move it elsewhere"
            )

    def _expect_no_divergence(self) -> None:
        note = self.folder / _DIVERGED
        if note.exists():
            raise DivergedError(
                f"{note.read_text().strip()} (to train it again, remove {self.folder})"
            )

    def _diverged(self, error: DivergedError) -> None:
        """Note that there is no point in going on."""
        replace_text(self.folder / _DIVERGED, f"{error}\n")

    def packed_in(self, folder: Path) -> Path:
        """The same place below another folder of runs."""
        return _folder(folder, self.part) / self.folder.name


def find_jobs(
    parts: Iterable[Part],
    seeds: Sequence[int],
    samples: int | None,
    results: Results,
    folder: Path,
    *,
    lockstep: bool = True,
) -> Iterator[Job]:
    """The jobs that are left of some parts: existing runs continue, other seeds start a new run.

    That is one run for all of these seeds in `lockstep`, or else one for each.
    """
    for part in parts:
        left = results.lacks(part, seeds, samples)
        for run, config in _runs(folder, part):
            if set(config.seeds) & set(left):
                yield Job(part, config.seeds, run)
                left = [seed for seed in left if seed not in config.seeds]
        for group in filter(None, [left]) if lockstep else [[seed] for seed in left]:
            own = f"{part.config_hash}-seeds-{_range(group)}"
            yield Job(part, tuple(group), _folder(folder, part) / own)


def prepare_data(left: Iterable[Job]) -> AbstractContextManager[Any]:
    """Prepares what the algorithms of some jobs need for training and for tests."""
    configs = [job.part.config for job in left]
    tasks = sorted({task for config in configs for task in config.algorithms})
    return prepare_in_background(tasks, sorted({"test", *(s for c in configs for s in c.splits)}))


def _runs(folder: Path, part: Part) -> Iterator[tuple[Path, Config]]:
    """The runs of a part that are trained as it is to be."""
    for file in sorted(_folder(folder, part).glob(f"*/{CONFIG}")):
        config = read_config(file)
        if config_hash(config) == part.config_hash:
            yield file.parent, config


def _folder(folder: Path, part: Part) -> Path:
    return folder / part.name.experiment / part.name.part


def _seeds(seeds: tuple[int, ...]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {_range(seeds)}"


def _range(seeds: Iterable[int]) -> str:
    """`0-2`, or `0_2_3` where some between are missing."""
    first, *others = seeds
    if others == list(range(first + 1, first + 1 + len(others))):
        return f"{first}-{others[-1]}" if others else f"{first}"
    return "_".join(map(str, (first, *others)))
