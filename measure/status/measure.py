#!/usr/bin/env python3
"""measure.py QUORUM [--tasks N] [--share S] [--rounds R] [--folder DIR]: CPU of `quorum status` of a run that was killed.

A mission of N tasks that start /bin/true, three needs each, is run until a share S of it is done; then the session gets SIGKILL.
`status` for people is measured as the crash left the folder and with its snapshot put aside, `status --json` as well: user plus
system time in milliseconds, the median and the range of R rounds. Nothing is written outside of DIR (a temporary folder that is
removed, where none is given), the operator's key included."""
import argparse, json, os, resource, statistics, subprocess, sys, tempfile, time

def mission(tasks):
    lines = ["name: layers", "agents: {noop: {run: [/bin/true], input: none}}", "settings: {concurrency: 2, evaluate: false}", "tasks:"]
    width = 50
    for n in range(tasks):
        row, column = divmod(n, width)
        needs = [(row - 1) * width + (column + step) % width for step in (0, 1, 7)] if row else []
        needs = ", ".join(f"t{need}" for need in needs)
        lines.append(f"  - {{title: t{n}, dependsOn: [{needs}]}}")
    return "\n".join(lines) + "\n"

def cpu_ms(command, **how):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, **how)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000, done.stdout

def measure(name, command, rounds, **how):
    times, text = zip(*(cpu_ms(command, **how) for _ in range(rounds)))
    print(f"{name}: {statistics.median(times):.0f} ms CPU ({min(times):.0f} to {max(times):.0f})")
    return text[0].decode()

def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("quorum")
    p.add_argument("--tasks", type=int, default=100_000)
    p.add_argument("--share", type=float, default=0.43)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--folder")
    a = p.parse_args()
    temporary = None if a.folder else tempfile.TemporaryDirectory()
    folder = a.folder or temporary.name
    os.makedirs(folder, exist_ok=True)
    quorum, run = os.path.abspath(a.quorum), f"{folder}/.polpo/runs/killed"
    how = {"cwd": folder, "env": dict(os.environ, XDG_STATE_HOME=f"{folder}/operator")}
    if not os.path.exists(run):
        with open(f"{folder}/mission.yaml", "w") as file:
            file.write(mission(a.tasks))
        session = subprocess.Popen([quorum, "run", "mission.yaml", "--run-id", "killed", "--progress", "none"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)
        started = lambda: sum(1 for line in open(f"{run}/journal.jsonl", "rb")) if os.path.exists(run) else 0
        # Two records a task; counted now and then only, as the count reads the whole journal.
        while started() < 2 * a.tasks * a.share:
            if session.poll() is not None:
                sys.exit("the run ended before it was killed")
            time.sleep(0.5)
        session.kill()
        session.wait()
        time.sleep(1)
    size = lambda name: os.path.getsize(f"{run}/{name}") if os.path.exists(f"{run}/{name}") else 0
    print(f"journal {size('journal.jsonl')} bytes, snapshot {size('state.json')} bytes, mission {size('mission.yaml')} bytes")
    shown = measure("status", [quorum, "status", "killed"], a.rounds, **how)
    print("\n".join(line for line in shown.splitlines() if not line.startswith(" ")))
    document = json.loads(measure("status --json", [quorum, "status", "killed", "--json"], a.rounds, **how))
    print(document["state"], document["counts"])
    if size("state.json"):
        os.rename(f"{run}/state.json", f"{run}/state.aside")
        measure("status without the snapshot", [quorum, "status", "killed"], a.rounds, **how)
        os.rename(f"{run}/state.aside", f"{run}/state.json")

main()
