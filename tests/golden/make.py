"""Make scores.json with foreign software: pip install pgmpy pyagrum; python tests/golden/make.py

BDeu and BIC come from pgmpy's structure scores, conditional mutual information and G² (statistic and p-value)
from pyAgrum's BNLearner without a prior. The data is made here; every state of a variable occurs in it.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pgmpy
import pyagrum as gum
from pgmpy.structure_score import BIC, BDeu

rng = np.random.default_rng(7)
n = 200
a = rng.integers(0, 3, n)
b = np.where(rng.random(n) < 0.7, a % 2, rng.integers(0, 2, n))
c = (a + rng.integers(0, 4, n)) % 4
d = np.where(rng.random(n) < 0.8, (b + c) % 3, rng.integers(0, 3, n))
frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d})
text = frame.astype(str)

families = [("a", []), ("b", ["a"]), ("d", ["b", "c"]), ("d", ["a", "b", "c"]), ("c", ["a", "d"])]
scores = [
    {
        "child": child,
        "parents": parents,
        "bdeu_1": float(BDeu(text, equivalent_sample_size=1).local_score(child, tuple(parents))),
        "bdeu_10": float(BDeu(text, equivalent_sample_size=10).local_score(child, tuple(parents))),
        "bic": float(BIC(text).local_score(child, tuple(parents))),
    }
    for child, parents in families
]

learner = gum.BNLearner(text)
learner.useNoPrior()
tests = []
for x, y, given in [("a", "b", []), ("a", "c", []), ("a", "d", ["b"]), ("a", "d", ["b", "c"]), ("b", "c", ["d"])]:
    statistic, p_value = learner.G2(x, y, given)
    bits = learner.mutualInformation(x, y, given)
    tests.append({"x": x, "y": y, "given": given, "g2": statistic, "p": p_value, "cmi_bits": bits})

Path(__file__).with_name("scores.json").write_text(
    json.dumps(
        {
            "made_with": f"pgmpy {pgmpy.__version__} (scores), pyAgrum {gum.__version__} (tests)",
            "columns": list(frame.columns),
            "rows": frame.to_numpy().tolist(),
            "scores": scores,
            "tests": tests,
        }
    )
    + "\n"
)
