"""Round numbers along an axis, linear or logarithmic."""

import math


def ticks(low: float, high: float) -> list[float]:
    """Three to seven round numbers."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= rough)
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


def ratio_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Where round ratios are on a logarithmic axis, and how they are written.

    Examples
    --------
    >>> from dpsparse.model.axis_ticks import ratio_ticks
    >>> [label for _, label in ratio_ticks(-1.0, 2.0)], [label for _, label in ratio_ticks(-0.05, 0.11)]
    (['0.5', '1', '2', '5'], ['1', '1.05', '1.1'])
    """
    least, most = math.exp(low), math.exp(high)
    round_ones = powers(least, most)
    if len(round_ones) < 3:
        round_ones = [tick for tick in ticks(least, most) if tick > 0]
    return [(math.log(tick), f"{tick:g}") for tick in round_ones]


def powers(low: float, high: float) -> list[float]:
    """Powers of ten, or 1, 2 and 5 times them where there are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = max(1, len(exponents) // 8)
    factors = (1, 2, 5) if len(exponents) <= 4 else (1,)
    round_ones = [float(f"{factor}e{exponent}") for exponent in exponents[::every] for factor in factors]
    return [tick for tick in round_ones if low <= tick <= high]
