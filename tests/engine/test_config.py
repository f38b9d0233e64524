import threading

import pytest

from dpsparse.engine import config
from dpsparse.engine.config import Config, configured


def test_sizes_hold_in_the_block_in_every_thread_and_are_put_back():
    seen = []
    with configured(block_bytes=7):
        with configured(least_records=3):
            thread = threading.Thread(target=lambda: seen.append(config.current))
            thread.start()
            thread.join(60)
        assert config.current == Config(block_bytes=7)
    assert seen == [Config(block_bytes=7, least_records=3)]
    assert config.current == Config()


def test_an_error_puts_them_back_and_unknown_sizes_are_refused():
    with pytest.raises(KeyError), configured(block_bytes=7):
        raise KeyError
    with pytest.raises(TypeError), configured(block_size=7):
        pass
    assert config.current == Config()
