import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# A program of its own, which the test imports.
collect_ignore = ["make_bits.py"]
