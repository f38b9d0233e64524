"""`python -m dpsparse` is `dpsparse`."""

from dpsparse.cli import main

if __name__ == "__main__":
    main()
