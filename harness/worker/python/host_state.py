"""What a call must leave unchanged in Python: settings of the interpreter, of NumPy, and of torch as far as Python keeps them (check state).

begin() goes back to the state of the start and seeds Python's and NumPy's generators; end() says what the call changed and undoes it."""

import decimal
import gc
import importlib
import logging
import random
import sys
import warnings

import torch


def numpy_random():
    return sys.modules.get("numpy.random")


def set_numpy(name, value):
    numpy = sys.modules.get("numpy")
    if numpy is not None and value is not None:
        getattr(numpy, name)(**value)


def get_numpy(name):
    numpy = sys.modules.get("numpy")
    return None if numpy is None else dict(getattr(numpy, name)())


def pop_modes(length, pop, wanted):
    while length() > wanted:
        pop()


def default_device():
    try:
        return str(torch.get_default_device())
    except AttributeError:  # up to torch 2.8, after set_default_device(None)
        return "cpu"


def restore_device(device):
    if device != default_device():
        torch.set_default_device(None if device == "cpu" else device)


# What it is called in a finding: how to read it, how to write it back.
SETTINGS = {
    "torch's default device": (default_device, restore_device),
    "the number of active TorchFunctionModes": (
        torch._C._len_torch_function_stack,
        lambda wanted: pop_modes(torch._C._len_torch_function_stack, torch._C._pop_torch_function_stack, wanted),
    ),
    "the number of active TorchDispatchModes": (
        torch._C._len_torch_dispatch_stack,
        lambda wanted: pop_modes(torch._C._len_torch_dispatch_stack, torch._C._pop_torch_dispatch_stack, wanted),
    ),
    "torch's print options": (lambda: dict(vars(torch._tensor_str.PRINT_OPTS)), lambda before: vars(torch._tensor_str.PRINT_OPTS).update(before)),
    "NumPy's handling of floating-point errors": (lambda: get_numpy("geterr"), lambda before: set_numpy("seterr", before)),
    "NumPy's print options": (lambda: get_numpy("get_printoptions"), lambda before: set_numpy("set_printoptions", before)),
    "the recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "sys.stdout": (lambda: sys.stdout, lambda before: setattr(sys, "stdout", before)),
    "sys.stderr": (lambda: sys.stderr, lambda before: setattr(sys, "stderr", before)),
    "sys.excepthook": (lambda: sys.excepthook, lambda before: setattr(sys, "excepthook", before)),
    "sys.path": (lambda: list(sys.path), lambda before: sys.path.__setitem__(slice(None), before)),
    "the filters of warnings": (lambda: list(warnings.filters), lambda before: warnings.filters.__setitem__(slice(None), before)),
    "automatic garbage collection": (gc.isenabled, lambda before: gc.enable() if before else gc.disable()),
    "the precision of decimal": (lambda: decimal.getcontext().prec, lambda before: setattr(decimal.getcontext(), "prec", before)),
    "the level of the root logger": (lambda: logging.root.level, logging.root.setLevel),
    "the trace function": (sys.gettrace, sys.settrace),
    "the profile function": (sys.getprofile, sys.setprofile),
}
IMPORTS_CHANGE = ("sys.path", "the filters of warnings")  # the first import of a module may do so
SHOWN = (int, bool, str)

# What it is called: how to seed it, how to read and to write its whole state.
GENERATORS = {
    "Python's random": (random.seed, random.getstate, random.setstate),
    "NumPy's random": (
        lambda seed: numpy_random() and numpy_random().seed(seed % 2**32),
        lambda: numpy_random() and numpy_random().get_state(),
        lambda state: numpy_random() and numpy_random().set_state(state),
    ),
}

first, seeds, earlier, kept, told_of_load = {}, iter(range(715827883, 2**31)), {}, {}, {}


def read():
    return {name: get() for name, (get, _) in SETTINGS.items()}


def restore(now):
    for name, (_, put) in SETTINGS.items():
        if now[name] != first[name]:
            put(first[name])


def start():
    """Before the first operator runs: the state to go back to."""
    first.update(read())


def comparable(state):
    """Of a generator: arrays cannot be compared as a whole, and writing them as text takes longer than the call."""
    return state and tuple(part.tobytes() if hasattr(part, "tobytes") else part for part in state)


def begin():
    restore(read())
    for name, (seed, get, _) in GENERATORS.items():
        kept[name] = get()
        seed(next(seeds))
        kept[name, "begin"] = comparable(get())
    kept["modules"] = len(sys.modules)


def setting_text(name, now):
    if isinstance(now, SHOWN) and isinstance(first[name], SHOWN):
        return f"{name} was {first[name]} and is {now}"
    return f"{name} changed"


def end():
    """The changes, in words, after which nothing is left of them."""
    now, told = read(), []
    device_changed = now["torch's default device"] != first["torch's default device"]
    for name, value in now.items():
        if value == first[name] or (name in IMPORTS_CHANGE and len(sys.modules) != kept["modules"]):
            continue
        if name == "the number of active TorchFunctionModes" and device_changed:
            continue  # the default device is one of them
        told.append(setting_text(name, value))
    restore(now)
    for name, (_, get, put) in GENERATORS.items():
        begun, ended = kept[name, "begin"], comparable(get())
        # Two calls began with different seeds and ended in the same state: the operator has set a seed of its own.
        if ended != begun and earlier.get(name) == ended:
            told.append(f"{name} has a seed that the operator set")
        earlier[name] = ended
        put(kept[name])
    return ", ".join(told)


# ---- imports ----


def was_drawn(name, before, after):
    """The generator was used and not seeded: the numbers after `before` lead to `after`."""
    twist = 32 * 624  # the bits of the whole state, which is renewed at once
    if name == "Python's random":
        own = random.Random()
        own.setstate(before)
        draw, words, wanted = (lambda: own.getrandbits(twist)), (lambda: own.getstate()[1][:624]), after[1][:624]
    else:
        own = numpy_random().RandomState()
        own.set_state(before)
        draw, words, wanted = (lambda: own.bytes(twist // 8)), (lambda: own.get_state()[1].tobytes()), after[1].tobytes()
    for _ in range(1000):
        if words() == wanted:
            return True
        draw()
    return False


def hides_all(entry):
    """The filter is for all warnings of a category that everybody uses."""
    _, message, category, module, _ = entry
    return message is None and module is None and category.__module__ == "builtins"


def filters_text(before, after):
    added = [entry for entry in after if entry not in before and hides_all(entry)]
    return f"the filters of warnings have \"{added[0][0]}\" for every {added[0][2].__name__}" if added else ""


def path_text(before, after):
    added = [entry for entry in after if entry not in before]
    return f"sys.path has {added[0]!r} besides" if added else "sys.path has another order" if before != after else ""


# What other code computes depends on these.
OF_RESULTS = ("torch's default device", "the number of active TorchFunctionModes", "the number of active TorchDispatchModes", "the precision of decimal")
TEXTS = {"the filters of warnings": filters_text, "sys.path": path_text}


def loading():
    """Before a library is loaded or a module imported."""
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")  # which NumPy does at its first use
    first.clear()
    first.update(read())
    told_of_load.clear()
    for name, (_, get, _) in GENERATORS.items():
        kept[name] = get()


def compare_load():
    told, now = {"results": [], "rest": []}, read()
    for name, value in now.items():
        if value == first[name] or first[name] is None:  # None: NumPy was not there
            continue
        text = TEXTS[name](first[name], value) if name in TEXTS else setting_text(name, value)
        told["results" if name in OF_RESULTS else "rest"] += [text] if text else []
    for name, (_, get, _) in GENERATORS.items():
        before, after = kept[name], get()
        if before is None or comparable(before) == comparable(after):
            continue
        drawn = was_drawn(name, before, after)
        told["rest" if drawn else "results"].append(f"{name} {'has drawn numbers' if drawn else 'has a seed that was set'}")
    return told


def loaded(part):
    """What loading changed, in words; part: "results" or "rest". The changes stay."""
    if not told_of_load:
        told_of_load.update(compare_load())
    return ", ".join(told_of_load[part])
