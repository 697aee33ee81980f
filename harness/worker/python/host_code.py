"""The functions that users give to torch.library: which one is the kernel of an operator at a dispatch key, and where it is defined."""

import functools
import inspect
import linecache
import os
import sys

import torch

TORCH = os.path.dirname(torch.__file__) + os.sep
OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
REGISTERED = {}  # "ns::op KEY": the function, from the call that registered it
GIVEN = {}  # "ns::op": what torch.library was given, as (dispatch key, name of the argument, function)
# The names of torch.library's arguments that are the kernel; further ones are helpers, such as setup_context.
ARGUMENTS = ("backward", "func", "fn", "f")


def is_users(file):
    return not file.startswith((TORCH, OWN, "<")) and os.path.basename(file) != "functools.py" and f"{os.sep}importlib{os.sep}" not in file


def users_function(value):
    """The user's function in a value, without what wraps it; None: there is none."""
    while isinstance(value, functools.partial):
        value = value.func
    function = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else None
    return function if inspect.isfunction(function) and is_users(function.__code__.co_filename) else None


def note_given(word, given, into):
    """What is called as the user wrote it: a kernel that also gets the dispatch keys, or was wrapped by others, is not."""
    key = word.partition(" ")[2]
    for name in (*ARGUMENTS, "setup_context"):
        function = given.get(name)
        if inspect.isfunction(function) and not hasattr(function, "__wrapped__") and users_function(function) and not given.get("with_keyset"):
            role = name if name in ("backward", "setup_context") and "setup_context" in given else "kernel"
            into[role] = (key, role, function)


def registered(word):
    """Called while a kernel is registered: the outermost function of torch.library was given the user's function."""
    frame, found, roles = sys._getframe(), None, {}
    while frame is not None and not is_users(frame.f_code.co_filename):
        given = frame.f_locals if frame.f_code.co_filename.startswith(TORCH) else {}
        note_given(word, given, roles)
        functions = [users_function(given[name]) for name in ARGUMENTS if name in given]
        found = next((function for function in functions if function is not None), found)
        frame = frame.f_back
    REGISTERED[word] = found
    GIVEN.setdefault(word.partition(" ")[0], []).extend(roles.values())


def of_custom_op(definition, key):
    """torch.library.custom_op registers its kernels at once, and asks for their functions later."""
    if key == "Meta":
        return definition._abstract_fn
    if key.startswith("Autograd"):
        return definition._backward_fn
    return definition._init_fn if key.startswith("Composite") else REGISTERED.get(f"{definition._qualname} {key}")


def given_for(name):
    """(dispatch key, name of torch.library's argument, function) of each function that users gave for an operator."""
    definition = getattr(sys.modules.get("torch._library.custom_ops"), "OPDEFS", {}).get(name)
    if definition is None:
        return GIVEN.get(name, [])
    of = {"kernel": "_init_fn", "fake": "_abstract_fn", "setup_context": "_setup_context_fn", "backward": "_backward_fn"}
    keys = {"kernel": "CompositeExplicitAutograd", "fake": "Meta"}
    given = [(keys.get(role, "Autograd"), role, getattr(definition, field, None)) for role, field in of.items()]
    return [(key, role, function) for key, role, function in given if inspect.isfunction(function) and not hasattr(function, "__wrapped__") and users_function(function)]


def line_of(function):
    """Of "def", below the decorators."""
    code = function.__code__
    line = code.co_firstlineno
    for number in range(line, line + 50):
        if linecache.getline(code.co_filename, number).lstrip().startswith(("def ", "async def ")):
            return number
    return line


def kernel(word):
    name, key = word.split(" ")
    definition = getattr(sys.modules.get("torch._library.custom_ops"), "OPDEFS", {}).get(name)
    function = users_function(REGISTERED.get(word) if definition is None else of_custom_op(definition, key))
    if function is None:
        return ""
    lambda_ = function.__name__ == "<lambda>"
    line = function.__code__.co_firstlineno if lambda_ else line_of(function)
    called = "lambda" if lambda_ else function.__qualname__.rpartition("<locals>.")[2]
    return f"{called}\t{line}\t{function.__code__.co_filename}"
