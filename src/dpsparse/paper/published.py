"""The numbers that the paper prints in its two tables: MAE and genes."""

from dpsparse.paper.designs import CUT

_NCI60 = {
    CUT: (2.07, "MALL, TM4SF4, ANXA3, ADRB2, NRN1"),
    "DP-SLR": (2.72, "MALL, TGFBI, S100A6, LPXN, DSP"),
    "DP-IHT-H": (2.40, "MALL, ANXA3, NRN1, CA2, EPS8L2"),
    "DP-IHT-L": (2.34, "MALL, NRN1, DSP, AUTS2, EPS8L2"),
}
_METABRIC = {
    CUT: (0.92, "PIK3CA, MUC16, SYNE1, KMT2C, GATA3"),
    "DP-SLR": (1.22, "MUC16, CDH1, MAP3K1, NCOR2, CBFB"),
    "DP-IHT-H": (1.08, "PIK3CA, MUC16, AHNAK2, MAP3K1, GATA3"),
    "DP-IHT-L": (1.05, "PIK3CA, SYNE1, NOTCH1, TG, KMT2C"),
}
PUBLISHED = {"table1": _NCI60, "table2": _METABRIC}
# (title, n, d, epsilon) of the settings whose noise the report sets against the largest possible signal.
LIMITS = (
    ("NCI-60 as in the paper", 59, 14_342, 0.5),
    ("NCI-60 as here", 59, 14_194, 0.5),
    ("METABRIC as in the paper", 1_904, 24_368, 1.0),
    ("METABRIC, the public extract", 1_904, 662, 1.0),
    ("synthetic, small", 10_000, 1_000, 0.5),
    ("synthetic, large", 100_000, 200, 0.5),
)
