"""Compiled algorithms: arrays and scalars in and out, no Python objects.

- `interface`: how they reach data: four verbs, for every kind of data
- `groups`, `resolution`, `orientation`, `extension`: IncreaseResolution, SplitAutonomous, the DAG of a leaf
- `hill_climbing`, `parent_sets`, `orders`: searches; `mmpc`: max-min parents and children
- `mcmc_space`, `mcmc_moves`: chains over DAGs; `edge_chain`: of few variables
- `subsets`, `dag_sums`: dynamic programming over sets of variables; sums over all DAGs
- `completion`: the CPDAG of a DAG
- `simd`: bit vectors, eight words at a time

Conventions: graphs are "row to column" (``adj[i, j]`` for i → j, both ways for i – j); a group's sub-graph is
indexed 0..k-1, and ``nodes[0..k-1]`` are the variables behind it; ``endo`` marks the endogenous ones (X), the
others are X_ex.
"""
