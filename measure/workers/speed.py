"""What work on other machines costs."""
import collections, json, os, statistics, subprocess, threading, time

from processes import children, read, wait_until
from scene import fail, lines, show, text

# Tasks by what becomes of their work, beside plain ones: it is sent back once, is judged, or is accepted below its bar.
KINDS = {1: "back", 2: "good", 3: "poor"}

def turn(scene, arguments):
    """A turn of `true`, one at a time; the last fifty of many beside the first."""
    medians, growth = [], []
    scene.worker()
    for _ in range(arguments.rounds):
        folder = scene.mission("true", arguments.tasks)
        scene.run(folder)
        took = scene.turns(folder)
        if len(took) < arguments.tasks:
            fail(f"{len(took)} turns of {arguments.tasks} are told")
        medians.append(statistics.median(took))
        part = min(50, len(took) // 2)
        growth.append(statistics.median(took[-part:]) / statistics.median(took[:part]))
    show("whole turn of true", medians, "ms", "200 ms")
    show("the last turns against the first", growth, "x", "1.3 x")

def many(scene, arguments):
    """Many tasks, three workers of four slots, and a ledger outside of all; once more without a queue, which tells what is expected."""
    for _ in range(3):
        scene.worker(4)
    expected, rates = many_of(scene, arguments, None)[0], []
    for _ in range(arguments.rounds):
        found, seconds = many_of(scene, arguments, "gpu")
        rates.append(arguments.tasks / seconds)
        for what in expected:
            if found[what] != expected[what]:
                fail(f"{what} are other ones than of a local run: {difference(found[what], expected[what])}")
    show(f"{arguments.tasks} tasks, 3 workers x 4 slots", rates, "tasks/s", "each turn begun once; statuses, scores, flags as locally")

def many_of(scene, arguments, queue):
    """What came of many tasks, and the seconds that they took."""
    ledger = f"{scene.folder}/ledger-{scene.missions}"
    script = f"""cat > /dev/null
echo $QUORUM_TASK.$QUORUM_ATTEMPT.$QUORUM_TURN >> {ledger}
case $QUORUM_TASK.$QUORUM_ATTEMPT in back-*.1) echo wrong;; *) echo right;; esac > $QUORUM_TASK.txt"""
    titles = [f"{KINDS.get(number % 10, 'plain')}-{number}" for number in range(arguments.tasks)]
    folder = scene.mission(script, [task_of(title) for title in titles], 12, agents=JUDGES, queue=queue, settings={"evaluate": True})
    # What is below its bar would be merged by nobody.
    seconds = scene.run(folder, "--allow", "below_threshold")
    begun = collections.Counter(lines(ledger))
    made = {name for name in os.listdir(folder) if name.endswith(".txt")}
    if set(begun.values()) != {1}:
        fail(f"begun more than once: {[turn for turn, times in begun.items() if times > 1]}")
    if made != {f"{title}.txt" for title in titles}:
        fail(f"{len(made)} files are merged, of {arguments.tasks}")
    status = scene.status(folder)
    of_task = ["title", "status", "phase", "nothingToDo", "qualityFlag", "points", "score", "bar", "barOrigin", "attempts",
               "dimensions", "failure", "waiting", "dependsOn", "blockedBy"]
    found = {"turns": sorted(begun), "tasks": [{key: task.get(key) for key in of_task} for task in status["tasks"]]}
    for key in ["state", "outcome", "exitCode", "conditions", "allowed", "cancelled", "unconfined", "audit", "counts", "gates",
                "missionScore", "approvals", "warnings"]:
        found[key] = status.get(key)
    found["requests"] = [request["task"] for request in status["requests"]]
    if {task["status"] for task in status["tasks"]} != {"done"}:
        fail(f"not all are done: {status['counts']}")
    return found, seconds

def judge_of(score):
    reply = {"scores": {"depth": {"reasoning": "seen", "score": score}}, "findings": []}
    return {"run": f"cat > /dev/null; echo '{json.dumps(reply)}'", "role": "reviewer"}

JUDGES = {"kind": judge_of(5), "strict": judge_of(2)}

def task_of(title):
    kind = title.split("-")[0]
    review = {"type": "llm_review", "threshold": 3, "dimensions": [{"name": "depth", "weight": 1}]}
    more = {
        "back": {"review": "none", "expectations": [{"type": "test", "command": f"grep -q right {title}.txt"}]},
        "good": {"expectations": [{**review, "reviewers": ["kind"]}]},
        "poor": {"expectations": [{**review, "reviewers": ["strict"]}], "maxAttempts": 1, "onExhausted": "accept"},
    }
    return {"title": title, **more.get(kind, {"review": "none"})}

def difference(found, expected):
    """The first part of two documents in which they differ."""
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return next(difference(*pair) for pair in zip(found, expected) if pair[0] != pair[1])
    if isinstance(found, dict) and isinstance(expected, dict):
        key = next(key for key in found if found[key] != expected.get(key))
        return f"{found.get('title', '')} {key}: {difference(found[key], expected.get(key))}"
    return f"{found}, locally {expected}"

def throughput(scene, arguments):
    """Tasks a second in worktrees, each of which makes a file."""
    for at_once in [1, 8]:
        rates, tasks = [], min(60, arguments.tasks)
        for _ in range(2):
            scene.worker(4)
        for _ in range(arguments.rounds):
            rates.append(tasks / scene.run(scene.mission("echo work > $QUORUM_TASK.txt", tasks, at_once)))
        scene.end_workers()
        show(f"{tasks} tasks, {at_once} at once", rates, "tasks/s", "4/s")

def output(scene, arguments):
    """10 MB that are printed and a file of 3 MB, beside a turn without; what the server keeps of it; and how far `logs -f` is behind."""
    scene.worker(2)
    more, behind = [], []
    for _ in range(arguments.rounds):
        took = []
        for script in ["echo work > made", "yes 123456789 | head -c 10000000; head -c 3000000 /dev/urandom > big; sha256sum big > made"]:
            folder = scene.mission(script)
            scene.run(folder)
            took += scene.turns(folder)
        more.append((took[1] - took[0]) / 1000)
        printed = scene.printed(folder, "logs", "t0")[0]
        if printed != b"123456789\n" * 1_000_000:
            fail(f"{len(printed)} bytes of output have come, of 10000000")
        if subprocess.run(["sha256sum", "-c", "--status", "made"], cwd=folder).returncode:
            fail("the file of 3 MB is another one")
        behind.append(max(followed(scene)))
    sizes = payloads(scene)
    show("10 MB of output and a file of 3 MB, beside a turn without", more, "s", "3 s")
    show("`logs -f` behind its agent, the latest line", behind, "s", "1.5 s")
    show("job or result at the server", sizes, "bytes", "1024 bytes")
    if max(sizes) > 1024:
        fail(f"a payload at the server has {max(sizes)} bytes")

def followed(scene):
    """How many seconds each line comes after it was printed."""
    go, behind = f"{scene.folder}/follow-{scene.missions}", []
    script = f"echo first; until test -e {go}; do sleep 0.05; done; for n in $(seq 40); do date +%s.%N; sleep 0.1; done"
    folder = scene.mission(script)
    run = scene.start(folder)
    wait_until("the child", lambda: children(folder))
    follower = scene.begin([scene.quorum, "logs", "t0", "-f"], folder, scene.environment("home"), f"{folder}.log", stdout=subprocess.PIPE)

    def follow():
        for line in follower.stdout:
            if line[:1].isdigit():
                behind.append(time.time() - float(line))
            else:
                open(go, "w").close()

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    scene.expect(run, "a run that is followed")
    scene.expect(follower, "`logs -f`")
    reader.join(10)
    if len(behind) != 40:
        fail(f"{len(behind)} lines of 40 are told by `logs -f`")
    return behind or [0]

def payloads(scene):
    """The bytes of what the server keeps of each activity: what it is given, and what comes of it."""
    sizes = []
    for activity in json.loads(scene.ask_server("activity", "list", "--limit", "1000")):
        kept = json.loads(scene.ask_server("activity", "describe", "--raw", "--activity-id", activity["activityId"]))
        sizes += [len(json.dumps(payload, separators=(",", ":"))) for payload in kept["input"] + kept["outcome"]["result"]]
    return sizes

def size(scene, arguments):
    """Bytes of the program, and the memory of a child that waits for its agent."""
    show("the program", [os.path.getsize(scene.quorum) / 1e6], "MB", "see below")
    if arguments.default:
        grown = (os.path.getsize(scene.quorum) - os.path.getsize(arguments.default)) / 1e6
        show("more than the default build", [grown], "MB", "13 MB")
    scene.worker(8)
    own, shares = [], []
    for number in range(arguments.rounds):
        ledger, go = f"{scene.folder}/waits-{number}", f"{scene.folder}/waits-go-{number}"
        folder = scene.mission(f"echo >> {ledger}; until test -e {go}; do sleep 0.05; done", 8, 8)
        run = scene.start(folder)
        wait_until("eight agents", lambda: len(lines(ledger)) == 8)
        for child, _ in children(folder):
            rollup = dict(line.split()[:2] for line in read(child, "smaps_rollup").decode().splitlines()[1:])
            own.append((int(rollup["Private_Clean:"]) + int(rollup["Private_Dirty:"])) / 1000)
            shares.append(int(rollup["Pss:"]) / 1000)
        open(go, "w").close()
        scene.expect(run, "a run of eight")
    show("memory of a waiting child, its own", own, "MB", "4 MB")
    show("memory of a waiting child, with its share of what eight share", shares, "MB", "none")
