"""The Python that hosts a worker: PYTHON -c '…this file…' host.py WORKER.so ARGUMENT…

It imports torch, loads the worker into this process and hands over to it. From then on C is in control, and asks for
what only Python can do (worker/loading/loading.h): the keys of ANSWERS, below."""

import ctypes
import functools
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import tempfile
import traceback
import warnings

SCRIPT = sys.argv[1]
# opcheck-c set START for the start of this interpreter. It set IMPORTS until all modules are imported: the threads of NumPy, SciPy and MKL
# start when these are imported, and would make forking unsafe.
START, IMPORTS = ("LD_PRELOAD", "PYTHONUNBUFFERED"), ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
SIMULATED = os.environ.get("OPC_CUDA_MODE") == "simulated"
SET = {name: os.environ.get(name) for name in (*START, *IMPORTS)}


def restore_environment(names):
    for name in names:
        before = os.environ.pop(f"OPC_BEFORE_{name}", None)
        if os.environ.get(name) != SET[name]:
            continue  # a module has set it since
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def load_file(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def import_module(name):
    if not name.endswith(".py"):
        NAMED.add(name.partition(".")[0])
        return importlib.import_module(name)
    path = os.path.abspath(name)
    FILES.add(path)
    sys.path.insert(0, os.path.dirname(path))  # as for a script
    part("host_state").first["sys.path"] = list(sys.path)  # which is no change of the module's
    return load_file(os.path.basename(path)[:-3], path)


def folder_of(name):
    """Where a module's file is, or its top-level package. Nothing is imported."""
    if name.endswith(".py"):
        return os.path.dirname(os.path.abspath(name))
    spec = importlib.util.find_spec(name.partition(".")[0])
    return next(iter(spec.submodule_search_locations or [os.path.dirname(spec.origin or "")])) if spec else ""


def part(name):
    """Another file of this folder, which the user's modules cannot hide."""
    known = f"opcheck_c_{name}"
    return sys.modules.get(known) or load_file(known, os.path.join(os.path.dirname(SCRIPT), f"{name}.py"))


def text_of(error):
    """The exception, and the last place in it that is not this folder's or the import machinery's."""
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    if error.__cause__ is not None:  # torch.ops.load_library hides the loader's words in it
        words += f": {''.join(traceback.format_exception_only(type(error.__cause__), error.__cause__)).strip()}"
    own = os.path.dirname(SCRIPT) + os.sep
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own) and "importlib" not in frame.filename]
    return f"{words} (at {frames[-1].filename}:{frames[-1].lineno})" if frames else words


def short_text_of(error):
    """The first line of the exception, and the last place in the user's own files."""
    words = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    others = (os.path.dirname(SCRIPT) + os.sep, os.path.dirname(sys.modules["torch"].__file__) + os.sep)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(others)]
    return f"{type(error).__name__}: {words}" + (f" (at {frames[-1].filename}:{frames[-1].lineno})" if frames else "")


def warm_up():
    """The first call on Meta tensors, of a custom operator and on FakeTensors import much, and change the environment. No backward:
    it would start threads, and the worker could not fork."""
    restore_environment(IMPORTS)
    torch = sys.modules["torch"]
    library = torch.library.Library("opcheck_c_host", "FRAGMENT")
    library.define("warm_up(Tensor x) -> Tensor")
    library.impl("warm_up", lambda x: x.clone(), "CompositeExplicitAutograd")
    torch.ops.opcheck_c_host.warm_up(torch.zeros(1))
    operator = torch.library.custom_op("opcheck_c_host::warm_up_too", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    operator.register_fake(lambda x: torch.empty_like(x + 1))
    operator(torch.zeros(1, requires_grad=True))
    operator(torch.zeros(1, device="meta"))
    HELD.extend((library, operator))
    fake = part("host_fake")
    fake.watch("opcheck_c_host::warm_up_too")
    operator(torch.zeros(2, 3))
    fake.warm_up(fake.leave())
    share_compiled_headers()
    if SIMULATED:
        part("host_cuda").start()
    part("host_state").start()
    warnings.showwarning = lambda *_, **__: None  # not what the operator prints: filters switch a warning off
    gc.collect()
    gc.freeze()  # check leak collects garbage often: a child looks at its own objects alone, and copies no page for the others


def share_compiled_headers():
    """Warp compiles its headers once more in each process, which takes ten times as long as a kernel, and leaves them in a folder of that process: here
    all children have the same one. It renames complete files into it."""
    runtime = getattr(getattr(getattr(sys.modules.get("warp"), "_src", None), "context", None), "Runtime", None)
    if hasattr(runtime, "get_clang_pch_dir"):  # no part of its interface
        HELD.append(tempfile.TemporaryDirectory(prefix="opcheck-c-warp-"))
        folder = HELD[-1].name
        runtime.get_clang_pch_dir = lambda _: folder


def module_file():
    """The file of the module that is being imported: its code runs now, or functions that it called."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None or frame.f_globals is globals() else frame.f_code.co_filename


@functools.cache
def distributions_of():
    """By top-level package, the distributions that install it. Reads the metadata of all: only when it is needed."""
    return getattr(importlib.metadata, "packages_distributions", dict)()


@functools.cache
def package_of(file):
    """The installed package that a file belongs to, unless the user named a module of it; "": the file is the user's."""
    if os.path.abspath(file) in FILES:
        return ""
    torch = os.path.dirname(sys.modules["torch"].__file__)
    folders = [os.path.abspath(folder) for folder in sys.path]
    folders = [folder + os.sep for folder in folders if os.path.basename(folder) in ("site-packages", "dist-packages") and file.startswith(folder + os.sep)]
    if file.startswith(torch + os.sep):
        package = "torch"  # which may be built in its source folder
    elif folders:
        package = file[len(max(folders, key=len)) :].partition(os.sep)[0].partition(".")[0]
    else:
        return ""
    if package in NAMED:
        return ""
    installed = set(distributions_of().get(package, ()))
    return "" if any(installed.intersection(distributions_of().get(named, ())) for named in NAMED) else package


FILES = set()  # the files that --python names
NAMED = set()  # the top-level packages of the modules that --python names
HELD = []  # what must stay alive
# What the worker may ask for, given a word. The answer is text; nothing is "".
ANSWERS = {
    b"folder": lambda word: folder_of(word),
    b"import": lambda word: import_module(word) and "",
    b"imported": lambda word: "yes" if word in sys.modules else "",
    b"module file": lambda word: module_file(),
    b"package": lambda file: package_of(file),
    b"registered": lambda word: part("host_code").registered(word),
    b"kernel": lambda word: part("host_code").kernel(word),
    b"signatures": lambda word: json.dumps(part("host_signatures").mistakes(word, part("host_code").given_for(word))),
    b"warm up": lambda word: warm_up(),
    b"watch": lambda word: part("host_fake").watch(word),
    b"leave": lambda word: part("host_fake").leave() and "",
    b"trace": lambda word: json.dumps(part("host_fake").trace(short_text_of)),
    b"loading": lambda word: part("host_state").loading(),
    b"loaded": lambda word: part("host_state").loaded(word),
    b"begin": lambda word: part("host_state").begin(),
    b"end": lambda word: part("host_state").end(),
}
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


@CALLBACK
def on_request(what, word, buffer, size):
    """0, or 1: then the text is the exception's."""
    failed = 0
    try:
        answer = ANSWERS[what](word.decode()) or ""
    except BaseException as error:  # a module may raise SystemExit
        failed, answer = 1, text_of(error)
    text = answer.encode("utf-8", "replace")[: size - 1] + b"\0"
    ctypes.memmove(buffer, text, len(text))
    return failed


def main():
    restore_environment(START)
    worker, *arguments = sys.argv[2:]
    sys.argv = ["opcheck-c"]
    if "" not in sys.path:
        sys.path.insert(0, "")
    ctypes.PyDLL(None).opc_interpreter_use_large_pages()  # the worker is preloaded
    import torch  # noqa: F401

    if SIMULATED:
        part("host_cuda").begin()
    library = ctypes.PyDLL(worker)
    library.opc_interpreter_set(on_request)
    words = [b"opcheck-worker", *(os.fsencode(argument) for argument in arguments)]
    library.opc_worker_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words))


main()
