"""The libraries that are compared: a process for each, and what they are measured on."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def pythons(peer: str | None) -> dict[str, str]:
    """The interpreter of each library: the given one for dm-clrs, or this one if it has that."""
    peer = peer or (sys.executable if importlib.util.find_spec("clrs") else None)
    return {"algorist": sys.executable} | ({"dm-clrs": peer} if peer else {})


@contextmanager
def workers(
    script: str, pythons: dict[str, str], threads: int = 1
) -> Iterator[Callable[[str, Any], Any]]:
    """Run `script --worker NAME` for each library; yields a function that asks one of them.

    Questions and answers are lines of JSON.
    """
    limits = dict.fromkeys(_THREADS, str(threads))
    processes = {
        who: subprocess.Popen(
            [python, script, "--worker", who],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **limits, "JAX_PLATFORMS": "cpu"},
        )
        for who, python in pythons.items()
    }

    def ask(who: str, question: Any) -> Any:
        questions, answers = processes[who].stdin, processes[who].stdout
        print(json.dumps(question), file=questions, flush=True)
        if not (answer := answers.readline() if answers else ""):
            raise SystemExit(f"the worker for {who} ({pythons[who]}) has died")
        return json.loads(answer)

    try:
        yield ask
    finally:
        for process in processes.values():
            process.terminate()
            process.wait()


def write_json(file: str | None, numbers: dict[str, Any]) -> None:
    """Write numbers, with what they were measured on, to a file if there is one."""
    from algorist.report.machine import describe_machine  # which interpreters of others do not have

    if file:
        Path(file).write_text(
            json.dumps({"machine": describe_machine(), **numbers}, indent=2) + "\n"
        )
