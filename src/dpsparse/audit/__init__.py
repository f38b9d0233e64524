"""Attacks on the guarantee that anybody can run: `dpsparse audit`.

`checks` holds the attacks: `check_replay` changes one record and compares every statistic; `check_terms` and
`check_floating` compare bits; `check_accounts`, `check_inequalities`, `check_forgeries` and `check_ledger` attack the
accounting, `check_sources` and `check_noise` the noise, `check_games` the outputs, `check_program` the commands,
`check_raw_parts` and `check_raw_outputs` every path of a raw table. `harness` runs
fits for them, and `oracles` computes what the package claims without its code. Nothing here is used by a fit. That the
checks notice faults is shown by `tests/planted`, which plants bugs in the package's source.
"""
