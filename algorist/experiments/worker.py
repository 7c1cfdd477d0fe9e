"""A worker process, which executes one request: a line of JSON in, the reply as a line out.

Every run of a sweep has such a process, whoever starts it, on this machine or on another. A further
line means that it is to save and stop. When its input ends, there is nobody left who waits: it ends
at once, so that no two processes ever write to one run.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TextIO

import torch

from algorist.experiments.run_requests import FAILED, Reply, RunRequest, execute
from algorist.plugins import load_plugin
from algorist.training.job_pool import run_job
from algorist.version import __version__


def main() -> None:
    """Execute the request in the first line of the input, and print the reply."""
    # Whatever else is printed must not be taken for the answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = RunRequest.from_json(sys.stdin.readline())
    stopping = threading.Event()
    threading.Thread(target=_listen, args=(sys.stdin, stopping), daemon=True).start()
    print(_reply(request, stopping.is_set).to_json(), file=answers, flush=True)
    os._exit(0)  # whose threads are still at work does not matter


def _listen(lines: TextIO, stopping: threading.Event) -> None:
    """Stop on a further line of the input; exit at its end."""
    for _ in lines:
        stopping.set()
    os._exit(1)


def _reply(request: RunRequest, should_stop: Callable[[], bool]) -> Reply:
    """The reply to a request; errors become replies."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(request.cores)

    def work() -> Reply:
        _expect_version(request.version)
        for file in request.plugins:
            load_plugin(file)
        return execute(request, should_stop)

    outcome = run_job(0, work)
    if outcome.error is None:
        reply: Reply = outcome.value
        return reply
    message = str(outcome.error) or type(outcome.error).__name__
    return Reply(FAILED, message, outcome.trace)


def _expect_version(version: str) -> None:
    """Raise a `ValueError` if the request comes from another version of the library."""
    if version != __version__:
        raise ValueError(
            f"algorist: got version {__version__} on {os.uname().nodename}, expected {version}"
        )


if __name__ == "__main__":
    main()
