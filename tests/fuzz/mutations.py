"""Ways to break a file: blind ones on bytes, and ones that know a format."""

import json

EXTREME = (0, 1, -1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, -(2**63))
# fmt: off
TOKENS = {
    "csv": [
        b",", b'"', b"\n", b"\r\n", b"\r", b"", b"nan", b"inf", b"-1e308", b"1e999", b"\x00", b"\xff\xfe", b"true",
        b"NA", b"0x1p3", b"9" * 400, b"'", b"a" * 5000, b"2020-01-01", b"1_000", b"\xef\xbb\xbf", b" ", b"," * 2000,
    ],
    "json": [
        b"null", b"NaN", b"-Infinity", b"1e400", b"-1", b'""', b"[]", b"{}", b"true", b"[" * 5000, b"9" * 5000, b"\xff",
        b'"\\ud800"', b"1e-400", b"0.0", b'"\x1b[31m"', b",", b'"', b"}", b"]", b"/*", b"1.5", b"-0",
    ],
    "toml": [
        b"=", b"[", b"[[", b"]", b'"', b"'''", b"inf", b"nan", b"0x7f", b"1979-05-27", b"{}", b"[]", b"true", b"#",
        b"0.5", b"7391", b"1e308", b"-1e308", b"\n", b"9" * 400, b'"?"', b"\xff", b"\x00", b".", b"[" * 5000, b"low",
        b"scale", b"\\u0000",
    ],
    "npy": [
        b"(10000000000, 4)", b"(-1, 4)", b"(4,)", b"(60, 4, 1)", b"(0, 999999999)", b"'|O'", b"'<c16'", b"'<U9'",
        b"'<f16'", b"'>f8'", b"'<i8'", b"'|b1'", b"True", b"'<M8[s]'", b"[('a', '<f8')]", b"__import__('os')",
        b"{" * 500,
    ],
    "parquet": [b"PAR1", b"PARE", b"\x00" * 64, b"\xff" * 64],
    "db": [b"\x00" * 16, b"\xff" * 16, b"SQLite format 3\x00", b"null", b"1e400", b"-1", b"charge", b"refund", b'"'],
}
# fmt: on
JSON_VALUES = [None, True, 0, -1, 1e308, -1e308, 1e-320, 2**60, 10**400, "", "x", "\x1b[31m", [], {}, [[]], [{}], 0.5]


def mutate(content, kind, rng, others):
    """The content broken in one to four ways.

    Parameters
    ----------
    content : bytes
        A valid file.
    kind : str
        Its format, a key of TOKENS.
    rng : random.Random
        Decides how.
    others : list of bytes
        Valid files to splice with.
    """
    if kind == "json" and rng.random() < 0.6:
        content = _mutate_json(content, rng)
        if rng.random() < 0.8:
            return content
    ways = [_flip, _byte, _cut, _drop, _double, _noise, _swap, _integer, _token, _replace, _splice]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = rng.choice(ways)(content, kind, rng, others)
    return content


def _slice(content, rng):
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 4, 8, 64, 1024)))


def _flip(content, kind, rng, others):
    broken = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 20)) if broken else 0):
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
    return bytes(broken)


def _byte(content, kind, rng, others):
    start, _ = _slice(content, rng)
    return content[:start] + bytes([rng.choice((0, 9, 10, 13, 34, 44, 127, 128, 255))]) + content[start + 1 :]


def _cut(content, kind, rng, others):
    start, _ = _slice(content, rng)
    return content[:start] if rng.random() < 0.7 else content[start:]


def _drop(content, kind, rng, others):
    start, stop = _slice(content, rng)
    return content[:start] + content[stop:]


def _double(content, kind, rng, others):
    start, stop = _slice(content, rng)
    return content[:stop] + content[start:stop] * rng.choice((1, 1, 2, 50)) + content[stop:]


def _noise(content, kind, rng, others):
    start, stop = _slice(content, rng)
    return content[:start] + rng.randbytes(stop - start) + content[stop:]


def _swap(content, kind, rng, others):
    a, b, c = sorted(rng.randrange(len(content) + 1) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def _integer(content, kind, rng, others):
    """Overwrite what may be a length; the ends of a file, where headers and footers lie, are likelier."""
    width = rng.choice((1, 2, 4, 8))
    places = (rng.randrange(len(content) + 1), rng.randrange(17), len(content) - rng.randrange(17))
    start = max(0, min(len(content), rng.choice(places)))
    value = (rng.choice(EXTREME) % 2 ** (8 * width)).to_bytes(width, rng.choice(("little", "big")))
    return content[:start] + value + content[start + width :]


def _token(content, kind, rng, others):
    start, _ = _slice(content, rng)
    return content[:start] + rng.choice(TOKENS[kind]) + content[start:]


def _replace(content, kind, rng, others):
    """Put a token in the place of what lies between two separators."""
    separators = {"csv": b",\n", "json": b" ,:\n[]{}", "toml": b"=\n ", "npy": b":,(){} ", "parquet": b"\x00\x15",
                  "db": b'":,{}'}[kind]  # fmt: skip
    places = [place for place, byte in enumerate(content[:20_000]) if byte in separators]
    if len(places) < 2:
        return content
    at = rng.randrange(len(places) - 1)
    return content[: places[at] + 1] + rng.choice(TOKENS[kind]) + content[places[at + 1] :]


def _splice(content, kind, rng, others):
    other = rng.choice(others)
    return content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other) + 1) :]


def _mutate_json(content, rng):
    """Change, drop, add or double one entry of a valid document."""
    root = json.loads(content)
    holder, node = None, root
    while isinstance(node, dict | list) and node and (holder is None or rng.random() < 0.85):
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        holder, node = (node, key), node[key]
    (parent, key), way = holder, rng.randrange(5)
    if way == 0:
        del parent[key]
    elif way == 1 and isinstance(parent, dict):
        parent["added"] = rng.choice(JSON_VALUES)
    elif way == 1:
        parent.append(parent[key])
    elif way == 2 and isinstance(node, int | float):
        parent[key] = node * rng.choice((-1, 0, 0.5, 1.0001, 1e10, 1e-300))
    else:
        parent[key] = rng.choice(JSON_VALUES)
    return json.dumps(root).encode()
