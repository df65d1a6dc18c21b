"""Runs one command and writes what it cost to a file as JSON: start on the
monotonic clock, wall and CPU seconds, peak memory, exit code.

Node does not tell what a child process used, wait4() does; that is all this program is for.
usage: measure.py <result file> <command> [argument...]
"""
import json
import os
import sys
import time

result, command = sys.argv[1], sys.argv[2:]
start = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - start
unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB elsewhere
with open(result, "w") as file:
    json.dump(
        {
            "start": start,
            "wall": wall,
            "cpu": usage.ru_utime + usage.ru_stime,
            "peakBytes": usage.ru_maxrss * unit,
            "exitCode": os.waitstatus_to_exitcode(status),
        },
        file,
    )
