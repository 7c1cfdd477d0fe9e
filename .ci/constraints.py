"""Print constraints for everything that development installs: what pip would choose today.

`make constraints` writes them to constraints-dev.txt. Nothing is installed, but wheels are
downloaded. PyTorch's own version stands in constraints.txt alone, without the suffix of a build
("+cpu", "+cu130"), so that every machine takes the build that its index has.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BY_HAND = "constraints.txt"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
HEAD = f"""\
# Made by `make constraints` on Python {PYTHON}: do not edit.
-c {BY_HAND}
"""


def resolved() -> dict[str, str]:
    """The version of each distribution that pip would install, by its name."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report=-"]
    command += ["--ignore-installed", "-c", BY_HAND, "-e", ".[dev]"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = (item["metadata"] for item in json.loads(done.stdout)["install"])
    return {one["name"].lower().replace("_", "-"): one["version"] for one in found}


def main() -> None:
    """Print a line for each distribution that constraints.txt does not name."""
    by_hand = (ROOT / BY_HAND).read_text()
    print(HEAD, end="")
    for name, version in sorted(resolved().items()):
        if name != "algorist" and f"\n{name}==" not in f"\n{by_hand}":
            print(f"{name}=={version.split('+')[0]}")


if __name__ == "__main__":
    main()
