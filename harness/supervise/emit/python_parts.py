# The parts of the Python programs of --emit. A part begins with its name and ends before the next one; a program has
# those that it uses, by `name(` or `(name)`, in this order. What the program is about comes in place of the part "case":
# op, arguments(), and the constants of program.h.
# part begin
import sys
import traceback

import torch

# part ended
import os
import signal


def ended(call, seconds):
    """Calls in a process of its own. What ended that process; None: nothing."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            call()
        except Exception:
            traceback.print_exc()
        os._exit(42)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"it did not return in {seconds} s" if number == signal.SIGALRM else f"{signal.Signals(number).name} ended the process"
    code = os.WEXITSTATUS(status)
    return None if code == 42 else f"it ended the process with exit status {code}"


# part each
def each(value, change):
    """The value with every tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: each(item, change) for name, item in value.items()}
    return [each(item, change) for item in value] if isinstance(value, (list, tuple)) else value


# part tensors
def tensors(value):
    """All tensors in the value."""
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [tensor for item in items for tensor in tensors(item)]


# part results
def results(value):
    """All tensors in the value, and its numbers as tensors."""
    if isinstance(value, (bool, int, float, complex)):
        return [torch.tensor(value)]
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [tensor for item in items for tensor in results(item)]


# part case

# part call
def call(change=lambda tensor: tensor):
    args, kwargs = arguments()
    torch.manual_seed(0)
    return op(*each(args, change), **each(kwargs, change))


# part outcome
def outcome(change=lambda tensor: tensor):
    """What the operator returns, and its arguments after the call: it may write some."""
    args, kwargs = (each(part, change) for part in arguments())
    torch.manual_seed(0)
    return results([op(*args, **kwargs), args, kwargs])


# part numbers
def numbers(tensor):
    wide = torch.complex128 if tensor.is_complex() else torch.float64 if tensor.is_floating_point() else torch.int64
    return tensor.detach().to(wide)


# part difference
def difference(left, right, tolerance=0.0):
    """The first difference between two lists of tensors; None: there is none."""
    if len(left) != len(right):
        return f"{len(left)} tensors are not {len(right)}"
    for one, other in zip(left, right):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{one.dtype} {list(one.shape)} is not {other.dtype} {list(other.shape)}"
        a, b = numbers(one), numbers(other)
        wrong = (a != b) & ~((a != a) & (b != b)) & ~((a - b).abs() <= tolerance)
        if tolerance == 0 and a.is_floating_point():
            wrong |= torch.signbit(a) != torch.signbit(b)
        if wrong.any():
            at = tuple(wrong.nonzero()[0].tolist())
            return f"element {list(at)} is {a[at].item()} and {b[at].item()}"
    return None


# part storage_bytes
import ctypes


def storage_bytes(tensor):
    storage = tensor.untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


# part named_tensors
def named_tensors(args, kwargs):
    """The tensors of each argument, by its name."""
    named = dict(zip(NAMES, args), **kwargs)
    return [(name, tensor) for name, value in named.items() for tensor in tensors(value)]


# part guarded
import ctypes
import mmap


def guarded(tensor, at_end):
    """The same tensor in memory that ends (or begins) at a page that nobody may touch."""
    storage, page = tensor.untyped_storage(), mmap.PAGESIZE
    size = storage.nbytes()
    if size == 0:
        return tensor
    room = -(-size // page) * page
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    base = libc.mmap(None, room + 2 * page, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    libc.mprotect(base, page, 0)
    libc.mprotect(base + page + room, page, 0)
    address = base + page + (room - size if at_end else 0)
    ctypes.memmove(address, storage.data_ptr(), size)
    memory = torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=tensor.dtype)
    placed = memory.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    placed = placed.conj() if tensor.is_conj() else placed
    return torch._neg_view(placed) if tensor.is_neg() else placed


# part on_meta
def on_meta(tensor):
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    memory = torch.empty(count, dtype=tensor.dtype, device="meta")
    placed = memory.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    placed = placed.conj() if tensor.is_conj() else placed
    return torch._neg_view(placed) if tensor.is_neg() else placed


# part facts
def facts(tensor):
    strided = tensor.layout == torch.strided
    return {
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "layout": tensor.layout,
        # The stride of a dimension of one element is never used.
        "stride": [step for step, size in zip(tensor.stride(), tensor.shape) if size > 1 and tensor.numel()] if strided else None,
        "storage_offset": tensor.storage_offset() if strided else None,
        "conj": tensor.is_conj(),
        "neg": tensor.is_neg(),
    }


# part Derivatives
from torch.autograd.gradcheck import GradcheckError


class Derivatives:
    """The operator as a function of its floating tensors, in double precision."""

    def __init__(self):
        self.args, self.kwargs = arguments()
        self.inputs = [self.wide(tensor).requires_grad_() for tensor in self.given()]

    def given(self):
        return [tensor for tensor in tensors([self.args, self.kwargs]) if self.is_input(tensor)]

    @staticmethod
    def is_input(tensor):
        return tensor.is_floating_point() or tensor.is_complex()

    @staticmethod
    def wide(tensor):
        return tensor.detach().clone().to(torch.complex128 if tensor.is_complex() else torch.float64)

    def __call__(self, *inputs):
        rest = iter(inputs)
        args, kwargs = (each(part, lambda tensor: next(rest) if self.is_input(tensor) else tensor) for part in (self.args, self.kwargs))
        torch.manual_seed(0)
        return tuple(tensor for tensor in tensors(op(*args, **kwargs)) if tensor.requires_grad)

    def gradients(self, inputs=None, incoming=torch.ones_like):
        inputs = self.inputs if inputs is None else inputs
        outputs = self(*inputs)
        found = torch.autograd.grad(outputs, inputs, [incoming(output) for output in outputs], allow_unused=True)
        return [torch.zeros_like(x) if gradient is None else gradient for x, gradient in zip(inputs, found)]


# part show_call
def show():
    """The call ends the process, or does not return."""
    return ended(call, SECONDS)


# part show_guarded
def show():
    """The operator leaves the memory of an argument: that is a signal at the page beside it."""
    return ended(lambda: call(lambda tensor: guarded(tensor, True)), SECONDS) or ended(lambda: call(lambda tensor: guarded(tensor, False)), SECONDS)


# part show_throws
def show():
    """The call is refused."""
    try:
        call()
    except Exception as error:
        return f"it throws: {error}"


# part show_accepts
def show():
    """The call is not refused."""
    try:
        call()
    except Exception:
        return None
    return "it accepts what it must refuse"


# part show_internal_assert
def show():
    try:
        call()
    except Exception as error:
        return f"it throws: {error}" if "INTERNAL ASSERT" in str(error) else None


# part show_foreign_exception
def show():
    """What the operator throws is no std::exception."""
    try:
        call()
    except RuntimeError as error:
        return f"it throws: {error}" if "unknown exception" in str(error) else None


# part show_layout
def show():
    """The same values in contiguous memory give another result."""
    dense = outcome(lambda tensor: tensor.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format))
    return difference(outcome(), dense, TOLERANCE)


# part show_view_outside
def show():
    """The same values in contiguous memory are accepted."""
    outcome(lambda tensor: tensor.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format))
    try:
        call()
    except Exception as error:
        return f"it throws: {error}"


# part show_writes
def show():
    """An argument that the schema does not declare mutable changes, or memory outside of an argument."""
    args, kwargs = arguments()
    given = named_tensors(args, kwargs)
    before = [(storage_bytes(tensor), tensor._version) for _, tensor in given]
    op(*args, **kwargs)
    for (name, tensor), (old, version) in zip(given, before):
        new, width = storage_bytes(tensor), tensor.element_size()
        if name not in WRITABLE and tensor._version != version:
            return f"{name} is not declared mutable, and its version counter says that it was written"
        changed = {byte // width for byte in range(len(old)) if old[byte] != new[byte]}
        own = set(torch.arange(len(old) // width).as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).flatten().tolist())
        if name not in WRITABLE and changed & own:
            return f"{name} is not declared mutable, and its element {min(changed & own)} in memory changed"
        if changed - own:
            return f"element {min(changed - own)} of the memory of {name} changed, which is outside of {name}"


# part show_metadata
def show():
    """An argument has other sizes, strides or another offset after the call."""
    args, kwargs = arguments()
    given = named_tensors(args, kwargs)
    before = [(tuple(tensor.shape), tensor.stride(), tensor.storage_offset()) for _, tensor in given]
    op(*args, **kwargs)
    for (name, tensor), old in zip(given, before):
        new = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
        if new != old:
            return f"sizes, strides and offset of {name} were {old} and are {new}"


# part show_half_done
def show():
    """The call throws and has changed an argument."""
    args, kwargs = arguments()
    given = named_tensors(args, kwargs)
    before = [storage_bytes(tensor) for _, tensor in given]
    try:
        op(*args, **kwargs)
    except Exception as error:
        for (name, tensor), old in zip(given, before):
            if storage_bytes(tensor) != old:
                return f"it throws and has changed {name}: {error}"


# part show_version
def show():
    """An argument is written, and its version counter stays: autograd does not notice."""
    args, kwargs = arguments()
    given = named_tensors(args, kwargs)
    before = [(storage_bytes(tensor), tensor._version) for _, tensor in given]
    op(*args, **kwargs)
    for (name, tensor), (old, version) in zip(given, before):
        if storage_bytes(tensor) != old and tensor._version == version:
            return f"{name} was written, and its version counter is still {version}"


# part show_not_written
def show():
    """An argument that is declared mutable never changes."""
    args, kwargs = arguments()
    given = named_tensors(args, kwargs)
    before = [storage_bytes(tensor) for _, tensor in given]
    op(*args, **kwargs)
    for (name, tensor), old in zip(given, before):
        if name in WRITABLE and storage_bytes(tensor) == old:
            return f"{name} is declared mutable and was not written"


# part show_returns_argument
def show():
    """An output is an argument itself."""
    args, kwargs = arguments()
    outputs = tensors(op(*args, **kwargs))
    for name, tensor in named_tensors(args, kwargs):
        if any(output is tensor for output in outputs):
            return f"an output is {name} itself"


# part show_shares
def show():
    """An output has the memory of an argument."""
    args, kwargs = arguments()
    outputs = tensors(op(*args, **kwargs))
    for name, tensor in named_tensors(args, kwargs):
        memory = tensor.untyped_storage().data_ptr()
        if memory and any(output.untyped_storage().data_ptr() == memory for output in outputs):
            return f"an output has the memory of {name}"


# part show_outputs_share
def show():
    """Two outputs have the same memory."""
    outputs = [output.untyped_storage().data_ptr() for output in tensors(call()) if output.numel()]
    return "two outputs have the same memory" if len(set(outputs)) < len(outputs) else None


# part show_earlier_output
def show():
    """An output has the memory of an earlier call's output, which is still in use."""
    first, second = tensors(call()), tensors(call())
    for output in second:
        if output.numel() and any(output.untyped_storage().data_ptr() == earlier.untyped_storage().data_ptr() for earlier in first):
            return "two calls return the same memory"


# part show_no_alias
def show():
    """The schema declares that an output may have the memory of an argument, and it has not."""
    args, kwargs = arguments()
    outputs = [output.untyped_storage().data_ptr() for output in tensors(op(*args, **kwargs))]
    if not any(tensor.untyped_storage().data_ptr() in outputs for _, tensor in named_tensors(args, kwargs)):
        return "no output has the memory of an argument"


# part show_meta
def show():
    """The Meta kernel says something else about the result than the real kernel gives."""
    real, meta = tensors(call()), tensors(call(on_meta))
    if len(real) != len(meta):
        return f"the real kernel returns {len(real)} tensors, the Meta kernel {len(meta)}"
    for one, other in zip(real, meta):
        if facts(one)[FACT] != facts(other)[FACT]:
            return f"{FACT} is {facts(one)[FACT]} from the real kernel and {facts(other)[FACT]} from the Meta kernel"


# part show_meta_count
def show():
    """The Meta kernel returns another number of tensors than the real kernel."""
    real, meta = len(tensors(call())), len(tensors(call(on_meta)))
    return None if real == meta else f"the real kernel returns {real} values, the Meta kernel {meta}"


# part show_meta_value
def show():
    """The Meta kernel returns another number than the real kernel."""
    real, meta = call(), call(on_meta)
    return None if real == meta else f"the real kernel returns {real}, the Meta kernel {meta}"


# part show_meta_throws
def show():
    """The real kernel accepts the arguments, and the Meta kernel refuses them."""
    call()
    try:
        call(on_meta)
    except Exception as error:
        return f"the Meta kernel throws: {error}"


# part sharing
def sharing(change=lambda tensor: tensor):
    """Which output shares memory with which argument or output."""
    args, kwargs = (each(part, change) for part in arguments())
    outputs = tensors(op(*args, **kwargs))
    return [[torch._C._is_alias_of(output, other) for other in tensors([args, kwargs]) + outputs] for output in outputs]


# part show_meta_alias
def show():
    """Outputs share memory differently under the Meta kernel."""
    return None if sharing() == sharing(on_meta) else "with the Meta kernel, outputs share memory with other tensors"


# part show_meta_device
def show():
    """The Meta kernel makes a tensor with data."""
    for output in tensors(call(on_meta)):
        if output.device.type != "meta":
            return f"an output of the Meta kernel is on {output.device}"


# part show_uninitialised
def show():
    """Memory that nobody wrote is part of the result: filled beforehand, it gives another result."""
    plain = outcome()
    # The allocator gives freed memory to the next tensor of the same size.
    for byte in (0, 255):
        freed = [torch.full_like(tensor, 0).untyped_storage().fill_(byte) for tensor in plain]
        del freed
        what = difference(plain, outcome())
        if what:
            return what
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(True, warn_only=True)
    return difference(plain, outcome())


# part show_bool_bytes
def show():
    """A bool is neither 0 nor 1 in memory."""
    for output in tensors(call()):
        if output.dtype == torch.bool and output.contiguous().view(torch.uint8).max() > 1:
            return f"a bool has the byte {output.contiguous().view(torch.uint8).max().item()}"


# part show_out_not_written
def show():
    """What an argument held that the operator writes is part of the result."""
    found = []
    for number in (1, 0):
        args, kwargs = arguments()
        for name, tensor in named_tensors(args, kwargs):
            if name in WRITABLE:
                tensor.fill_(number)
        op(*args, **kwargs)
        found.append([tensor for name, tensor in named_tensors(args, kwargs) if name in WRITABLE])
    return difference(*found)


# part show_inference_tensor
def show():
    """An output is an inference tensor, though inference mode is off."""
    return "an output is an inference tensor" if any(output.is_inference() for output in tensors(call())) else None


# part show_kept_arguments
def show():
    """The operator keeps an argument after the call."""
    def users():
        return [(tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)) for tensor in given]

    args, kwargs = arguments()
    given = tensors([args, kwargs])
    before = users()
    op(*args, **kwargs)
    return None if users() == before else "an argument is still in use after the call"


# part show_same_bits
def show():
    """An output does not have the bits of an argument, as the sample promises."""
    args, kwargs = arguments()
    before = {name: tensor.clone() for name, tensor in named_tensors(args, kwargs)}
    outputs = tensors(op(*args, **kwargs))
    for number, name in SAME_BITS:
        what = difference([outputs[number]], [before[name]])
        if what:
            return f"output {number} is not {name}: {what}"


# part show_reference
def show():
    """The reference gives another result."""
    args, kwargs = arguments()
    named = dict(zip(NAMES, args), **kwargs)
    given = {name: named[source] if isinstance(source, str) else source for name, source in REFERENCE_ARGUMENTS.items()}
    right = REFERENCE(**given) if given else REFERENCE(*args, **kwargs)
    return difference(results(call()), results(right), TOLERANCE)


# part show_double
def show():
    """In double precision the same numbers give another result."""
    returned = results(call())
    wide = results(call(lambda tensor: tensor.to(torch.complex128 if tensor.is_complex() else torch.float64) if tensor.is_floating_point() or tensor.is_complex() else tensor))
    return difference([numbers(output) for output in returned], [numbers(output) for output in wide], TOLERANCE)


# part show_repeated
def show():
    """The same call gives another result."""
    first = outcome()
    for _ in range(20):
        what = difference(first, outcome())
        if what:
            return what


# part show_random
def show():
    """The call takes numbers from the default generator."""
    args, kwargs = arguments()
    before = torch.get_rng_state()
    op(*args, **kwargs)
    return None if torch.equal(before, torch.get_rng_state()) else "the state of the default generator changed"


# part show_grad_mode
def show():
    """The result depends on grad mode, or on whether arguments require gradients."""
    def wanting(tensor):
        return tensor.detach().clone().requires_grad_(tensor.is_floating_point() or tensor.is_complex())

    plain, wanted = results(call()), results(call(wanting))
    with torch.no_grad():
        return difference(plain, results(call())) or difference(plain, wanted)


# part show_default_dtype
def show():
    """The result depends on the default dtype, though the arguments have dtypes."""
    plain = outcome()
    torch.set_default_dtype(torch.float64)
    return difference(plain, outcome())


# part show_gradient
def show():
    """The gradient is not the slope of the operator's own results."""
    derivatives = Derivatives()
    try:
        torch.autograd.gradcheck(derivatives, derivatives.inputs, check_undefined_grad=False)
    except GradcheckError as error:
        return str(error)


# part show_undefined_gradient
def show():
    """Backward fails where one of several outputs has no gradient."""
    derivatives = Derivatives()
    outputs = derivatives(*derivatives.inputs)
    for output in outputs:
        try:
            torch.autograd.grad(output, derivatives.inputs, torch.ones_like(output), allow_unused=True, retain_graph=True)
        except Exception as error:
            return f"backward throws: {error}"


# part show_second_order
def show():
    """The second derivative is not the slope of the gradient."""
    derivatives = Derivatives()
    try:
        torch.autograd.gradgradcheck(derivatives, derivatives.inputs, check_undefined_grad=False)
    except GradcheckError as error:
        return str(error)


# part show_second_order_dropped
def show():
    """With create_graph, the gradients have no graph."""
    derivatives = Derivatives()
    outputs = derivatives(*derivatives.inputs)
    incoming = [torch.ones_like(output).requires_grad_() for output in outputs]
    found = torch.autograd.grad(outputs, derivatives.inputs, incoming, allow_unused=True, create_graph=True)
    return None if any(gradient is not None and gradient.requires_grad for gradient in found) else "no gradient requires grad"


# part show_backward_throws
def show():
    """Backward throws."""
    derivatives = Derivatives()
    try:
        derivatives.gradients()
    except Exception as error:
        return f"backward throws: {error}"


# part show_input_layout
def show():
    """Inputs in another layout have another gradient."""
    derivatives = Derivatives()
    given = [x.detach() for x in derivatives.inputs]
    transposed = [x.mT.contiguous().mT if x.dim() > 1 else x for x in given]
    sliced = [torch.stack([x, x + 7], -1)[..., 0] for x in given]
    dense, *others = [derivatives.gradients([x.requires_grad_() for x in inputs]) for inputs in (given, transposed, sliced)]
    return difference(others[0], dense, 1e-8) or difference(others[1], dense, 1e-8)


# part show_grad_layout
def show():
    """The same incoming gradient in another layout gives another gradient."""
    derivatives = Derivatives()
    expanded = derivatives.gradients(incoming=lambda output: torch.ones((), dtype=output.dtype).expand(output.shape))
    return difference(expanded, derivatives.gradients(), 1e-8)


# part show_gradient_repeated
def show():
    """The same backward gives another gradient."""
    derivatives = Derivatives()
    return difference(derivatives.gradients(), derivatives.gradients(), 1e-8)


# part show_backward_twice
def show():
    """A second backward through a retained graph gives another gradient."""
    derivatives = Derivatives()
    outputs = derivatives(*derivatives.inputs)
    incoming = [torch.ones_like(output) for output in outputs]
    runs = [[gradient for gradient in torch.autograd.grad(outputs, derivatives.inputs, incoming, allow_unused=True, retain_graph=True) if gradient is not None] for _ in range(2)]
    return difference(runs[1], runs[0], 1e-8)


# part show_backward_mutates
def show():
    """Backward changes the gradient that it is given."""
    derivatives = Derivatives()
    outputs = derivatives(*derivatives.inputs)
    incoming = [torch.ones_like(output) for output in outputs]
    torch.autograd.grad(outputs, derivatives.inputs, incoming, allow_unused=True)
    return difference(incoming, [torch.ones_like(gradient) for gradient in incoming])


# part show_no_derivative
def show():
    """The result does not require grad, though an argument does."""
    torch._C._set_autograd_fallback_mode("nothing")
    outputs = tensors(call(lambda tensor: tensor.detach().clone().requires_grad_(tensor.is_floating_point() or tensor.is_complex())))
    return None if any(output.requires_grad for output in outputs) else "no output requires grad"


# part show_changed_state
import os


def show():
    """The call changes what belongs to the whole process or thread."""
    def state():
        return {
            "grad mode": torch.is_grad_enabled(),
            "inference mode": torch.is_inference_mode_enabled(),
            "default dtype": torch.get_default_dtype(),
            "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
            "number of threads": torch.get_num_threads(),
            "default generator": torch.get_rng_state().tolist(),
            "working folder": os.getcwd(),
            "environment": dict(os.environ),
            "floating point": torch.tensor([1e-310], dtype=torch.float64).mul(1).tolist(),
        }

    before = state()
    args, kwargs = arguments()
    op(*args, **kwargs)
    after = state()
    changed = [what for what in before if before[what] != after[what]]
    return f"the call changes: {', '.join(changed)}" if changed else None


# part show_open_files
import os


def show():
    """Every call leaves a file open."""
    call()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        call()
    left = len(os.listdir("/proc/self/fd")) - before
    return f"20 calls leave {left} files open" if left >= 20 else None


# part show_threads_left
import os


def show():
    """Every call leaves a thread."""
    call()
    before = len(os.listdir("/proc/self/task"))
    for _ in range(20):
        call()
    left = len(os.listdir("/proc/self/task")) - before
    return f"20 calls leave {left} threads" if left >= 20 else None


# part show_vmap
def show():
    """torch.vmap refuses the operator, or gives another result than one call for each slice."""
    args, kwargs = arguments()
    given = tensors(args)

    def function(*slices):
        rest = iter(slices)
        return tuple(tensors(op(*each(args, lambda tensor: next(rest)), **kwargs)))

    def wrong(batched, dim):
        both = [torch.stack([tensor, tensor.flip(-1) if tensor.dim() else tensor], dim) if number in batched else tensor for number, tensor in enumerate(given)]
        slices = [[tensor.select(dim, k) if number in batched else tensor for number, tensor in enumerate(both)] for k in (0, 1)]
        alone = [function(*one) for one in slices]
        try:
            together = torch.vmap(function, in_dims=tuple(dim if number in batched else None for number in range(len(both))))(*both)
        except Exception as error:
            return f"torch.vmap throws: {error}"
        if any(len(output) != 2 for output in together):
            return "torch.vmap does not give one result for each slice"
        return difference([output[k] for k in (0, 1) for output in together], alone[0] + alone[1], 1e-4)

    numbers_of_all = range(len(given))
    cases = [(set(numbers_of_all), 0)] + [({number}, 0) for number in numbers_of_all]
    cases += [(set(numbers_of_all), 1)] if all(tensor.dim() for tensor in given) else []
    return next((what for what in (wrong(*case) for case in cases) if what), None)


# part show_no_kernel
def show():
    """No kernel is registered where one must be."""
    keys = [FACT, "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"]
    if not any(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key) for key in keys):
        return f"no kernel serves {FACT}"


# part end
try:
    what = show()
except Exception:
    traceback.print_exc()
    sys.exit(125)  # git bisect passes over this
print(f"{op.name()}: {'FAILS: ' + ' '.join(what.split()) if what else 'does not fail'}")
sys.exit(1 if what else 0)
