"""scripts/bench --ptx: what the PTX machine does in a second, and what kernels that run without a GPU add to a run."""

import json
import statistics
import subprocess

from processes import timed


def main(tool, build, library, runs):
    rows = json.loads(subprocess.run([build / "tests/bench_ptx", build / "fixtures/libbroken_launch.so", library], check=True, stdout=subprocess.PIPE, text=True).stdout)
    print("PTX machine, one core, processor time, the fastest of 5 runs")
    for row in rows:
        print(f"  {row['kernel']:<48} {row['instructions'] / 1e6:8.1f} M lane instructions  {1e3 * row['seconds']:8.1f} ms  {row['instructions'] / row['seconds'] / 1e6:6.0f} M/s")
    total = sum(row["instructions"] for row in rows) / sum(row["seconds"] for row in rows)
    print(f"  {'all of them':<48} {total / 1e6:.0f} M/s")
    without, with_machine = [], []
    for _ in range(max(2, runs // 2)):
        without.append(timed([tool, "run", library])[1])
        with_machine.append(timed([tool, "run", "--device", "cpu,cuda-sim", library])[1])
    ratio = statistics.median(b / a for a, b in zip(without, with_machine))
    print(f"reference operators, processor time: {statistics.median(without):.1f} s on the CPU, {statistics.median(with_machine):.1f} s with cuda-sim too; ratio {ratio:.2f}")
