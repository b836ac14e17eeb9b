"""The experiments of the paper, one command each: ``brai paper table1``, ``figure3``, ``figure4``.

- `brai.research.paper.sources`: the data sets, original or sampled
- `brai.research.paper.cells`: an experiment as independent cells in a journal, so that a killed run can resume
- `brai.research.paper.table1`, `brai.research.paper.figure3`, `brai.research.paper.figure4`: what a cell
  computes, and the table or figure
- `brai.research.paper.record`: the record of a run
"""
