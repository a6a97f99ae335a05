"""The names that make tensors, and what a call of each gives: what `torch.load(weights_only=True)` knows of them.

Source: torch 2.13, `_weights_only_unpickler.py` (the allowed globals) and `_utils.py` (the rebuild functions). What it
allows besides, sparse, nested and quantized tensors, DTensor, stays refused by name here: its elements are not ours to guess.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.pickle_stack import Group, Known, Pairs, described
from ln_audit.formats.torch_views import Kind, Storage, View, size, sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.formats.pickle_stack import Place

_FIXED = {
    "Double": ("F64", 8), "Float": ("F32", 4), "Half": ("F16", 2), "BFloat16": ("BF16", 2), "Long": ("I64", 8), "Int": ("I32", 4),
    "Short": ("I16", 2), "Char": ("I8", 1), "Byte": ("U8", 1), "Bool": ("BOOL", 1), "ComplexDouble": ("C128", 16),
    "ComplexFloat": ("C64", 8),
}  # fmt: skip
_DTYPES = {
    "float64": ("F64", 8), "float32": ("F32", 4), "float16": ("F16", 2), "bfloat16": ("BF16", 2), "int64": ("I64", 8),
    "int32": ("I32", 4), "int16": ("I16", 2), "int8": ("I8", 1), "uint64": ("U64", 8), "uint32": ("U32", 4), "uint16": ("U16", 2),
    "uint8": ("U8", 1), "bool": ("BOOL", 1), "complex32": ("C32", 4), "complex64": ("C64", 8), "complex128": ("C128", 16),
    "float8_e5m2": ("F8_E5M2", 1), "float8_e4m3fn": ("F8_E4M3", 1), "float8_e8m0fnu": ("F8_E8M0", 1),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", 1), "float8_e4m3fnuz": ("F8_E4M3FNUZ", 1),
    "float4_e2m1fn_x2": ("float4_e2m1fn_x2", 1),  # two values to the byte, counted by PyTorch as one element
}  # fmt: skip


@cache
def names() -> Mapping[str, Known]:
    """The table, by full name."""
    makers = {
        "collections.OrderedDict": _pairs,
        "collections.Counter": _pairs,
        "builtins.set": _group,
        "builtins.complex": _left_aside,
        "builtins.bytearray": _octets,
        "_codecs.encode": _octets,
        "torch.Size": _torch_size,
        "torch.device": _left_aside,
        "torch.serialization._get_layout": _left_aside,
        "torch._utils._rebuild_tensor": _tensor,
        "torch._utils._rebuild_tensor_v2": _tensor_v2,
        "torch._utils._rebuild_tensor_v3": _tensor_v3,
        "torch._utils._rebuild_parameter": _parameter,
        "torch._utils._rebuild_parameter_with_state": _parameter,
        "torch._tensor._rebuild_from_type_v2": _from_type,
    }
    table: dict[str, Known] = {name: Known(name, make) for name, make in makers.items()}
    for name in ("torch.Tensor", "torch.nn.parameter.Parameter"):
        table[name] = Known(name)
    for module in ("torch", "torch.cuda"):
        for name, (dtype, width) in _FIXED.items():
            table[f"{module}.{name}Storage"] = Kind(f"{module}.{name}Storage", None, dtype, width)
    table["torch.storage.UntypedStorage"] = Kind("torch.storage.UntypedStorage")
    for name, (dtype, width) in _DTYPES.items():
        table[f"torch.{name}"] = Kind(f"torch.{name}", None, dtype, width)
    return MappingProxyType(table)


def _tensor(arguments: tuple[object, ...], where: Place) -> View:
    """`_rebuild_tensor(storage, storage_offset, size, stride)`."""
    storage = _storage(arguments, where)
    return _view(storage, storage.dtype, storage.width, arguments, where)


def _tensor_v2(arguments: tuple[object, ...], where: Place) -> View:
    """`_rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None)`."""
    _plain(arguments[6:], where)
    return _tensor(arguments, where)


def _tensor_v3(arguments: tuple[object, ...], where: Place) -> View:
    """`_rebuild_tensor_v3(storage, …, backward_hooks, dtype, metadata=None)`: dtypes that have no storage of their own."""
    storage, kind = _storage(arguments, where), arguments[6] if len(arguments) > 6 else None
    if not isinstance(kind, Kind):
        raise FormatError(f"{where}: expected the tensor's dtype, found {described(kind)}")
    _plain(arguments[7:], where)
    return _view(storage, kind.dtype, kind.width, arguments, where)


def _storage(arguments: tuple[object, ...], where: Place) -> Storage:
    if len(arguments) < 4 or not isinstance(arguments[0], Storage):
        found = ", ".join(described(argument) for argument in arguments[:4])
        raise FormatError(f"{where}: expected storage, offset, size and stride of a tensor, found ({found})")
    return arguments[0]


def _view(storage: Storage, dtype: str, width: int, arguments: tuple[object, ...], where: Place) -> View:
    offset = size(arguments[1], where, "offset")
    shape, stride = sizes(arguments[2], where, "size"), sizes(arguments[3], where, "stride")
    if len(shape) != len(stride):
        raise FormatError(f"{where}: expected a stride for each of {len(shape)} sizes, found {len(stride)}")
    return View(storage, dtype, width, offset, shape, stride).check(where)


def _plain(metadata: tuple[object, ...], where: Place) -> None:
    """The metadata, where there is any, may say that the elements are to be conjugated or negated when read."""
    for said in metadata[:1]:
        if said is not None and not isinstance(said, Pairs):
            raise FormatError(f"{where}: expected metadata of the tensor, found {described(said)}")
        marks = [described(key) for key, value in said or () if value is not False]
        if marks:
            raise UnsupportedError(
                f"{where}: expected elements as they are stored, found a view marked {', '.join(marks[:4])}",
                hint="save `tensor.resolve_conj().resolve_neg()`",
            )


def _parameter(arguments: tuple[object, ...], where: Place) -> View:
    """`_rebuild_parameter(data, requires_grad, backward_hooks[, state])`: its data."""
    data = arguments[0] if arguments else None
    if not isinstance(data, View):
        raise FormatError(f"{where}: expected the parameter's tensor, found {described(data)}")
    return data


def _from_type(arguments: tuple[object, ...], where: Place) -> object:
    """`_rebuild_from_type_v2(func, new_type, args, state)`: a tensor with attributes of its own, which are left aside."""
    if len(arguments) != 4 or not isinstance(arguments[0], Known) or not isinstance(arguments[2], tuple):
        raise FormatError(
            f"{where}: expected function, type, arguments and state of a tensor, found {len(arguments)} values"
        )
    if arguments[0].make not in {_tensor, _tensor_v2, _tensor_v3, _parameter} or arguments[0].make is None:
        raise FormatError(f"{where}: {arguments[0].name}: expected a function that makes a tensor, found another")
    return arguments[0].make(arguments[2], where)


def _pairs(arguments: tuple[object, ...], where: Place) -> Pairs:
    """`OrderedDict()`, or of a list of pairs as protocol 0 and Python 2 write it; `Counter(mapping)`."""
    given = arguments[0] if arguments else []
    if isinstance(given, Pairs):
        return Pairs(given)
    if not isinstance(given, list):
        raise FormatError(f"{where}: expected a list of pairs, found {described(given)}")
    pairs = Pairs()
    for pair in given:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise FormatError(f"{where}: expected pairs of a key and a value, found {described(pair)}")
        pairs.append((pair[0], pair[1]))
    return pairs


def _group(arguments: tuple[object, ...], where: Place) -> Group:
    """`set(list)`, as protocol 2 writes it."""
    given = arguments[0] if arguments else []
    if not isinstance(given, list):
        raise FormatError(f"{where}: expected a list of members, found {described(given)}")
    return Group(given)


def _octets(arguments: tuple[object, ...], where: Place) -> bytes:
    """`_codecs.encode(text, "latin1")` and `bytearray(bytes)`, as protocol 2 writes byte strings; no other codec."""
    given, codec = (*arguments, None, None)[:2]
    if isinstance(given, bytes) and codec is None:
        return given
    if not isinstance(given, str) or not isinstance(codec, str) or codec not in {"latin1", "latin-1"}:
        raise FormatError(f"{where}: expected text in latin1, found {described(given)} in {described(codec)}")
    try:
        return given.encode("latin-1")
    except UnicodeEncodeError as cause:
        raise FormatError(f"{where}: expected text in latin1, found {given[cause.start]!a} in it") from cause


def _torch_size(arguments: tuple[object, ...], where: Place) -> tuple[int, ...]:
    return sizes(arguments[0] if arguments else (), where, "torch.Size")


def _left_aside(_arguments: tuple[object, ...], _where: Place) -> None:
    """A device, a layout, a complex number: nothing that a tensor is made of."""
