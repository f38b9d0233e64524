"""Head to head: every peer on its own ground and on ours, in one table that anyone can make again.

Run ``python -m peers run`` in `benchmarks/`, then ``python -m peers report``; ``--help`` lists the options.
"""
