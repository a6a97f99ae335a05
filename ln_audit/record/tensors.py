"""torch tensors as the bytes that a recording holds, and as NumPy arrays for digests; bfloat16 stays bfloat16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.errors import RecordingError

if TYPE_CHECKING:
    import numpy as np

FLOATS = {"torch.float64": "F64", "torch.float32": "F32", "torch.bfloat16": "BF16", "torch.float16": "F16"}

_NUMPY = {name.removeprefix("torch."): spelt for name, spelt in FLOATS.items()} | {"int64": "I64"}


class Block(NamedTuple):
    """One tensor's numbers in C order, little-endian, with safetensors' name of the dtype."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview


def name_of(dtype: Any) -> str:
    """`float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")


def held(tensor: Any) -> bool:
    """Whether a tensor's numbers are here, and not on the meta device, as those of an offloaded module are."""
    return bool(tensor.device.type != "meta")


def local(tensor: Any) -> Any:
    """What this process holds of a tensor that may be spread over several (DTensor): all of it, or its own share."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def copied(tensor: Any) -> Any:
    """The numbers as they are now, in memory of the processor, whatever becomes of the tensor."""
    return local(tensor).detach().to("cpu", copy=True)


def block(tensor: Any, subject: str) -> Block:
    """A tensor's bytes. Raises `RecordingError` for what is no float that a recording may hold."""
    dtype = FLOATS.get(str(tensor.dtype))
    if dtype is None:
        raise RecordingError(
            f"{subject}: dtype: expected bfloat16, float16, float32 or float64, found {name_of(tensor.dtype)}"
        )
    here = local(tensor)
    return Block(dtype, tuple(here.shape), _bytes(here))


def whole_numbers(tensor: Any) -> Block:
    """Token ids as int64."""
    import torch

    return Block("I64", tuple(tensor.shape), _bytes(tensor.to(torch.int64)))


def array(tensor: Any) -> np.ndarray[Any, Any]:
    """A floating tensor as an array of its own dtype, bfloat16 through ml_dtypes."""
    import torch

    plain = tensor.detach().cpu().contiguous()
    if plain.dtype == torch.bfloat16:
        import ml_dtypes

        return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16)  # type: ignore[no-any-return]
    return plain.numpy()  # type: ignore[no-any-return]


def of_array(values: np.ndarray[Any, Any]) -> Block:
    """The same for an array of floats or of int64."""
    import numpy as np

    plain = np.ascontiguousarray(values)
    return Block(_NUMPY[plain.dtype.name], plain.shape, plain.reshape(-1).view(np.uint8).data)


def _bytes(tensor: Any) -> memoryview:
    """Little-endian as on every machine that torch runs on today; the array says if it is not."""
    import torch

    plain = tensor.detach().cpu().contiguous()
    flat = plain.reshape(-1).view(torch.uint8).numpy()
    return memoryview(flat)
