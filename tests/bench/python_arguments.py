"""The arguments of a sample file as Python's torch takes them: the same shapes, dtypes, layouts, storages and fills.

Random numbers are of the same kind and not the same: a fill says how a tensor looks, not what its bits are. What opcheck-c alone writes
into its own samples (a special number laid over a fill) is refused, never passed over."""

import json
import math
import struct
import zlib

import torch

GAP = 0xA5  # what no element of a strided tensor covers
FORMATS = {"contiguous": "contiguous_format", "preserve": "preserve_format"}
TENSOR_FIELDS = {"shape", "dtype", "strides", "storage_offset", "storage_size", "storage", "identity", "fill", "device", "requires_grad",
                 "conj", "neg", "stream"}


class Unusable(Exception):
    """This sample cannot be given to Python's opcheck; the text says why."""


def real_number(value):
    if isinstance(value, dict) and "bits" in value:
        return struct.unpack("<d", int(value["bits"], 16).to_bytes(8, "little"))[0]
    return float(value) if isinstance(value, str) else value  # "nan", "inf", "-inf"


def number(value):
    if isinstance(value, dict) and "complex" in value:
        return complex(*map(real_number, value["complex"]))
    return real_number(value)


def needed(shape, strides, offset):
    """Elements that a storage must have."""
    return 0 if 0 in shape else offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))


def contiguous(shape):
    strides = []
    for size in reversed(shape):
        strides.insert(0, strides[0] * max(last, 1) if strides else 1)
        last = size
    return strides


class Arguments:
    """Of one sample: `args` and `kwargs` of a call. Tensors with one storage id share it, those with one identity are one tensor. With grad, floating
    and complex tensors require grad, unless the sample says otherwise; `tracked` counts those that do."""

    def __init__(self, sample, schema, seed=0, grad=False):
        self.seed, self.grad, self.tracked = seed, grad, 0
        self.storages, self.sizes, self.identities = {}, {}, {}
        given, named = sample.get("args", []), sample.get("kwargs", {})
        self.measure([given, named])
        types = {argument.name: argument.real_type for argument in schema.arguments}
        names = list(types)
        self.args = tuple(self.value(value, types[names[i]], names[i]) for i, value in enumerate(given))
        self.kwargs = {name: self.value(value, types[name], name) for name, value in named.items()}

    def measure(self, value):
        """How large the storages with a name must be: each as its largest tensor says."""
        if isinstance(value, list):
            for item in value:
                self.measure(item)
        elif isinstance(value, dict) and "tensor" in value and "shape" in value["tensor"]:
            spec = value["tensor"]
            if "storage" in spec:
                self.sizes[spec["storage"]] = max(self.sizes.get(spec["storage"], 0), self.layout(spec)[-1])
        elif isinstance(value, dict):
            self.measure(list(value.values()))

    # ---- values by the schema's type ----

    def value(self, value, type_, path):
        kind = type_.kind() if type_ is not None else ""
        if kind == "OptionalType":
            return None if value is None else self.value(value, type_.getElementType(), path)
        if isinstance(value, list):
            element = type_.getElementType() if kind == "ListType" else None
            return [self.value(item, element, f"{path}[{i}]") for i, item in enumerate(value)]
        if isinstance(value, str):
            return self.word(value, kind)
        if not isinstance(value, dict):
            return value
        if "tensor" in value:
            return self.tensor(value["tensor"], path)
        if "dtype" in value or "device" in value:
            return getattr(torch, value["dtype"]) if "dtype" in value else torch.device(value["device"])
        if "generator" in value:
            return torch.Generator().manual_seed(value["generator"])
        if "object" in value:
            namespace, name = value["object"]["class"].split(".")
            init = value["object"].get("init", [])
            return getattr(getattr(torch.classes, namespace), name)(*(self.value(item, None, path) for item in init))
        return number(value)

    @staticmethod
    def word(text, kind):
        if kind in ("ScalarTypeType", "LayoutType", "MemoryFormatType"):
            return getattr(torch, FORMATS.get(text, text) if kind == "MemoryFormatType" else text)
        if kind in ("FloatType", "NumberType", "ComplexType"):
            return real_number(text)
        return torch.device(text) if kind == "DeviceObjType" else text

    # ---- tensors ----

    @staticmethod
    def layout(spec):
        """dtype, strides, offset, and the bytes of the storage."""
        dtype, shape = getattr(torch, spec.get("dtype", "float32")), spec["shape"]
        strides, offset = spec.get("strides", contiguous(shape)), spec.get("storage_offset", 0)
        elements = spec.get("storage_size", needed(shape, strides, offset))
        return dtype, strides, offset, elements * dtype.itemsize

    def tensor(self, spec, path):
        unknown = set(spec) - TENSOR_FIELDS
        if unknown or spec.get("device", "cpu") != "cpu":
            raise Unusable(f"{path}: {', '.join(unknown) or spec['device']}")
        if spec.get("identity") in self.identities:
            return self.identities[spec["identity"]]
        dtype, strides, offset, size = self.layout(spec)
        storage = self.storages.get(spec.get("storage"))
        if storage is None:
            storage = torch.full((self.sizes.get(spec.get("storage"), size),), GAP, dtype=torch.uint8)
        if "storage" in spec:
            self.storages[spec["storage"]] = storage
        elements = fill(spec, dtype, torch.Generator().manual_seed(zlib.crc32(path.encode()) + self.seed))
        elements = elements.conj().resolve_conj() if spec.get("conj") else elements
        lay(storage, -elements if spec.get("neg") else elements, strides, offset)
        tensor = torch.empty(0, dtype=dtype).set_(storage.untyped_storage(), offset, spec["shape"], strides)
        tensor = tensor.conj() if spec.get("conj") else tensor
        tensor = torch._neg_view(tensor) if spec.get("neg") else tensor
        tensor.requires_grad_(spec.get("requires_grad", self.grad and (dtype.is_floating_point or dtype.is_complex)))
        self.tracked += tensor.requires_grad
        if "identity" in spec:
            self.identities[spec["identity"]] = tensor
        return tensor


def lay(storage, elements, strides, offset):
    """Writes the elements, given in logical order, as bytes: any dtype, any strides, also those by which elements share a place."""
    width = elements.element_size()
    places = torch.tensor(offset)
    for dim, stride in enumerate(strides):
        places = places.unsqueeze(-1) + torch.arange(elements.shape[dim]) * stride
    rows = storage[: storage.numel() // width * width].view(-1, width)
    rows[places.reshape(-1)] = elements.reshape(-1).contiguous().view(torch.uint8).view(-1, width)


# ---- fills ----


def fill(spec, dtype, generator):
    """The elements in logical order, contiguous."""
    shape, kind = spec["shape"], spec.get("fill", "normal")
    if isinstance(kind, str):
        return WORDS[kind](shape, dtype, generator)
    if "full" in kind:
        return listed([kind["full"]] * math.prod(shape), shape, dtype)
    if "range" in kind:
        return torch.randint(*kind["range"], shape, generator=generator).to(dtype)
    if "values" in kind:
        return listed(kind["values"], shape, dtype)
    if "file" in kind:
        import numpy  # no other fill needs it

        return torch.from_numpy(numpy.load(kind["file"])).to(dtype).contiguous()
    raise Unusable(f"no such fill: {json.dumps(kind)}")


def normal(shape, dtype, generator):
    if dtype.is_complex:
        return torch.complex(normal(shape, torch.float64, generator), normal(shape, torch.float64, generator)).to(dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    low, high = (0, 2) if dtype == torch.bool else (-4, 5) if dtype.is_signed else (0, 9)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def uniform(shape, dtype, generator):
    if dtype.is_complex:
        return torch.complex(*(uniform(shape, torch.float64, generator) for _ in range(2))).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    steps = 2 / torch.finfo(dtype).eps  # cut to the dtype's digits: rounded to nearest it could be 1
    return (torch.floor(torch.rand(shape, generator=generator, dtype=torch.float64) * steps) / steps).to(dtype)


def listed(values, shape, dtype):
    """Numbers, or {"bits": …}: the element's own bits."""
    bits = {i: v["bits"] for i, v in enumerate(values) if isinstance(v, dict) and "bits" in v}
    plain = [0 if i in bits else number(v) for i, v in enumerate(values)]
    wide = torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype
    elements = torch.tensor(plain, dtype=wide).to(dtype)
    for i, text in bits.items():
        elements.view(torch.uint8).view(len(plain), -1)[i] = torch.tensor(list(int(text, 16).to_bytes(dtype.itemsize, "little")), dtype=torch.uint8)
    return elements.reshape(shape)


WORDS = {
    "normal": normal,
    "uniform": uniform,
    "arange": lambda shape, dtype, generator: torch.arange(math.prod(shape)).to(dtype).reshape(shape),
    "zeros": lambda shape, dtype, generator: torch.zeros(shape, dtype=dtype),
    "ones": lambda shape, dtype, generator: torch.ones(shape, dtype=torch.float64).to(dtype),
}


def made_up(schema):
    """A sample for an operator that has none, neither in a file nor found by a search: small tensors and small numbers."""
    simple = {"TensorType": {"tensor": {"shape": [2, 3]}}, "IntType": 1, "SymIntType": 1, "FloatType": 1.5, "NumberType": 1.5, "BoolType": True}
    args, kwargs = [], {}
    for argument in schema.arguments:
        if argument.has_default_value():
            continue
        kind = argument.real_type.kind()
        if kind not in simple and kind != "OptionalType":
            raise Unusable(f"no sample, and none can be made up for {argument.name}")
        if argument.kwarg_only:
            kwargs[argument.name] = simple.get(kind)
        else:
            args.append(simple.get(kind))
    return {"args": args, "kwargs": kwargs}
