import numpy as np
import pytest

from dpsparse.learning.table_prices import SLOTS, names_failure, preparation_slot
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SeededSource

N = 3_000
HEADER = "id,fee,rate,member,joined,region,note,constant,income"


def make_lines(n=N, seed=0):
    """Raw records: thousands separators, words for true, dates, text with gaps, an identifier, a constant."""
    generator = np.random.default_rng(seed)
    lines = []
    for k in range(n):
        fee = f'"{generator.integers(500, 90_000):,}"'
        rate = "n/a" if generator.random() < 0.2 else f"{generator.normal():.3f}"
        member = generator.choice(["Yes", "no", "TRUE"])
        joined = f"{generator.integers(1, 29):02d}/{generator.integers(1, 13):02d}/2021"
        region = generator.choice(["north", "south", "west", "", f"rare {k % 13}"], p=[0.4, 0.3, 0.19, 0.1, 0.01])
        income = "" if generator.random() < 0.1 else f"{generator.normal(50, 9):.1f}"
        lines.append(f'u{k}x,{fee},{rate},{member},{joined},{region},"note {k}, {n - k}",7,{income}')
    return lines


@pytest.fixture(scope="session")
def raw_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "people.csv"
    path.write_text("\n".join([HEADER, *make_lines(), ""]))
    return path


def opened(n, *, epsilon=4.0, source=None, names=SLOTS, m=1, adjacency="replace-one"):
    """A meter that has committed to what is learned, and its slots by name."""
    guarantee = Guarantee(epsilon, 1e-6, adjacency, m)
    price = guarantee.rho_per_record / (len(names) + 1)
    slots = {name: preparation_slot(name, price, n) for name in names}
    slots["names"] = preparation_slot("names", price, n, names_failure(guarantee))
    meter = Meter(guarantee, n, source or SeededSource(0))
    meter.commit(Commitment(tuple(slots.values())))
    return meter, slots


@pytest.fixture
def open_meter():
    return opened
