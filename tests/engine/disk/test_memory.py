import os

from dpsparse.engine.disk import memory


def test_memory_is_that_of_the_machine_or_of_its_group(tmp_path):
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory.available_bytes() <= physical
    for name, text in (
        ("memory.max", "1000000\n"),
        ("memory.current", "700000\n"),
        ("memory.stat", "anon 1\ninactive_file 50000\nactive_file 7\n"),
    ):
        (tmp_path / name).write_text(text)
    assert memory.available_bytes(tmp_path) == 350_007
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available_bytes(tmp_path) > 350_007
