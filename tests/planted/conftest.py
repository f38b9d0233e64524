# A program of its own, with modules that find each other when it is run.
collect_ignore = ["bugs", "coverage_map.py", "mutants.py", "outcomes.py", "planting.py", "run.py", "worker.py"]
