"""``brai bench``: time and memory of this package, next to other packages (peers) in the same run.

A case (`brai.research.bench.cases`) is a function that measures. `brai.research.bench.measure` alternates our runs
and those of the peers, so that noise affects both. Ratios are compared, not seconds. Peers are pyAgrum, pgmpy and
causal-learn (``pip install 'brai[bench]'``). A peer that is not installed is left out, with a message.
"""
