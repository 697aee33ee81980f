"""The Python that hosts a worker: PYTHON -c '…this file…' host.py WORKER.so ARGUMENT…

It imports torch, loads the worker into this process and hands over to it. The worker asks it to import the modules of
--module one after the other, and to call Python once before it forks (worker/loading/interpreter.h). From then on C is in control."""

import ctypes
import importlib
import importlib.util
import os
import sys
import traceback

# What opcheck-c set for the start of this interpreter: NumPy's and MKL's threads would make forking unsafe.
SCRIPT = sys.argv[1]
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def restore_environment():
    for name in (*THREADS, "LD_PRELOAD", "PYTHONUNBUFFERED"):
        before = os.environ.pop(f"OPC_BEFORE_{name}", None)
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def import_module(name):
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = os.path.abspath(name)
    stem = os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    sys.path.insert(0, os.path.dirname(path))  # as for a script
    spec.loader.exec_module(module)
    return module


def text_of(error):
    """The exception, and the last place in it that is not this file's or the import machinery's."""
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != SCRIPT and "importlib" not in frame.filename]
    return f"{words} (at {frames[-1].filename}:{frames[-1].lineno})" if frames else words


def warm_up():
    """The first call on Meta tensors and the first call of a custom operator import much, and change the environment."""
    torch = sys.modules["torch"]
    library = torch.library.Library("opcheck_c_host", "FRAGMENT")
    library.define("warm_up(Tensor x) -> Tensor")
    library.impl("warm_up", lambda x: x.clone(), "CompositeExplicitAutograd")
    torch.ops.opcheck_c_host.warm_up(torch.zeros(1))
    operator = torch.library.custom_op("opcheck_c_host::warm_up_too", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    operator.register_fake(torch.empty_like)
    operator(torch.zeros(1, requires_grad=True))
    operator(torch.zeros(1, device="meta"))
    HELD.extend((library, operator))


HELD = []  # what must stay alive
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


@CALLBACK
def on_request(module, buffer, size):
    """module: to import; None: warm up. 0, or 1 with a text in the buffer."""
    try:
        if module is None:
            warm_up()
        else:
            import_module(module.decode())
    except BaseException as error:  # a module may raise SystemExit
        text = text_of(error).encode("utf-8", "replace")[: size - 1] + b"\0"
        ctypes.memmove(buffer, text, len(text))
        return 1
    return 0


def main():
    restore_environment()
    worker, *arguments = sys.argv[2:]
    sys.argv = ["opcheck-c"]
    if "" not in sys.path:
        sys.path.insert(0, "")
    import torch  # noqa: F401

    library = ctypes.PyDLL(worker)
    library.opc_interpreter_set(on_request)
    words = [b"opcheck-worker", *(os.fsencode(argument) for argument in arguments)]
    library.opc_worker_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words))


main()
