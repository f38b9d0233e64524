"""Every engine has the methods that algorithms call, with the same parameters."""

import inspect

import pytest

from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.local_rows import LocalSession
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.dask.dask_rows import DaskRows
from dpsparse.engine.dask.session import DaskSession
from dpsparse.engine.disk.disk_rows import DiskRows, DiskSession
from dpsparse.engine.protocols import Rows, Session


def cuda():
    pytest.importorskip("torch", reason="the GPU engine needs torch: pip install 'dpsparse[cuda]'")
    pytest.importorskip("triton", reason="the GPU engine needs triton: pip install 'dpsparse[cuda]'")
    from dpsparse.engine.cuda import cuda_rows

    return cuda_rows


def parameters(cls, name):
    """Names, kinds and defaults; annotations may be missing."""
    return [(each.name, each.kind, each.default) for each in inspect.signature(getattr(cls, name)).parameters.values()]


@pytest.mark.parametrize("cls", [DenseRows, SparseRows, DiskRows, DaskRows, lambda: cuda().CudaRows])
def test_rows(cls):
    cls = cls if inspect.isclass(cls) else cls()
    for name in ("part", "differences", "evaluate", "require_finite", "session"):
        assert parameters(cls, name) == parameters(Rows, name)


@pytest.mark.parametrize("cls", [LocalSession, DiskSession, DaskSession, lambda: cuda().CudaSession])
def test_sessions(cls):
    cls = cls if inspect.isclass(cls) else cls()
    for name in ("add", "rescale", "evaluate", "scores", "close"):
        assert parameters(cls, name) == parameters(Session, name)
