"""Processes of this machine, as /proc tells of them."""
import ctypes, os, signal, time

class Missing(Exception):
    """What was waited for does not come."""

def wait_until(what, is_so, seconds=60, pause=0.01):
    """Waits until something is so, and gives the moment at which that was seen."""
    until = time.time() + seconds
    while not is_so():
        if time.time() > until:
            raise Missing(f"{what}: not within {seconds} s")
        time.sleep(pause)
    return time.time()

def adopt():
    """Whoever loses its parent becomes a child of this process, so that nothing that was started gets out of sight."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

def read(pid, name):
    """A file of a process; empty where that is gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""

def everything():
    """The parent and the state of each process."""
    rows = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = read(name, "stat").rpartition(b") ")[2].split()
        if fields:
            rows[int(name)] = (int(fields[1]), fields[0].decode())
    return rows

def below(root, rows=None):
    """The processes that descend from another one and have not ended."""
    rows = rows or everything()
    found, fresh = set(), {root}
    while fresh:
        fresh = {pid for pid, (parent, _) in rows.items() if parent in fresh and pid not in found}
        found |= fresh
    return {pid for pid in found if rows[pid][1] not in "ZX"}

def words(pid):
    return read(pid, "cmdline").split(b"\0")

def lives(pid):
    return everything().get(pid, (0, "X"))[1] not in "ZX"

def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

def stop_all(root):
    """Stops a process and all that descends from it, also what is being started meanwhile; -> all of them."""
    stopped = set()
    while fresh := (below(root) | {root}) - stopped:
        send(fresh, signal.SIGSTOP)
        stopped |= fresh
    return stopped

def kill_all(root):
    """Ends a process and all that descends from it as the loss of its machine would: none of them does anything any more."""
    stopped, rows = stop_all(root), everything()
    def depth(pid):
        return 1 + depth(rows[pid][0]) if pid != root and pid in rows else 0
    # The deepest first: what stands still and loses its parent is woken by the kernel, and told to end.
    for pid in sorted(stopped, key=depth, reverse=True):
        send([pid], signal.SIGKILL)

def reap(own):
    """Takes leave of ended processes that were adopted; those of which a `Popen` is at hand are its own."""
    for pid, (parent, state) in everything().items():
        if state == "Z" and parent == os.getpid() and pid not in own:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass

def children(folder):
    """The processes that stand for agents of the run of a mission, each with its supervisor."""
    prefix = f"{folder}/".encode()
    rows = everything()
    found = ((pid, parent, words(pid)) for pid, (parent, state) in rows.items() if state not in "ZX")
    return [(pid, parent) for pid, parent, said in found if said[1:2] == [b"--carried"] and said[2].startswith(prefix)]

def sleepers(seconds):
    """The processes that sleep for so many seconds, by their command lines."""
    sought = [b"sleep", str(seconds).encode()]
    return [pid for pid, (_, state) in everything().items() if state not in "ZX" and words(pid)[:2] == sought]
