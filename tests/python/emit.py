#!/usr/bin/env python3
"""emit.py OPCHECK PYTHON FOLDER WORK: the programs of `run --emit python` show what they say.

For a broken operator of each check, FOLDER's libbroken_CHECK.so, the program must fail; with the name of the correct
look-alike in place of the operator's, it must not. Checks that no program can show must say why, before anything runs.
"""
import os
import re
import subprocess
import sys

# Library, case, look-alike (None: the program is about the operator's registration, or there is none), what is printed.
SHOWN = [
    ("stride", "broken_stride::ignores_strides/stride/cpu/-/sample/x.transposed", "ok_strided", "element"),
    ("stride", "broken_stride::in_list/stride/cpu/-/sample/tensors[1].transposed", None, "element"),
    ("mutation", "broken_mutation::scales_slightly/mutation/cpu/-/sample/plain", "ok_copy_and_restores", "x is not declared mutable"),
    ("mutation", "broken_mutation::writes_gaps/mutation/cpu/-/sample/x.sliced", "ok_copy_and_restores", "outside of x"),
    ("mutation", "broken_mutation::fills_raw/mutation/cpu/-/sample/plain", "ok_in_place", "version counter"),
    ("mutation", "broken_mutation::declared_not_written/mutation/cpu/-/-/-", "ok_in_place", "x is declared mutable and was not"),
    ("alias", "broken_alias::returns_input/alias/cpu/-/sample/plain", "ok_copy", "is x itself"),
    ("alias", "broken_alias::view/alias/cpu/-/sample/plain", "ok_copy", "memory of x"),
    ("alias", "broken_alias::outputs_share/alias/cpu/-/sample/plain", "ok_two_outputs", "two outputs"),
    ("meta", "broken_meta::stride/meta/cpu/-/sample/plain", "ok_copy", "stride is [2, 1] from the real kernel and [1, 2]"),
    ("meta", "broken_meta::count/meta/cpu/-/sample/plain", "ok_unstack", "returns 2"),
    ("meta", "broken_meta::count/meta/cpu/-/sample/x.empty0", "ok_unstack", "the Meta kernel throws"),
    ("memory", "broken_memory::reads_past_end/memory/cpu/-/sample/plain", "ok_reads", "SIGSEGV"),
    ("memory", "broken_memory::reads_before/memory/cpu/-/sample/plain", "ok_reads", "SIGSEGV"),
    ("empty", "broken_empty::divides_by_zero/memory/cpu/-/sample/x.empty1", "ok_scaled", "SIGFPE"),
    ("dtype", "broken_dtype::bfloat16_as_half/dtype/cpu/bfloat16/sample/plain", None, "element"),
    ("initialisation", "broken_initialisation::never_written/initialisation/cpu/-/sample/plain", "ok_copy", "element"),
    ("bitwise", "broken_bitwise::adds_zero/bitwise/cpu/-/sample/x.negative_zero", "ok_copy", "0.0 and -0.0"),
    ("reference", "broken_reference::largest_above_zero/reference/cpu/bool/sample/plain", "ok_largest", "torch.int64"),
    ("crash", "broken_crash::segfaults/memory/cpu/-/sample/plain", "ok_copies", "SIGSEGV ended the process"),
    ("crash", "broken_crash::exits/memory/cpu/-/sample/plain", "ok_copies", "exit status 0"),
    ("crash", "broken_crash::throws_number/memory/cpu/-/sample/plain", "ok_copies", "unknown exception"),
    ("sample", "broken_sample::rejected/memory/cpu/-/sample/plain", None, "it throws: rejected"),
    ("state", "broken_state::turns_grad_off/state/cpu/-/sample/plain", "ok_guards_inference", "grad mode"),
    ("leak", "broken_leak::leaves_file_open/leak/cpu/-/sample/plain", "ok_closes_file", "files open"),
    ("leak", "broken_leak::keeps_last_argument/leak/cpu/-/sample/plain", "ok_keeps_copy_of_last", "still in use"),
    ("autograd", "broken_autograd::wrong_factor/autograd/cpu/-/sample/plain", "ok_cube", "Jacobian mismatch"),
    ("autograd", "broken_autograd::input_as_dense/autograd/cpu/-/sample/plain", "ok_cube", "element"),
    ("autograd", "broken_autograd::spends_state/autograd/cpu/-/sample/plain", "ok_cube", "element"),
    ("vmap", "broken_vmap::rule_throws/vmap/cpu/-/sample/plain", "ok_batch_is_anywhere", "torch.vmap throws"),
    ("determinism", "broken_determinism::counts_calls/determinism/cpu/-/sample/plain", "ok_scratch_of_a_thread", "element"),
    ("determinism", "broken_determinism::noise_without_tag/determinism/cpu/-/sample/plain", "ok_own_generator", "generator changed"),
    ("registration", "broken_registration::no_kernel/registration/-/-/-/-", "ok_kernels", "no kernel serves CPU"),
]

# Library, case, why there is no program.
NOT_SHOWN = [
    ("memory", "broken_memory::writes_past_output/memory/cpu/-/sample/plain", "--emit cpp can"),
    ("memory", "broken_memory::a/device/cpu/-/sample/plain", "check device finds: it needs two devices"),
    ("tags", "broken_tags::a/tags/cpu/-/sample/plain", "check tags finds"),
    ("stride", "broken_stride::ignores_strides/stride/cuda/-/sample/plain", "programs are only for the CPU"),
]

# Imports torch once. A child leaves without taking it down, which takes longer than the program.
RUNNER = """
import os, runpy, sys, torch
for file in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        sys.stderr = sys.stdout
        code = 0
        try:
            runpy.run_path(file, run_name="__main__")
        except SystemExit as left:
            code = left.code
        sys.stdout.flush()
        os._exit(code)
    print("STATUS", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def emit(opcheck, folder, library, case, language, file):
    command = [opcheck, "run", "--case", case, "--emit", language, file, os.path.join(folder, f"libbroken_{library}.so")]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def programs(opcheck, folder, work):
    """(what it is, file, status that is expected, text that is expected)"""
    found = []
    for number, (library, case, look_alike, text) in enumerate(SHOWN):
        file = os.path.join(work, f"{number}.py")
        done = emit(opcheck, folder, library, case, "python", file)
        if not os.path.exists(file):
            print(f"{case}: exit status {done.returncode}: {done.stdout}{done.stderr}")
            continue
        found.append((case, file, 1, text))
        if look_alike:
            operator = case.split("/", 1)[0].split("::")[1]
            with open(file, encoding="utf-8") as stream:
                source = stream.read()
            other = re.sub(rf"^op = torch\.ops\.(\w+)\.{operator}\.", rf"op = torch.ops.\1.{look_alike}.", source, flags=re.M)
            assert other != source, f"{case}: the program does not name its operator"
            with open(file + ".ok.py", "w", encoding="utf-8") as stream:
                stream.write(other)
            found.append((f"{case}, with {look_alike}", file + ".ok.py", 0, "does not fail"))
    return found


def main(opcheck, python, folder, work):
    os.makedirs(work, exist_ok=True)
    for name in os.listdir(work):
        os.unlink(os.path.join(work, name))
    errors = []
    expected = programs(opcheck, folder, work)
    run = subprocess.run([python, "-c", RUNNER] + [file for _, file, _, _ in expected], capture_output=True, text=True, timeout=500)
    outputs = re.split(r"^STATUS (-?\d+)$", run.stdout, flags=re.M)
    for (what, file, status, text), output, code in zip(expected, outputs[0::2], outputs[1::2]):
        if int(code) != status or text not in output:
            errors.append(f"{what} ({file}): exit status {code}, wanted {status} and \"{text}\":{output}")
    wanted = sum(2 if look_alike else 1 for _, _, look_alike, _ in SHOWN)
    if len(outputs) // 2 != wanted:
        errors.append(f"{len(outputs) // 2} of {wanted} programs ran: {run.stderr}")
    for library, case, why in NOT_SHOWN:
        file = os.path.join(work, "none.py")
        done = emit(opcheck, folder, library, case, "python", file)
        if done.returncode != 2 or why not in done.stderr or os.path.exists(file):
            errors.append(f"{case}: exit status {done.returncode}, wanted 2 and \"{why}\": {done.stderr}")
    case = "broken_stride::ok_strided/stride/cpu/-/sample/x.transposed"
    done = emit(opcheck, folder, "stride", case, "python", os.path.join(work, "none.py"))
    if done.returncode != 0 or "the case does not fail" not in done.stdout + done.stderr:
        errors.append(f"{case}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    print("\n".join(errors) if errors else f"{len(expected)} programs do what they say")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
