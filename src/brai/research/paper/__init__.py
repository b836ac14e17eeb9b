"""The experiments of the paper, each one command: ``brai paper table1``, ``figure3``, ``figure4``.

- `brai.research.paper.sources`: the data sets, original or sampled
- `brai.research.paper.cells`: an experiment as independent cells, journalled, so that a killed run goes on where
  it stopped
- `brai.research.paper.table1`, `brai.research.paper.figure3`, `brai.research.paper.figure4`: what a cell
  computes, and the table or picture
- `brai.research.paper.record`: what is written down of a run
"""
