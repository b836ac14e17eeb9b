"""The questions of ``brai query``. Each answer is a dict of plain values with stable keys, and lines of text.

The keys are documented in docs/guide/tour.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from brai.learners.base import StructureLearner
from brai.runtime.checks import near

_SHOWN = 0.01  # less probable members of a Markov blanket are left out

Answer = dict[str, Any]
Lines = list[tuple[str, Any]]


def answer(model: StructureLearner, kind: str, *words: str, **options: Any) -> Answer:
    """The answer to a question; ``options`` are those of `effect`."""
    if kind not in _QUESTIONS:
        raise ValueError(f"unknown question {kind!r}{near(kind, _QUESTIONS)}: ask {', '.join(_QUESTIONS)}")
    ask, n, _ = _QUESTIONS[kind]
    if len(words) < n or (len(words) > n and kind not in ("marginal", "do")):
        raise ValueError(f"{kind} takes {n} name{'s' * (n > 1)}, not {len(words)}: brai query -h shows how to ask")
    given = {name: value for name, value in options.items() if value}
    if given and kind != "effect":
        raise ValueError(f"--{next(iter(given))} applies to effect, not to {kind}: leave it out")
    names = list(model.feature_names_in_)
    for name in words[:n]:
        if name not in names:
            known = ", ".join(names[:20]) + " …" * (len(names) > 20)
            raise ValueError(f"no variable {name!r}{near(name, names)}: choose from {known}")
    return {"kind": kind, **ask(model, *words, **given)}


def as_lines(found: Answer) -> Lines:
    """An answer as pairs of a description and a value."""
    return _QUESTIONS[found["kind"]].lines(found)


# --- each question and its text ---


def _edge(model: StructureLearner, a: str, b: str) -> Answer:
    forth, back = _both(model, model.edge_probabilities(), a, b)
    return {"from": a, "to": b, "p_forward": forth, "p_backward": back, "p_adjacent": forth + back}


def _edge_lines(found: Answer) -> Lines:
    return [*_directions(found, "→"), ("adjacent", found["p_adjacent"])]


def _path(model: StructureLearner, a: str, b: str) -> Answer:
    forth, back = _both(model, model.path_probabilities(), a, b)
    return {"from": a, "to": b, "p_forward": forth, "p_backward": back}


def _path_lines(found: Answer) -> Lines:
    return _directions(found, "⇝")


def _both(model: StructureLearner, of: Any, a: str, b: str) -> tuple[float, float]:
    i, j = (list(model.feature_names_in_).index(name) for name in (a, b))
    return float(of[i, j]), float(of[j, i])


def _directions(found: Answer, sign: str) -> Lines:
    a, b = found["from"], found["to"]
    return [(f"{a} {sign} {b}", found["p_forward"]), (f"{b} {sign} {a}", found["p_backward"])]


def _blanket(model: StructureLearner, a: str) -> Answer:
    names = list(model.feature_names_in_)
    row = model.markov_blanket_probabilities()[names.index(a)].tolist()
    ranked = sorted(zip(names, row, strict=True), key=lambda one: -one[1])
    return {"of": a, "members": [{"name": name, "probability": p} for name, p in ranked if p >= _SHOWN]}


def _blanket_lines(found: Answer) -> Lines:
    return [(one["name"], one["probability"]) for one in found["members"]]


def _effect(
    model: StructureLearner,
    a: str,
    b: str,
    change: tuple[str, str] | None = None,
    values: Sequence[str] | None = None,
) -> Answer:
    counted = None if values is None else dict(_number(word) for word in values)
    found = model.causal_effect(a, b, change=change, values=counted)
    return {
        "cause": a,
        "outcome": b,
        "effect": float(found.effect),
        "standard_deviation": float(found.effect_sd),
        "p_causes": float(found.p_causes),
        "change": list(found.change),
        "values": [{"state": state, "value": float(value)} for state, value in found.values.items()],
    }


def _effect_lines(found: Answer) -> Lines:
    a, b = found["cause"], found["outcome"]
    return [
        ("effect", found["effect"]),
        ("standard deviation", found["standard_deviation"]),
        (f"P({a} causes {b})", found["p_causes"]),
        (f"change of {a}", " to ".join(map(str, found["change"]))),
        (f"values of {b}", ", ".join(f"{one['state']} {one['value']:g}" for one in found["values"])),
    ]


def _marginal(model: StructureLearner, a: str, *settings: str) -> Answer:
    return _distribution(model, a, "given", settings)


def _do(model: StructureLearner, a: str, *settings: str) -> Answer:
    return _distribution(model, a, "do", settings)


def _distribution(model: StructureLearner, a: str, what: str, settings: Sequence[str]) -> Answer:
    network, told = model.network(), dict(_pair(word) for word in settings)
    found = network.marginal(a, **{what: told})
    if hasattr(found, "sd"):
        return {"of": a, what: told, "mean": float(found.mean), "sd": float(found.sd)}
    labels = network.states[network.names.index(a)]
    states = [{"state": label, "probability": float(p)} for label, p in zip(labels, found, strict=True)]
    return {"of": a, what: told, "states": states}


def _distribution_lines(found: Answer) -> Lines:
    if "mean" in found:
        return [("mean", found["mean"]), ("standard deviation", found["sd"])]
    return [(str(one["state"]), one["probability"]) for one in found["states"]]


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"{word!r} assigns no value to a variable: write NAME=VALUE")
    return name, value


def _number(word: str) -> tuple[str, float]:
    state, _, number = word.rpartition("=")
    try:
        return state, float(number)
    except ValueError:
        raise ValueError(f"{word!r} assigns no number to a state: write STATE=NUMBER, such as yes=1") from None


class _Question(NamedTuple):
    ask: Callable[..., Answer]
    n_names: int
    lines: Callable[[Answer], Lines]


_QUESTIONS = {
    "edge": _Question(_edge, 2, _edge_lines),
    "path": _Question(_path, 2, _path_lines),
    "blanket": _Question(_blanket, 1, _blanket_lines),
    "effect": _Question(_effect, 2, _effect_lines),
    "marginal": _Question(_marginal, 1, _distribution_lines),
    "do": _Question(_do, 1, _distribution_lines),
}
