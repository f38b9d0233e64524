"""Private pursuit: facts, decisions and prices give a schedule, whose steps run in a row.

Read `facts` (what is public), `decisions` (which releases there are), `budget` and `reference_budget` (what each costs
and why), `schedule` (the steps in order), `steps` (one file each), `state` and `updates` (what a step leaves behind).
"""
