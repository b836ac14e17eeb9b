"""``python -m brai`` is ``brai``."""

from brai.cli import main

main()
