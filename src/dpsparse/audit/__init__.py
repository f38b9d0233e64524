"""Attacks on the guarantee that anybody can run: `dpsparse audit`.

`checks` holds the attacks: `replay` changes one record and compares every statistic, `terms` and `floating` compare
bits, `accounts`, `inequalities`, `forgeries` and `ledger` attack the accounting, `sources` and `noise` the noise,
`games` the outputs, `program` the commands, `raw_parts` and `raw_outputs` every path of a raw table. `harness` runs
fits for them, and `oracles` computes what the package claims without its code. Nothing here is used by a fit. That the
checks notice faults is shown by `tests/planted`, which plants bugs in the package's source.
"""
