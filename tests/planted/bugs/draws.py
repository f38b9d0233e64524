"""Bugs to plant between the samplers and the mechanisms: noise of the right variance that is not the noise declared."""

from planting import Bug

NOISE = "noise"
_CUT = "np.clip(np.asarray(noisy, dtype=np.int64), -LARGEST, LARGEST)"
_MARGIN = "margin = total * (len(scores) * (1 + 2.0**-10) + 2048) * 2.0**-52"
_AIM = "low, high = total * drawn * 2.0**-64 - margin, total * (drawn + 1) * 2.0**-64 + margin"

DRAWS = (
    Bug(
        "Gaussian noise set to 0 beyond 4.5 scales",
        NOISE,
        {
            "privacy.noise:SecureSource._add": [
                (
                    f"return {_CUT}",
                    f"far = abs({_CUT} - values) > 4.5 * scale\n    return np.where(far, values, {_CUT})",
                )
            ]
        },
    ),
    Bug(
        "noise cut at 2^40",
        NOISE,
        {"privacy.noise:SecureSource._add": [("-LARGEST, LARGEST", "-(2**40), 2**40")]},
    ),
    Bug(
        "noise of a scale rounded down",
        NOISE,
        {"privacy.noise:SecureSource._add": [("float(scale)", "float(int(scale))")]},
    ),
    Bug(
        "a Laplace sampler in the place of the Gaussian",
        NOISE,
        {"privacy.noise:_opendp_sampler": [('law == "laplace"', "True")]},
    ),
    Bug(
        "OpenDP asked for less noise",
        NOISE,
        {"privacy.noise:_opendp_sampler": [('l2_distance(T="f64"), scale)', 'l2_distance(T="f64"), scale * 0.999)')]},
    ),
    Bug(
        "bits from a generator that the clock has seeded",
        NOISE,
        {
            "privacy.noise:SecureSource.bits": [
                (
                    "secrets.randbits(count)",
                    '__import__("random").Random(__import__("time").time_ns()).getrandbits(count)',
                )
            ]
        },
    ),
    Bug(
        "bits of a generator added to the operating system's",
        NOISE,
        {
            "privacy.noise:SecureSource.bits": [
                ("secrets.randbits(count)", 'secrets.randbits(count) ^ __import__("random").getrandbits(1)')
            ]
        },
    ),
    Bug(
        "the lowest bit of a draw left at 0",
        NOISE,
        {"privacy.noise:SecureSource.bits": [("secrets.randbits(count)", "secrets.randbits(count) & -2")]},
    ),
    Bug(
        "no slack at the edges of a pick",
        NOISE,
        {"privacy.mechanisms.selection:pick_index": [(_MARGIN, "margin = 0.0")]},
    ),
    Bug(
        "slack at the lower edge of a pick alone",
        NOISE,
        {"privacy.mechanisms.selection:pick_index": [(_AIM, _AIM.removesuffix(" + margin"))]},
    ),
    Bug(
        "small weights of a pick raised",
        NOISE,
        {"privacy.mechanisms.selection:_weights": [("-46.0", "-20.0")]},
    ),
    Bug(
        "blocks of small weights left out of a pick",
        NOISE,
        {"privacy.mechanisms.selection:pick_index": [("45.0 / rate + 1", "5.0 / rate + 1")]},
    ),
    Bug(
        "no more bits for a pick in decimals",
        NOISE,
        {"privacy.mechanisms.selection:_pick_in_decimals": [("(drawn << 128) | source.bits(128)", "drawn << 128")]},
    ),
    Bug(
        "ties of cut noise go to the first",
        NOISE,
        {"privacy.mechanisms.selection:_largest": [("abs(edge) < LARGEST or len(tied) == 1", "True")]},
    ),
    Bug(
        "a negative draw taken for what was cut off",
        NOISE,
        {"privacy.mechanisms.selection:_geometric": [("if noise >= 0:", "if True:")]},
    ),
    Bug(
        "what was cut off is drawn once",
        NOISE,
        {"privacy.mechanisms.selection:_geometric": [("if noise < LARGEST:", "if True:")]},
    ),
    Bug(
        "a shortfall ranked as an excess",
        NOISE,
        {"privacy.mechanisms.selection:_largest": [("(1 if edge > 0 else -1)", "1")]},
    ),
)
