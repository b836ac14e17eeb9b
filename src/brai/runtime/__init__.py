"""How work is run: workers, checkpoints, memory, progress, seeds, compiled code."""
