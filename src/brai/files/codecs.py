"""How fitted attributes of learners go into a file, by the names that learners give them (``saved``).

A learner says which of its attributes are saved, and as what: ``saved = {"tree_": "tree", …}``. A codec turns the
value into entries of the description and arrays, and back. A new learner needs a codec only for a new sort of
value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from brai.files.arrays import (
    Arrays,
    Stored,
    chain_from,
    chain_to,
    draws_from,
    draws_to,
    graphs_from,
    graphs_to,
    tree_from,
    tree_to,
)
from brai.learners.rai import Try
from brai.posterior.chains import KINDS
from brai.search.joint_parents import Screen

Meta: TypeAlias = Mapping[str, Any]
Saved: TypeAlias = tuple[dict[str, Any], Arrays]


class Place(NamedTuple):
    """Where a value comes from: the name of the attribute, the description, the arrays, the variables."""

    attribute: str
    meta: Meta
    stored: Stored
    names: tuple[str, ...]  # as in the data

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names, sorted: the order inside learners."""
        return tuple(sorted(self.names))


class Codec(NamedTuple):
    """To a file, and back."""

    to: Callable[[str, Any], Saved]
    of: Callable[[Place], Any]


def count(meta: Meta, name: str, least: int = 0) -> int:
    """A whole number of the description."""
    value = meta[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}, not an integer of at least {least}")
    return value


def _seed_to(attribute: str, seed: np.random.SeedSequence) -> Saved:
    return {"seed": encoded_seed(seed)}, {}


def encoded_seed(value: np.random.SeedSequence) -> dict[str, Any]:
    """A seed as JSON."""
    entropy = np.asarray(value.entropy, dtype=object).tolist()
    entropy = [int(part) for part in entropy] if isinstance(entropy, list) else int(entropy)
    return {"type": "SeedSequence", "entropy": entropy, "spawn_key": [int(k) for k in value.spawn_key]}


def decoded_seed(content: Mapping[str, Any]) -> np.random.SeedSequence:
    """The way back."""
    entropy, key = content["entropy"], content["spawn_key"]
    if not all(isinstance(part, int) for part in [*(entropy if isinstance(entropy, list) else [entropy]), *key]):
        raise ValueError(f"a seed is made of {entropy!r} and {key!r}, not of integers")
    return np.random.SeedSequence(entropy, spawn_key=tuple(key))


def _seed_of(place: Place) -> np.random.SeedSequence:
    found = place.meta["seed"]
    if not isinstance(found, dict) or found.get("type") != "SeedSequence":
        raise ValueError(f"seed is {found!r}, not a seed sequence")
    return decoded_seed(found)


def _draws(of: str) -> Codec:
    """Draws of chains, in arrays whose names begin with ``of``."""
    key = "moves" if of == "chains" else f"{of}_moves"

    def to(attribute: str, draws: Any) -> Saved:
        return ({}, {}) if draws is None else ({key: list(KINDS)}, draws_to(draws, of))

    def back(place: Place) -> Any:
        if f"{of}.parents" not in place.stored:
            return None
        kinds = place.meta.get(key, ["gibbs", "reversal", "toggle", "pair"])
        return draws_from(place.stored, place.ranked, kinds, of)

    return Codec(to, back)


def _screen_of(place: Place) -> Any:
    found = place.meta.get("joint_parents")
    return None if found is None else Screen(int(found[0]), int(found[1]), bool(found[2]))


def _members_to(attribute: str, members: Any) -> Saved:
    arrays = graphs_to("members", [cpdag for cpdag, _ in members])
    return {}, {**arrays, "members.log_scores": np.array([score for _, score in members], float)}


def _members_of(place: Place) -> Any:
    cpdags = graphs_from("members", place.stored, place.names)
    if not cpdags or not all(cpdag.is_cpdag() for cpdag in set(cpdags)):
        raise ValueError("its members are not CPDAGs, or there are none")
    return list(zip(cpdags, place.stored.numbers("members.log_scores", len(cpdags)).tolist(), strict=True))


def _skeleton_of(place: Place) -> Any:
    d = len(place.names)
    return place.stored.integers("skeleton", 0, 2, d, d, dtype="uint8").astype(bool)


def _edges_of(place: Place) -> Any:
    return place.stored.numbers("edges", *(len(place.names),) * 2) if "edges" in place.stored else None


def _thresholds_of(place: Place) -> list[Try]:
    """The thresholds that were tried; a file without them had another test."""
    return [
        Try(float(threshold), float(score), int(tests), bool(cut))
        for threshold, score, tests, cut in place.meta.get("thresholds", ())
    ]


CODECS = {
    "count": Codec(lambda name, own: ({name: int(own)}, {}), lambda place: count(place.meta, place.attribute)),
    "tests": Codec(
        lambda name, own: ({}, {"n_ci_tests": np.asarray(own, np.int64)}),
        lambda place: place.stored.integers("n_ci_tests", 0, 2**62, None, dtype="int64"),
    ),
    "tree": Codec(
        lambda name, own: ({"s": int(own.s)}, tree_to(own)),
        lambda place: tree_from(place.stored, place.ranked, count(place.meta, "s", 1)),
    ),
    "trace": Codec(
        lambda name, own: ({"polish_trace": [[step, float(score)] for step, score in own]}, {}),
        lambda place: [(str(step), float(score)) for step, score in place.meta["polish_trace"]],
    ),
    "screen": Codec(
        lambda name, own: ({"joint_parents": [int(value) for value in own]} if own else {}, {}), _screen_of
    ),
    "thresholds": Codec(
        lambda name, own: ({"thresholds": [list(tried) for tried in own]} if own else {}, {}), _thresholds_of
    ),
    "seed": Codec(_seed_to, _seed_of),
    "draws": _draws("chains"),
    "bags": _draws("bags"),
    "chain": Codec(
        lambda name, own: chain_to(own), lambda place: chain_from(place.stored, place.names, place.meta["moves"])
    ),
    "skeleton": Codec(lambda name, own: ({}, {"skeleton": np.asarray(own, np.uint8)}), _skeleton_of),
    "members": Codec(_members_to, _members_of),
    "edges": Codec(lambda name, own: ({}, {} if own is None else {"edges": own}), _edges_of),
}
