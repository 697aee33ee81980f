"""One operator call on FakeTensors with symbolic sizes, forward and backward, as torch.compile traces it (check fake).

watch() remembers the next call of an operator with its Python arguments; trace() repeats it on FakeTensors and says what differs."""

import contextlib
import logging
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

HELD = []  # the Watch of the call that is to be traced
FINDINGS_MAX, TEXT_MAX = 8, 600  # the worker's buffer is 8 KiB


class Call:
    """One operator call: its arguments as they were before, which the operator may change, and what it returned."""

    def __init__(self, function, args, kwargs):
        self.function, self.args, self.kwargs, self.result = function, args, kwargs, None
        self.sizes = [map_tensors(value, lambda t: t.detach()) for value in (args, kwargs)]  # detach: sizes and strides of its own
        self.values = [map_tensors(value, lambda t: t.detach().clone()) for value in (args, kwargs)]


class Watch(TorchDispatchMode):
    """Remembers the first call of one operator, and lets all calls through."""

    def __init__(self, name):
        super().__init__()
        self.name, self.call = name, None

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.call is not None or function.name() != self.name:
            return function(*args, **kwargs)
        self.call = Call(function, args, kwargs)
        self.call.result = function(*args, **kwargs)
        return self.call.result


def leaves(value):
    """The tensors and numbers of a result, in order."""
    if not isinstance(value, (list, tuple)):
        yield value
        return
    for item in value:
        yield from leaves(item)


def map_tensors(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(item, change) for item in value)
    if isinstance(value, dict):
        return {name: map_tensors(item, change) for name, item in value.items()}
    return value


def hint_of(environment, symbol):
    """The number that a symbol stands for in this call; None for one that follows values."""
    numbers = getattr(environment, "backed_var_to_val", None)
    number = (numbers if numbers is not None else environment.var_to_val).get(symbol)
    return None if number is None else int(number)


class Sizes:
    """Numbers behind the sizes of the fake result. A symbol that follows values takes the real size where it stands alone; every other
    size must agree with that."""

    def __init__(self, lowest):
        self.real, self.lowest = {}, lowest

    def number(self, size):
        """None: it follows a value that no size shows."""
        if not isinstance(size, torch.SymInt):
            return int(size)
        expression, environment = size.node.expr, size.node.shape_env
        known = {symbol: self.real.get(symbol, hint_of(environment, symbol)) for symbol in expression.free_symbols}
        return None if None in known.values() else int(expression.xreplace(known))

    def take(self, size, real):
        if self.number(size) is None and size.node.expr.is_Symbol:
            self.real[size.node.expr] = real

    def promise_broken(self, size, real):
        """The bounds of a dynamic size, where the real size is outside them; ShapeEnv takes 0 and 1 for 2."""
        if not isinstance(size, torch.SymInt) or size.node.expr not in self.real:
            return None
        least = self.lowest.get(size.node.expr, 0)
        if real < least:
            return f"at least {least}"
        bounds = size.node.shape_env.var_to_range.get(size.node.expr)
        if bounds is None or bounds.lower <= real <= bounds.upper or (real < 2 and bounds.lower <= 2):
            return None
        return f"from {bounds.lower} to {bounds.upper}"


def tensor_differences(where, fake, real, sizes):
    if fake.dim() != real.dim():
        yield f"{where} has {fake.dim()} dimensions from the fake kernel and {real.dim()} from the real kernel"
        return
    for d, (size, number) in enumerate(zip(fake.shape, real.shape)):
        bounds, promised = sizes.promise_broken(size, number), sizes.number(size)
        if bounds is not None:
            yield f"size {d} of {where} is {number}, and the fake kernel says that its dynamic size is {bounds}"
        elif promised is not None and promised != number:
            yield f"size {d} of {where} is {promised} from the fake kernel and {number} from the real kernel"
    for what in ("dtype", "device", "layout"):
        if getattr(fake, what) != getattr(real, what):
            yield f"the {what} of {where} is {getattr(fake, what)} from the fake kernel and {getattr(real, what)} from the real kernel"


@contextlib.contextmanager
def noted_lowest():
    """{symbol: what the fake kernel gave new_dynamic_size for min}. The range of a ShapeEnv does not tell 0, 1 and 2 apart."""
    from torch._library.fake_impl import FakeImplCtx

    lowest, original = {}, getattr(FakeImplCtx, "new_dynamic_size")

    def new_dynamic_size(self, **bounds):
        size = original(self, **bounds)
        if sys._getframe(1).f_code.co_name != "create_unbacked_symint":  # its min is 2 if the fake kernel gives none
            lowest[size.node.expr] = bounds.get("min", 0)
        return size

    FakeImplCtx.new_dynamic_size = new_dynamic_size
    try:
        yield lowest
    finally:
        FakeImplCtx.new_dynamic_size = original


def differences(fake, real, lowest=None):
    fakes, reals = list(leaves(fake)), list(leaves(real))
    if len(fakes) != len(reals):
        yield f"the fake kernel returns {len(fakes)} values and the real kernel {len(reals)}"
        return
    sizes, pairs = Sizes(lowest or {}), []
    for i, (f, r) in enumerate(zip(fakes, reals)):
        if isinstance(f, torch.Tensor) != isinstance(r, torch.Tensor):
            yield f"return[{i}] is a tensor from only one of the two kernels"
        elif isinstance(r, torch.Tensor):
            pairs.append((f"return[{i}]", f, r))
    for _, f, r in pairs:
        for size, number in zip(f.shape, r.shape):
            sizes.take(size, number)
    for where, f, r in pairs:
        yield from tensor_differences(where, f, r, sizes)


class Fakes:
    """Makes FakeTensors whose sizes of 2 and more are symbols."""

    def __init__(self, scalars):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        self.mode, self.count = FakeTensorMode(shape_env=ShapeEnv(allow_scalar_outputs=scalars)), 0
        self.mode.cache_enabled = False  # its entries are for later calls in this mode; making them takes a fifth of a trace

    @contextlib.contextmanager
    def active(self):
        """As torch.compile has it: what the fake kernel calls has Python's own code for symbols, also where C++ calls the kernel."""
        from torch._dispatch.python import enable_python_dispatcher

        with self.mode, enable_python_dispatcher():
            yield

    def of(self, tensor):
        from torch._dynamo.source import ConstantSource
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

        self.count += 1
        rank = tensor.dim()
        context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DUCK] * rank, constraint_sizes=[None] * rank)
        return self.mode.from_tensor(tensor.detach(), symbolic_context=context, source=ConstantSource(f"tensor{self.count}"))


def call_with_gradients(function, given, make, mode):
    """On tensors of make(tensor), in a mode: what it returns, and the leaves that a gradient is asked for."""
    args, kwargs = given
    asked = []

    def leaf(tensor, written):
        made = make(tensor)
        if not written and (made.is_floating_point() or made.is_complex()):
            asked.append(made.requires_grad_())
        return made

    schema = function._schema.arguments
    written = {argument.name: argument.alias_info is not None and argument.alias_info.is_write for argument in schema}
    placed = [map_tensors(value, lambda t, w=written[argument.name]: leaf(t, w)) for argument, value in zip(schema, args)]
    named = {name: map_tensors(value, lambda t, w=written[name]: leaf(t, w)) for name, value in kwargs.items()}
    with mode, torch.enable_grad():
        return function(*placed, **named), asked


def derive(result, asked, mode):
    """Backward of such a call. False: there is no gradient."""
    outputs = [value for value in leaves(result) if isinstance(value, torch.Tensor) and value.requires_grad]
    if not asked or not outputs:
        return False
    with mode, torch.enable_grad():
        torch.autograd.grad(outputs, asked, [torch.ones_like(output) for output in outputs], allow_unused=True)
    return True


def real_backward_holds(call):
    """Otherwise there is nothing to trace: no derivative, or one that check autograd reports."""
    try:
        result, asked = call_with_gradients(call.function, call.values, lambda tensor: tensor.detach().clone(), contextlib.nullcontext())
        return derive(result, asked, contextlib.nullcontext())
    except BaseException:  # an operator may raise SystemExit
        return False


def is_excused(error):
    """No fake kernel, which checks registration and meta report, or tensors that cannot be faked."""
    return type(error).__name__ in ("UnsupportedOperatorException", "UnsupportedFakeTensorException") or "no fake impl registered" in str(error)


def shows_on_meta(call, rule):
    """Check meta reports what sizes as numbers show, too. Meta tensors say nothing about a device, or a size that follows values; without
    a tensor, they say nothing about a refusal."""
    if not takes_tensors(call):
        return rule == "fake.result"
    args, kwargs = map_tensors(call.sizes, lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta"))
    try:
        given = call.function(*args, **kwargs)
    except BaseException as error:
        return "as opposed to FakeTensors" not in str(error)
    return any(not text.startswith("the device") for text in differences(given, call.result))


def takes_tensors(call):
    return any(isinstance(value, torch.Tensor) for value in leaves([*call.args, *call.kwargs.values()]))


def forward(call):
    """(a skip's reason, or None; findings)"""
    fakes = Fakes(scalars=True)
    try:
        args, kwargs = map_tensors(call.sizes, fakes.of)
    except Exception as error:
        return f"the arguments cannot be made as FakeTensors: {first_line(error)}", []
    try:
        with fakes.active(), noted_lowest() as lowest:
            fake = call.function(*args, **kwargs)
        found = [("fake.result", text) for text in differences(fake, call.result, lowest)]
    except BaseException as error:
        if is_excused(error):
            return f"it has no fake kernel: {first_line(error)}", []
        found = [("fake.rejects", error)]
    if found and shows_on_meta(call, found[0][0]):
        return "Meta tensors, whose sizes are numbers, show the same: see check meta", []
    return None, found


def whole(call):
    """Forward and backward in one trace: whether there is a gradient. None: something is wrong, or needs scalars that follow values; then
    forward() and backward() say what."""
    fakes = Fakes(scalars=False)
    try:
        with noted_lowest() as lowest:
            fake, asked = call_with_gradients(call.function, call.sizes, fakes.of, fakes.active())
        if any(differences(fake, call.result, lowest)):
            return None
        if not asked or not real_backward_holds(call):
            return False
        derive(fake, asked, fakes.active())
        return True
    except BaseException:
        return None


def warm_up(call):
    """The first trace takes three times as long as a later one, and of each number of dimensions the first one takes half as long again.
    This is all of it but the backward, which would start threads."""
    for rank in range(1, 5):
        fakes = Fakes(scalars=False)
        result, _ = call_with_gradients(call.function, ([torch.zeros([2, 3, 4, 5][:rank])], {}), fakes.of, fakes.active())
        with fakes.active():
            torch.ones_like(result)
    forward(call)


def backward(call):
    if not real_backward_holds(call):
        return False, []
    fakes = Fakes(scalars=False)
    try:
        derive(*call_with_gradients(call.function, call.sizes, fakes.of, fakes.active()), fakes.active())
    except BaseException as error:
        return True, [("fake.backward", error)]
    return True, []


def first_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip() if lines else type(error).__name__


def watch(name):
    HELD.append(Watch(name))
    HELD[-1].__enter__()


def leave():
    """Ends the watch, and gives what it saw."""
    if not HELD:
        return None
    watched = HELD.pop()
    watched.__exit__(None, None, None)
    return watched.call


def trace(text_of):
    """What to report of the call that watch() remembered: {"skip": …}, or {"fail": [[rule, message], …]}, or {"pass": …}."""
    call = leave()
    if call is None:
        return {"skip": "it is composite: torch.compile traces the operators that it calls"}
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # FakeTensor logs what a fake kernel raises
    try:
        skip, found, derived = None, [], whole(call)
        if derived is None:
            skip, found = forward(call)
        if derived is None and skip is None and not found:
            derived, found = backward(call)
    finally:
        logging.disable(before)
    if skip is not None:
        return {"skip": skip[:TEXT_MAX]}
    if found:
        return {"fail": [[rule, (text if isinstance(text, str) else text_of(text))[:TEXT_MAX]] for rule, text in found[:FINDINGS_MAX]]}
    return {"pass": "forward and backward run on FakeTensors with symbolic sizes" if derived else "it runs on FakeTensors with symbolic sizes"}
