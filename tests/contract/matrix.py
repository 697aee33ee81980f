#!/usr/bin/env python3
"""Runs broken operators and their look-alikes, and holds the findings against the expectation file. Standard library only.

An expectation file: {"device": "cuda-sim", "options": ["--memory", "256"], "operators": {"ns::op": {"primary": RULE, "or": [RULE, …], "allowed": [RULE, …], "searched": [RULE, …], "arguments": [ARGUMENT, …],
"says": TEXT, "severity": "warning", "on_device": true, "not_sanitized": REASON, "since": "2.10", "until": "2.12"}}}. A custom class is named as an operator is,
ns::Name, and a library's file library::FILE. "or": what finds it in place of the primary rule with another version of libtorch, or on a GPU.
Samples are in the file of the same name beside it, else beside the library. A broken operator's
run exits 1, finds its primary rule (with the text in its message, and of that severity), and nothing besides but what is allowed, or what is "searched" and shows on searched input alone. A look-alike has "primary": null: exit 0, no finding, no warning;
"allowed" names what is true of it all the same, as that torch.compile takes no operator that is declared a view, and must show.
"options" are given to every run. The device is cpu where none is named. What is named for another is run there, and once more with --unharmed on the CPU, where its kernels are right: no finding on
any operator, and no pass without a kernel for it.
What is "on_device" is read from a file, and is about the device all the same: it takes one.
With --torch VERSION, operators are left out whose tags or dtypes only a later libtorch has ("since"), or that a later libtorch keeps from doing it ("until").
With --sanitized, which a build with OPC_SANITIZE gives, nothing is expected of an operator that has a reason for it.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def read_expectations(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["operators"]


def options_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file).get("options", [])


def device_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file).get("device", "cpu")


def numbers(version):
    return [int(number) for number in version.split(".")[:2]]


def is_in(options, expectation):
    return not options.torch or numbers(expectation.get("since", "0.0")) <= numbers(options.torch) <= numbers(expectation.get("until", "99.0"))


def tested(expectations, options):
    known = [name for name, expectation in expectations.items() if is_in(options, expectation)]
    return [name for name in known if not (options.sanitized and expectations[name].get("not_sanitized"))]


def arguments_of(expectation, folder):
    """Arguments that are files beside the expectation file are made absolute."""
    beside = [(os.path.join(folder, word), word) for word in expectation.get("arguments", [])]
    return [path if os.path.exists(path) else word for path, word in beside]


def leave(why):
    print(f"SKIP: {why}")
    sys.exit(SKIPPED)


def leave_without_device(report):
    """The simulated device needs all of libtorch's CUDA libraries; where they are not, there is nothing to hold against anything."""
    absent = [result["message"] for result in report["results"] if result["reason"] == "no_device"]
    if absent:
        leave(absent[0])


def take_device(options):
    done = subprocess.run([options.opcheck, "devices", "--format", "json"], capture_output=True, text=True, check=True)
    device = json.loads(done.stdout)[options.device]
    if not device["count"]:
        leave(device["detail"])


def samples_for(options, path, folder):
    """The sample file, or one in the folder without the samples of operators that this libtorch cannot have."""
    expectations = read_expectations(options.expectation[0])
    absent = {name for name, expectation in expectations.items() if not is_in(options, expectation)}
    if not absent:
        return path
    with open(path, encoding="utf-8") as file:
        read = json.load(file)
    read["samples"] = [sample for sample in read["samples"] if sample["operator"] not in absent]
    fewer = os.path.join(folder, os.path.basename(path))
    with open(fewer, "w", encoding="utf-8") as file:
        json.dump(read, file)
    return fewer


def run_opcheck(options, extra, operator):
    samples = re.sub(r"\.expect\.json$", ".samples.json", options.expectation[0])
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [options.opcheck, "run", "--strict", "--device", options.device, "--json", report, *extra]
        command += ["--samples", samples_for(options, samples, folder)] if os.path.exists(samples) else []
        command += options.run_options
        command += ["--op", operator] if operator else []
        command += ["--python", options.module, "--python-executable", options.python] if options.module else []
        command += [options.library] if options.library else []
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        try:
            with open(report, encoding="utf-8") as file:
                read = json.load(file)
            leave_without_device(read)
            return done, read
        except (OSError, ValueError) as error:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}exit {done.returncode}; no report: {error}")


# Findings about arguments that the check made itself, beside those of the case.
MADE_INSIDE = {"autograd.input_layout", "tags.flexible_layout", "tags.needs_fixed_stride_order", "tags.needs_contiguous_strides",
               "symbolic.hard_coded", "symbolic.specialises", "determinism.threads", "determinism.concurrent"}


def findings_of(report, operator):
    """Rule -> first (case, message, severity), those in evidence.also too."""
    found = {}
    for result in report["results"]:
        if result["operator"] != operator or result["verdict"] not in ("fail", "error"):
            continue
        found.setdefault(result["rule"], (result["case"], result["message"], result["severity"]))
        for also in (result.get("evidence") or {}).get("also", []):
            found.setdefault(also["rule"], (result["case"], also["message"], also.get("severity", result["severity"])))
    return found


def only_on_searched_input(report, operator, rule):
    """Every finding of the rule is on an input that the search found: "searched" of an expectation, where a declared sample must not show it."""
    return all(result["standing"].startswith("searched/") for result in report["results"]
               if result["operator"] == operator and result["rule"] == rule and result["verdict"] in ("fail", "error"))


def mistakes_of(operator, expectation, report):
    found = findings_of(report, operator)
    verdicts = {result["verdict"] for result in report["results"] if result["operator"] == operator}
    primary, wrong = expectation["primary"], []
    if primary is not None and primary not in found:
        primary = next((rule for rule in expectation.get("or", []) if rule in found), primary)
    if not verdicts:
        wrong.append("no case ran")
    if primary is not None and primary not in found:
        wrong.append(f"{primary} was not found")
    elif primary is not None and expectation.get("says", "") not in found[primary][1]:
        wrong.append(f"the message does not say \"{expectation['says']}\": {found[primary][1]}")
    elif primary is not None and found[primary][2] != expectation.get("severity", found[primary][2]):
        wrong.append(f"{primary} has severity {found[primary][2]}")
    if primary is None:
        wrong += [f"{rule} was not found" for rule in expectation.get("allowed", []) if rule not in found]
    if primary is None and "pass" not in verdicts:
        wrong.append("nothing passed: a look-alike that is only skipped shows nothing")
    searched = {rule for rule in expectation.get("searched", []) if only_on_searched_input(report, operator, rule)}
    for rule in sorted(set(found) - {primary, *expectation.get("allowed", []), *searched}):
        case, message, _ = found[rule]
        wrong.append(f"{rule} is not expected: {case}: {message}")
    for result in report["results"]:
        if result["operator"] == operator and result["verdict"] in ("fail", "error") and not result["evidence"].get("why"):
            wrong.append(f"{result['case']}: its evidence does not say why it was tried")
        if result["operator"] == operator and result["rule"] in MADE_INSIDE and not result["evidence"].get("variants"):
            wrong.append(f"{result['case']}: its evidence does not name the variant that the check made")
    return [f"{operator}: {line}" for line in wrong]


def mistakes_of_exit(expectations, done):
    wanted = int(any(expectation["primary"] or expectation.get("allowed") for expectation in expectations))
    return [] if done.returncode == wanted else [f"exit status {done.returncode}, expected {wanted}"]


def check_operator(options):
    path = options.expectation[0]
    expectation = read_expectations(path)[options.operator]
    if expectation.get("on_device"):
        take_device(options)
    done, report = run_opcheck(options, arguments_of(expectation, os.path.dirname(path)), options.operator)
    return mistakes_of(options.operator, expectation, report) + mistakes_of_exit([expectation], done), done


def check_library(options):
    """All operators of a library in one run: none is forgotten by the expectation file, and none disturbs another."""
    path = options.expectation[0]
    expectations = read_expectations(path)
    extra = [word for expectation in expectations.values() for word in arguments_of(expectation, os.path.dirname(path))]
    done, report = run_opcheck(options, extra, None)
    wrong = [line for name in tested(expectations, options) for line in mistakes_of(name, expectations[name], report)]
    wrong += mistakes_of_exit([expectations[name] for name in tested(expectations, options)], done)
    listed = {operator["name"] for operator in report["operators"]}
    wrong += [f"{name} is in the library and not in the expectation file" for name in sorted(listed - set(expectations))]
    classes = {"::".join(class_["name"].rsplit(".", 1)) for class_ in report["classes"]}
    classes |= {library["checked_as"] for library in report["libraries"] if "checked_as" in library}
    wrong += [f"{name} is in the expectation file and not in the library" for name in sorted(set(tested(expectations, options)) - listed - classes)]
    wrong += [f"{result['case']} is not expected: {result['message']}" for result in report["results"]
              if result["operator"] not in expectations and (result["rule"] or "").startswith("state.load")]
    return wrong, done


def check_unharmed(options):
    """On the CPU: operators with a kernel for it pass, and those without one are refused cleanly."""
    path = options.expectation[0]
    done, report = run_opcheck(options, [], None)
    of_operators = [result for result in report["results"] if not result["operator"].startswith("library::")]
    wrong = [f"{result['case']}: {result['message']}" for result in of_operators if result["verdict"] in ("fail", "error")]
    passed = {result["operator"] for result in report["results"] if result["verdict"] == "pass" and "/cpu/" in result["case"]}
    served = {operator["name"] for operator in report["operators"] if {"CPU", "CompositeExplicitAutograd"} & set(operator["dispatch_keys"])}
    wrong += [f"{name}: nothing passed" for name in sorted(served - passed)]
    known = {operator["name"] for operator in report["operators"]} | {library.get("checked_as") for library in report["libraries"]}
    wrong += [f"{name} is not in the library" for name in sorted(set(read_expectations(path)) - known)]
    if not served:
        wrong.append("no operator has a kernel for the CPU")
    broken = any(result["verdict"] in ("fail", "error") for result in report["results"])
    if done.returncode != broken:
        wrong.append(f"exit status {done.returncode}, expected {int(broken)}")
    return wrong, done


def check_rules(options):
    """Every rule that the program knows is some operator's primary: a rule that cannot fail is no check."""
    done = subprocess.run([options.opcheck, "checks"], capture_output=True, text=True, check=True)
    rules = re.findall(r"^  ([a-z0-9_]+(?:\.[a-z0-9_]+)?) ", done.stdout, re.MULTILINE)
    primaries = set()
    for path in options.expectation:
        primaries |= {expectation["primary"] for expectation in read_expectations(path).values()}
    primaries |= {"signal" for primary in primaries if primary and primary.startswith("signal.")}
    wrong = [f"no operator's primary: {rule}" for rule in rules if rule not in primaries]
    wrong += [f"no such rule: {rule}" for rule in sorted(primaries - {None} - set(rules)) if not rule.startswith("signal.")]
    return wrong + ([] if len(rules) > 40 else [f"only {len(rules)} rules were read from the list"]), done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opcheck")
    parser.add_argument("--library")
    parser.add_argument("--list", action="store_true", help="print the operators of the expectation file")
    parser.add_argument("--operator", help="check this one")
    parser.add_argument("--complete", action="store_true", help="check all in one run")
    parser.add_argument("--unharmed", action="store_true", help="run all on the CPU, where nothing is to be found")
    parser.add_argument("--rules", action="store_true", help="check that every rule is somebody's primary")
    parser.add_argument("--torch", help="the version of libtorch, 2.11")
    parser.add_argument("--module", help="a Python module; with a library, it adds kernels to its operators")
    parser.add_argument("--python", help="the Python that imports the module")
    parser.add_argument("--sanitized", action="store_true", help="the programs were built with OPC_SANITIZE")
    parser.add_argument("expectation", nargs="+")
    options = parser.parse_args()
    if options.list:
        print("\n".join(tested(read_expectations(options.expectation[0]), options)))
        return 0
    options.device = "cpu" if options.unharmed else device_of(options.expectation[0])
    options.run_options = options_of(options.expectation[0])
    check = check_rules if options.rules else check_unharmed if options.unharmed else check_library if options.complete else check_operator
    wrong, done = check(options)
    if wrong:
        print("\n".join(wrong) + "\n")
        print(done.stdout + done.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
