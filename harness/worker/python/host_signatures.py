"""The functions that Python registers for an operator, against its schema: can they be called with what torch passes them?

Nothing is called. torch leaves out arguments that equal the schema's default, passes the others by position, and what is keyword-only by
name."""

import inspect

import torch


def schema_of(name):
    operator, _, overload = name.partition(".")
    return torch._C._get_schema(operator, overload)


def signature_of(function):
    """None: unknown, or of a wrapper whose own arguments say nothing."""
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None


def refusal(signature, positional, named):
    """Why a call is refused, in Python's words; None: it is taken."""
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        return str(error)
    return None


def kernel_mistakes(what, function, schema):
    """(rule, text) for a function that is called like the operator."""
    signature = signature_of(function)
    if signature is None:
        return
    by_place = [argument for argument in schema.arguments if not argument.kwarg_only]
    by_name = [argument for argument in schema.arguments if argument.kwarg_only]
    calls = [(by_place[:count], by_name) for count in range(len(by_place) + 1) if all(a.has_default_value() for a in by_place[count:])]
    calls += [(by_place, [argument for argument in by_name if not argument.has_default_value()])]
    for placed, named in calls:
        why = refusal(signature, [argument.name for argument in placed], {argument.name: None for argument in named})
        if why is not None:
            given = ", ".join([argument.name for argument in placed] + [f"{argument.name}=…" for argument in named])
            yield "registration.python_signature", f"{what} cannot be called with ({given}), which the schema allows: {why}"
            return
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]
    order = [argument.name for argument in by_place]
    moved = [name for i, name in enumerate(own) if name in order and order.index(name) != i]
    if moved:
        yield "registration.python_order", (f"{what} takes ({', '.join(own)}), and the schema's order is ({', '.join(order)}): it gets another "
                                            f"argument as {moved[0]}")


def setup_mistakes(function, schema):
    """torch calls it by these names, as register_autograd says."""
    signature = signature_of(function)
    if signature is None:
        return
    names = ["ctx", "inputs", "output"] + ["keyword_only_inputs"] * any(argument.kwarg_only for argument in schema.arguments)
    why = refusal(signature, [], dict.fromkeys(names))
    if why is not None:
        yield "registration.python_signature", f"setup_context cannot be called with ({', '.join(f'{name}=…' for name in names)}): {why}"


def backward_mistakes(function, schema):
    signature, count = signature_of(function), len(schema.returns)
    why = None if signature is None else refusal(signature, [None] * (1 + count), {})
    if why is not None:
        yield "registration.python_signature", (f"backward cannot be called with ctx and the {'gradient' if count == 1 else 'gradients'} of "
                                                f"{count} {'result' if count == 1 else 'results'}: {why}")


def mistakes(name, functions):
    """[[rule, text]…]. functions: (dispatch key, name of torch.library's argument, function)."""
    try:
        schema = schema_of(name)
    except Exception:  # no such operator
        return []
    found = []
    for key, role, function in functions:
        if role == "setup_context":
            found.extend(setup_mistakes(function, schema))
        elif role == "backward":
            found.extend(backward_mistakes(function, schema))
        elif not key.startswith("Autograd"):
            found.extend(kernel_mistakes("the fake kernel" if key == "Meta" else f"the kernel for {key}", function, schema))
    return [list(mistake) for mistake in dict.fromkeys(found)]
