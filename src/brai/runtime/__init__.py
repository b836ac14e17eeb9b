"""Running computations: workers, checkpoints, memory, progress, seeds, compiled code."""
