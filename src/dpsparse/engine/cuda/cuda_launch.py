"""Launching Triton kernels, and launching them again."""

from typing import Any

import torch

# The compiled kernels, each for all arguments that Triton would compile alike.
_COMPILED: dict[tuple[Any, ...], Any] = {}


def launch(kernel: Any, programs: int, *arguments: Any, num_warps: int = 4, **constants: Any) -> None:
    """Run a kernel on the card of its first argument, without fusing multiplications with additions.

    Triton's own launch takes longer than the small kernels here: it inspects all arguments and constants to see what to
    compile for. So it inspects them once, and a compiled kernel is called directly where arguments are of the same
    kinds.
    """
    key = (kernel.fn, arguments[0].device, num_warps, *map(_kind, arguments), *constants.values())
    compiled = _COMPILED.get(key)
    with torch.cuda.device_of(arguments[0]):
        if compiled is None:
            compiled = kernel[(programs,)](*arguments, **constants, num_warps=num_warps, enable_fp_fusion=False)
            # There is none under Triton's interpreter; other makers' cards are compiled for more than these kinds.
            if torch.version.hip is None:
                _COMPILED[key] = compiled
        else:
            compiled[programs, 1, 1](*arguments, *constants.values())


def _kind(argument: Any) -> tuple[Any, ...]:
    """The properties Triton compiles for: types and alignments of tensors, integers that are 1 or multiples of 16."""
    if isinstance(argument, torch.Tensor):
        return argument.dtype, argument.data_ptr() % 16 == 0
    return argument == 1, argument % 16 == 0, argument < 2**31
