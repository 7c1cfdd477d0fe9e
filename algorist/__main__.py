"""`python -m algorist` is the command `algorist`."""

import sys

from algorist.cli import main

sys.exit(main())
