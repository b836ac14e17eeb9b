"""All benchmarks of speed, beside peers, in one run: a table, a history, a picture. The same as ``brai bench``.

    python benchmarks/run.py [CASE …] [--data FOLDER] [--runs 5] [--history FILE] [--compare]
                             [--plot FILE.png] [--markdown] [--into PAGE.md] [--quick]

Cases are in `brai.research.bench`; FOLDER holds networks/*.bif.gz.
"""

from __future__ import annotations

import sys

from brai.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench"]
    main()
