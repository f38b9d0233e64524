"""Rows of `answers.py` and `classifiers.py` as lines of text and in their JSON files."""

import json

import numpy as np
from honesty import plain


def line(row):
    """A row's figures as text, in their order."""
    words = []
    for key, value in row.items():
        name = key.replace("_", " ")
        if hasattr(value, "_asdict"):
            words.append(f"{name} {value.value:.3f} [{value.low:.3f}, {value.high:.3f}]")
        elif key in ("table", "of") or key.startswith("verdict"):
            words.append(str(value))
        elif isinstance(value, float | np.floating):
            words.append(f"{name} {value:.3g}")
        elif isinstance(value, list):
            words.append(f"{name} {' / '.join(f'{each:.3g}' for each in value)}")
        elif isinstance(value, dict):
            words.append(", ".join(f"{each} {share:.2f}" for each, share in value.items() if share))
        else:
            words.append(f"{name} {value:,}" if type(value) is int else f"{name} {value}")
    return "  ".join(word for word in words if word)


def save(out, part, rows, name="answers.json"):
    """Put a part's rows into a JSON file, beside those of other parts."""
    if out:
        out.mkdir(parents=True, exist_ok=True)
        path = out / name
        kept = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(kept | {part: plain(rows)}, indent=1, default=float) + "\n")
