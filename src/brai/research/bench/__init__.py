"""``brai bench``: what the package costs, beside its peers in the same run.

A case (`brai.research.bench.cases`) is a function that measures; `brai.research.bench.measure` times ours and
theirs by turns, so that noise hits both; ratios, not seconds, are what is compared. Peers are pyAgrum, pgmpy and
causal-learn (``pip install 'brai[bench]'``); one that is not installed is left out, and that is said.
"""
