"""The rows of tables of costs: of training steps, trainings and evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from algorist.bench.evaluation_cost import EvaluationCost
from algorist.bench.step_cost import StepCost
from algorist.bench.training_cost import TrainingCost, minutes_together
from algorist.report.terminal import Terminal

_SHOWN_KERNELS = 25

STEP_HEADINGS = (
    "n",
    "nets",
    "steps of\nalgorithm",
    "ms a\ntraining step",
    "ms an\nalgorithm step",
    "the same\nper net",
    "samples\na second",
    "first\nstep s",
    "once\nmore s",
    "memory\nMB",
)


def step_cells(cost: StepCost) -> list[str]:
    """Steps of the algorithm are followed by their number with padding, if there is some."""
    padded = f" ({cost.padded_steps})" if cost.padded_steps > cost.steps else ""
    return [
        str(cost.n),
        str(cost.replicas),
        f"{cost.steps}{padded}",
        f"{cost.ms:.3f}",
        f"{cost.ms_per_algorithm_step:.4f}",
        f"{cost.ms_per_algorithm_step_and_replica:.4f}",
        f"{cost.samples_per_second:.0f}",
        f"{cost.first_s:.2f}",
        f"{cost.again_s:.2f}",
        f"{cost.memory_mb:.0f}",
    ]


def show_kernels(terminal: Terminal, cost: StepCost) -> None:
    """Those that take most of a training step."""
    total = sum(kernel.microseconds for kernel in cost.kernels)
    calls = sum(kernel.calls for kernel in cost.kernels)
    terminal.print(f"\n{calls:.0f} kernels, {total:.0f} us in a training step:")
    terminal.print(f"{'us':>9}  {'%':>5}  {'calls':>6}")
    for kernel in cost.kernels[:_SHOWN_KERNELS]:
        share = 100 * kernel.microseconds / total
        numbers = f"{kernel.microseconds:9.1f}  {share:5.1f}  {kernel.calls:6.0f}"
        terminal.print(f"{numbers}  {kernel.name[:80]}")
    terminal.print()


TRAINING_HEADINGS = (
    "nets",
    "ready\ns",
    "cap-\ntures",
    "slowest\ns",
    "late",
    "late\ns",
    "ms a\ncycle",
    "wait for\ndata %",
    "valida-\ntion %",
    "minutes\nin all",
    "memory\nMB",
)


def training_cells(cost: TrainingCost) -> list[str]:
    """What makes a training ready, what a cycle takes, and what all steps would."""
    return [
        str(cost.replicas),
        f"{cost.ready_s:.1f}",
        str(cost.captures),
        f"{cost.slowest_capture_s:.2f}",
        str(cost.late_captures),
        f"{cost.late_s:.1f}",
        f"{cost.cycle_ms:.2f}",
        f"{100 * cost.waiting_share:.1f}",
        f"{100 * cost.validation_share:.1f}",
        f"{cost.projected_minutes:.1f}",
        f"{cost.memory_mb:.0f}",
    ]


def training_sums(at_once: int, costs: Sequence[TrainingCost]) -> list[str]:
    """Several trainings, some of them at the same time."""
    cycle = sum(cost.cycle_ms for cost in costs)
    shares = (
        100 * sum(share * cost.cycle_ms for share, cost in zip(column, costs, strict=True)) / cycle
        for column in (
            [cost.waiting_share for cost in costs],
            [cost.validation_share for cost in costs],
        )
    )
    return [
        "",
        f"{sum(cost.ready_s for cost in costs):.1f}",
        str(sum(cost.captures for cost in costs)),
        f"{max(cost.slowest_capture_s for cost in costs):.2f}",
        str(sum(cost.late_captures for cost in costs)),
        f"{sum(cost.late_s for cost in costs):.1f}",
        f"{cycle:.2f}",
        *(f"{share:.1f}" for share in shares),
        f"{minutes_together(costs, at_once):.1f}",
        f"{max(cost.memory_mb for cost in costs):.0f}",
    ]


EVALUATION_HEADINGS = (
    "n",
    "nets",
    "samples",
    "steps of\nalgorithm",
    "data\ns",
    "scoring\ns",
    "memory\nMB",
)


def evaluation_cells(cost: EvaluationCost) -> list[str]:
    """Problems, and the time for reading and for scoring them."""
    return [
        str(cost.n),
        str(cost.replicas),
        str(cost.samples),
        str(cost.steps),
        f"{cost.data_s:.2f}",
        f"{cost.score_s:.2f}",
        f"{cost.memory_mb:.0f}",
    ]


def evaluation_sums(costs: Iterable[EvaluationCost]) -> list[str]:
    """Several evaluations, one after the other."""
    numbers = [(cost.data_s, cost.score_s, cost.memory_mb) for cost in costs]
    data, scoring, peaks = zip(*numbers, strict=True)
    return ["", "", "", "", f"{sum(data):.2f}", f"{sum(scoring):.2f}", f"{max(peaks):.0f}"]
