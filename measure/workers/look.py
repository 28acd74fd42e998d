"""look.py: what an agent that looks for them finds of the texts in `look.json`, which stand there backwards. It prints one document."""
import json, os, socket

with open("look.json", encoding="utf-8") as file:
    sought = json.load(file)
texts = {name: text[::-1].encode() for name, text in sought["texts"].items()}
found = set()

def look(where, data):
    # A table of mounts names what is kept from its reader; whether that can be read or written is tried below.
    is_told = where.endswith(("/mountinfo", "/mounts"))
    found.update(f"{name} in {where}" for name, text in texts.items() if text in data and not (is_told and name == "exchange"))

def read(path, most=4 << 20):
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError:
        return b""

for name, value in os.environ.items():
    look(f"the variable {name}", f"{name}={value}".encode())
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ["environ", "cmdline", "mountinfo"]:
        look(f"/proc/PID/{name}", read(f"/proc/{pid}/{name}"))
    for name in ["cwd", "exe", "root"]:
        try:
            look(f"/proc/PID/{name}", os.readlink(f"/proc/{pid}/{name}").encode())
        except OSError:
            pass
for name in ["/proc/self/environ", "/proc/net/unix", "/proc/mounts"]:
    look(name, read(name))
machine, exchange = (sought[name][::-1] for name in ["machine", "exchange"])
for root in [machine, os.getcwd(), os.path.dirname(os.environ.get("QUORUM_TASK_DIR", os.getcwd()))]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            look(f"the name {os.path.relpath(path, machine)}", os.path.relpath(path, machine).encode())
            if not os.path.islink(path) and os.path.isfile(path) and not os.path.samefile(path, "look.json"):
                look(f"the file {os.path.relpath(path, machine)}", read(path))
jobs = os.path.join(machine, ".cache/quorum/worker/jobs")
own = os.path.relpath(os.getcwd(), jobs).split("/")
for worker in os.listdir(jobs) if os.path.isdir(jobs) else []:
    names = os.listdir(os.path.join(jobs, worker))
    found.update(f"another job: {worker}/{name}" for name in names if [worker, name] != own[:2])
try:
    found.update("a part of what was fetched" for _ in os.listdir(os.path.join(machine, ".cache/quorum/worker/cache")))
except OSError:
    pass
try:
    found.update("the exchange, to read" for _ in os.listdir(exchange))
    with open(os.path.join(exchange, "written"), "w", encoding="utf-8"):
        found.add("the exchange, to write")
except OSError:
    pass
reached = []
for name, port in sought["ports"].items():
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
        reached.append(name)
    except OSError:
        pass
print(json.dumps({"found": sorted(found), "reached": sorted(reached), "home": os.environ.get("HOME", "").endswith(machine.split("/")[-1])}))
