"""Compiled algorithms: arrays and scalars in and out, no Python objects.

- `interface`: access to data by four functions, for every kind of data
- `groups`, `resolution`, `orientation`, `extension`: IncreaseResolution, SplitAutonomous, the DAG of a leaf
- `hill_climbing`, `parent_sets`, `orders`: score-based search; `mmpc`: max-min parents and children
- `mcmc_space`, `mcmc_moves`: MCMC over DAGs; `edge_chain`: MCMC for few variables
- `subsets`, `dag_sums`: dynamic programming over sets of variables; sums over all DAGs
- `completion`: the CPDAG of a DAG
- `simd`: bit vectors in SIMD vectors of eight words

Conventions: adjacency is "row to column": ``adj[i, j]`` for i → j, both entries for i – j. The sub-graph of a
group is indexed 0..k-1, and ``nodes[0..k-1]`` are the corresponding variables. ``endo`` is 1 for endogenous nodes
(X) and 0 for X_ex.
"""
