"""The picture in docs/how-to/app.md: step 3 of `dpsparse app`, on a made-up table. It needs Chromium."""

import io
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "app"))

import click
from chromium import Chromium
from client import Client, Program
from PIL import Image

from dpsparse.datasets import make_heavy_tailed

ROOT = Path(__file__).parents[1]
NAMES = ["age", "bmi", "visits", "income", *(f"lab_{k:02d}" for k in range(44)), "stay"]


def draw(path):
    """Go through the first three steps, and keep what the third shows."""
    with tempfile.TemporaryDirectory() as folder:
        X, y, _ = make_heavy_tailed(5_000, len(NAMES), 4, random_state=0)
        lines = [
            ",".join([*NAMES, "cost"]),
            *(",".join(f"{cell:.3f}" for cell in (*row, c)) for row, c in zip(X, y, strict=True)),
        ]
        Path(folder, "people.csv").write_text("\n".join(lines))
        page = Program("--folder", Path(folder) / "home", "--data", folder)
        browser = Chromium(shutil.which("chromium"), Path(folder) / "profile")
        try:
            client = Client(page.url)
            client.get("/file")
            client.choose("people.csv", dataset="clinic-2026")
            client.columns("cost", {"age": ("range", "20 to 80")})
            client.grant(dataset="clinic-2026")
            client.plan(epsilon="0.5", sparsity="4")
            browser.show_as(1280)
            browser.open(page.url)
            browser.wait_for("location.pathname !== '/enter' && document.readyState === 'complete'")
            browser.open(page.url.partition("/enter")[0] + "/accuracy")
            browser.fill("#effect", "0.2")
            browser.wait_for("document.querySelector('#forecast').textContent.includes('for 0.2.')")
            # Few colours make a small file.
            Image.open(io.BytesIO(browser.screenshot())).convert("RGB").quantize(64).save(path, optimize=True)
        finally:
            browser.close()
            page.end()


@click.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=ROOT / "docs" / "img" / "app.png")
def main(out):
    """Draw it."""
    draw(out)


if __name__ == "__main__":
    main()
