"""Random seeds: equal seeds give equal results."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Seed of a run, from None (a new seed), an integer, a SeedSequence, or a generator (which is advanced)."""
    match random_state:
        case None:
            return np.random.SeedSequence()
        case np.random.SeedSequence():
            fresh = np.random.SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
            return fresh  # a copy, since spawning from it would change the caller's object
        case np.random.Generator():
            return np.random.SeedSequence(random_state.integers(0, 2**32, 4).tolist())
        case np.random.RandomState():
            return np.random.SeedSequence(random_state.randint(0, 2**31, 4).tolist())
        case int() | np.integer() if random_state >= 0:
            return np.random.SeedSequence(int(random_state))
    raise ValueError(f"random_state is {random_state!r}: give None, an integer from 0 on, or a generator")


def generator(random_state: RandomState) -> np.random.Generator:
    """A random generator with this seed; a Generator is returned unchanged."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.Generator(np.random.PCG64(seed_sequence(random_state)))
