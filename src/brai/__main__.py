"""The program ``brai``, and ``python -m brai``.

It is a module of its own, so that Ctrl-C is answered from the first moment on: while the command line itself is
imported, which takes longer than anything before it, there is nobody else to answer.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from brai.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("brai: stopped\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
