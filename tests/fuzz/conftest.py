# A program of its own, with modules that find each other when it is run.
collect_ignore = ["cases.py", "mutations.py", "run.py"]
