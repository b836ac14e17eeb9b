"""Every compiled function: arrays and scalars in and out, no Python objects.

- `counts`: contingency tables, the statistic of a conditional-independence (CI) test, the score of a family
- `lanes`: strings of bits, eight words or eight strings at a time
- `slicing`, `scoring`: CI tests and family scores on bit slices
- `refining`: the CI tests of IncreaseResolution
- `orienting`: v-structures, Meek rules, SplitAutonomous, DAG extension of a leaf
- `grouping`: parts of groups
- `completing`: the CPDAG of a DAG
- `predicting`: predictive probabilities of families
- `climbing`: hill climbing and tabu search over DAGs
- `listing`, `ordering`: scored parent sets; local search over orders
- `maxmin`: max-min parents and children
- `subsets`, `layers`: dynamic programming over sets of variables; sums over all DAGs
- `walking`: a chain over DAGs of few variables; `chaining`, `choosing`: of many

Conventions: ``codes`` is variable-major (d, M); ``weights`` counts how often each of the M rows occurs; graphs
are "row to column" (``adj[i, j]`` for i → j, both ways for i – j); a group's sub-graph is indexed 0..k-1, and
``nodes[0..k-1]`` are the variables behind it; ``endo`` marks the endogenous ones (X), the others are X_ex.
"""
