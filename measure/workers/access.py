"""What agents on other machines and strangers get hold of, and who decides."""
import json, os, socket, subprocess, time

from processes import wait_until
from scene import KEY, encoded, fail, lines, show, text

HERE = os.path.dirname(os.path.abspath(__file__))
SECRETS = {"KEY_OF_THE_WORKER": "hunter2-and-more-of-it", "PASSED_KEY": "swordfish-that-is-passed"}
PLAIN = "a-text-that-anybody-may-read"
OPERATOR = "a text that operators know, and nobody else"

def secret(scene, arguments):
    """A worker's secrets are printed wherever an agent can print; then they name files, and a commit of the agent's own."""
    scene.worker(**SECRETS)
    agent = {"env": {"A_KEY": "${KEY_OF_THE_WORKER}"}, "passEnv": ["PASSED_KEY"]}
    # Printed in two parts, it is whole only once the first part was told.
    speaks = f"""printf 'said {PLAIN} %s %s\\n' $A_KEY $PASSED_KEY; half=${{A_KEY%???????????}}; printf %s $half; sleep 1.5; echo ${{A_KEY#$half}}
echo "{PLAIN} $A_KEY $PASSED_KEY" >&2
printf '{{"output": "%s %s %s"}}' {PLAIN} $A_KEY $PASSED_KEY > $QUORUM_RESULT_FILE
echo "{PLAIN} $A_KEY" > $QUORUM_TASK_DIR/note; echo > $QUORUM_TASK_DIR/$PASSED_KEY; mkdir -p $QUORUM_TASK_DIR/in; echo $A_KEY > $QUORUM_TASK_DIR/in/note
"""
    ways = {
        "that speaks": (speaks + f"echo {PLAIN} > made", 0),
        "that speaks and fails": (speaks + "exit 3", 3),
        "that names a file so": ("echo work > $A_KEY", 3),
        "that names a folder so": ("mkdir -p in/$PASSED_KEY; echo work > in/$PASSED_KEY/made", 3),
        "that names its commit so": ("echo work > made; git add made; git -c user.name=a -c user.email=a@example.org commit -qm $A_KEY", 0),
    }
    known = set()
    for name, (script, code) in ways.items():
        folder = scene.mission(script, agent=agent, settings={"maxRetries": 0, "maxFixAttempts": 0}, lease="2s")
        run = scene.start(folder)
        ended = scene.exit_of(run, f"the run of an agent {name}")
        if ended != code:
            fail(f"the run of an agent {name} ended {ended}, not {code}: {(text(run.log) or '')[-300:]}")
        printed = {}
        for command in [["logs", "t0"], ["logs", "t0", "--stderr"], ["show", "t0"], ["status"], ["status", "--json"], ["events", "--json"],
                        ["report"], ["diff", "t0"], ["inbox"]]:
            printed[" ".join(command)] = scene.printed(folder, *command)[0]
        for secret_name, value in SECRETS.items():
            for form in encoded(value.encode()):
                for command, said in printed.items():
                    if form in said:
                        fail(f"an agent {name}: {secret_name} stands in `quorum {command}`")
        if name == "that speaks" and PLAIN.encode() not in printed["logs t0"]:
            fail("what is no secret does not stand in `logs` either")
        for place in sorted(places(scene, SECRETS.values()) - known):
            fail(f"an agent {name}: a secret stands in {place}")
            known.add(place)
    # What finds no secret must find what is none.
    found = places(scene, [PLAIN])
    for where in ["objects of exchange.git", "database", "mission-1"]:
        if not any(where in place for place in found):
            fail(f"the search does not see what stands in {where}")
    print(f"secrets: looked for in {len(ways)} runs, with what they print, files, objects and the server's database", flush=True)

def places(scene, sought):
    """Where one of some texts stands, as it is or within base64: in names, files and objects of git, and in what the server keeps."""
    forms = [form for word in sought for form in encoded(word.encode())]
    found = set()
    for folder, names, files in os.walk(scene.folder):
        for name in names + files:
            if any(form in name.encode() for form in forms):
                found.add(f"the name of {folder}/{name}")
        for name in files:
            path = f"{folder}/{name}"
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    data = file.read()
                if any(form in data for form in forms):
                    found.add(path)
            elif os.path.islink(path) and any(form in os.readlink(path).encode() for form in forms):
                found.add(f"the link {path}")
        if "objects" in names and "HEAD" in files:
            command = ["git", "-C", folder, "cat-file", "--batch-all-objects", "--batch", "--buffer"]
            objects = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            if any(form in objects for form in forms):
                found.add(f"objects of {os.path.relpath(folder, scene.folder)}")
    for table, value in scene.database():
        value = value if isinstance(value, bytes) else value.encode()
        if any(form in value for form in forms):
            found.add(f"database, {table}")
    return found

def keys(scene, arguments):
    """An agent on a worker looks for keys, other jobs, the exchange and the server: in its environment, in processes and in files."""
    names = {"key of the team": KEY, "key of the operator": "a-key-of-the-operator-of-32-bytes", "key of the server": "a-key-of-the-server-itself",
             "server": scene.address, "exchange": scene.exchange, "another job": "what-another-job-works-at", "its own": "nothing-but-its-own"}
    write_keys(f"{scene.folder}/keeper", names)
    worker = scene.worker(2, "keeper", TEMPORAL_CONFIG_FILE=f"{scene.folder}/keeper/settings/temporal.toml",
                          QUORUM_OPERATOR_KEY=names["key of the operator"])
    go, at_work = f"{scene.folder}/keys-go", f"{scene.folder}/keys-at-work"
    script = f"echo {names['another job']} > made; echo > {at_work}; until test -e {go}; do sleep 0.05; done"
    other = scene.start(scene.mission(script, files={"of-another-job": names["another job"]}))
    wait_until("another job", lambda: os.path.exists(at_work))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ports = {"server": scene.port, "another program": listener.getsockname()[1]}
        backwards = {"texts": {name: text[::-1] for name, text in names.items()}, "machine": worker.home[::-1],
                     "exchange": scene.exchange[::-1], "ports": ports}
        with open(f"{HERE}/look.py", encoding="utf-8") as file:
            # The mission names the exchange, so it stays at home.
            files = {".gitignore": ".polpo\nmission.yaml\n", "look.py": file.read(), "look.json": json.dumps(backwards), "its-own": names["its own"]}
        control = {"settings": {"sandbox": "off"}}
        for name, keys, reaches in [("kept in", {}, sorted(ports)), ("without a network", {"agent": {"network": "deny"}}, []),
                                    ("not kept in", control, sorted(ports))]:
            folder = scene.mission("python3 look.py > found.json", files=files, **keys)
            scene.run(folder)
            with open(f"{folder}/found.json", encoding="utf-8") as file:
                seen = json.load(file)
            found = [place for place in seen["found"] if not place.startswith("its own")]
            if seen["reached"] != reaches:
                fail(f"an agent {name} reaches {seen['reached']}, not {reaches}")
            if keys is control:
                # What finds nothing where it is kept in must find all where it is not.
                missed = [name for name in ["key of the", "another job", "the exchange"] if not any(name in place for place in found)]
                if missed:
                    fail(f"an agent {name} does not find what is there: {missed}")
                continue
            if len(found) == len(seen["found"]) or not seen["home"]:
                fail(f"an agent {name} did not look: {seen}")
            if scene.status(folder)["unconfined"]:
                fail("nothing can be confined on this machine, so nothing is shown")
            for place in found:
                fail(f"an agent {name} finds {place}")
            print(f"keys: an agent {name} finds {len(found)} things that are not its own, and reaches {seen['reached']}", flush=True)
    open(go, "w").close()
    scene.expect(other, "the other job's run")

def write_keys(home, names):
    """Writes the files of a worker's machine that hold keys."""
    of_temporal = f'[profile.default]\naddress = "{names["server"]}"\n[profile.other]\napi_key = "{names["key of the server"]}"\n'
    write_key(f"{home}/.config/quorum/worker-key", names["key of the team"])
    write_key(f"{home}/.local/state/quorum/key", names["key of the operator"])
    write_key(f"{home}/.config/temporalio/temporal.toml", of_temporal)
    write_key(f"{home}/settings/temporal.toml", of_temporal)

def desk(scene, arguments):
    """A person approves from another folder and home; agents try it before, here and on a worker, with all that they can find."""
    took = []
    scene.worker()
    for number in range(arguments.rounds):
        tried = f"{scene.folder}/desk-{number}"
        tasks = [{"title": "a", "assignTo": "idle", "requiresApproval": True}, {"title": "here"}, {"title": "there", "assignTo": "far"}]
        script = attempts(scene, tried)
        agents = {"idle": {"run": "echo work > made"}, "far": {"run": script, "queue": "gpu"}}
        folder = scene.mission(script, tasks, 3, agents=agents, queue=None)
        # In every second round the key of the run's machine is a file.
        own = {} if number % 2 else {"QUORUM_OPERATOR_KEY": OPERATOR}
        write_key(f"{scene.folder}/home/.local/state/quorum/key", OPERATOR)
        run = scene.start(folder, "run", "mission.yaml", "--wait-approvals", "5m", **own)
        for where in ["here", "there"]:
            wait_until(f"what an agent tries {where}", lambda: os.path.exists(f"{tried}-{where}") or run.poll() is not None)
            said = [line.split(" ", 2) for line in lines(f"{tried}-{where}")]
            refused = [code != "0" if way != "asks" else "Err" in text for code, way, text in said]
            if len(said) < 8 or not all(refused):
                fail(f"an agent {where} is not refused: {said}")
            if number == 0:
                print(f"desk: an agent {where}: " + "; ".join(f"{way}: {code}" for code, way, _ in said), flush=True)
        waits = json.loads(scene.printed(folder, "inbox", "--json", **own)[0])["approvals"]
        if len(waits) != 1:
            fail(f"behind what agents have tried {len(waits)} approvals wait, not 1")
        asked = time.time()
        said, code = scene.printed(scene.folder, "approve", waits[0]["id"], "--as", "ada", "--via", "temporal", home="far",
                                   QUORUM_OPERATOR_KEY=OPERATOR)
        took.append(time.time() - asked)
        if code or not said.endswith(b": applied\n"):
            fail(f"`approve --via temporal` ended {code}: {said}")
        scene.expect(run, "the run that was approved")
    show("`approve --via temporal`", took, "s", "2 s; refused to agents")

def attempts(scene, tried):
    """The script of an agent that approves by all that it knows; the address of the server is told to it, as by one who guesses."""
    plain = f'env -i PATH="$PATH" HOME="$HOME" TEMPORAL_ADDRESS={scene.address}'
    call = json.dumps({"words": ["quorum", "approve", "RUN.0.1", "--via", "temporal"], "by": "eve", "at": int(time.time() * 1000),
                       "nonce": "n", "code": "", "read": [0, 0]})
    return f"""approve="{scene.quorum} approve $QUORUM_RUN_ID.0.1 --as eve"
try() {{ way=$1; shift; "$@" > said 2>&1; echo "$? $way $(tr -d '\\n' < said)" >> {tried}-$QUORUM_TASK.part; }}
try desk $approve --via temporal
try session $approve
try plain {plain} $approve --via temporal
try setsid setsid -w {plain} $approve --via temporal
try namespace {plain} unshare -Upf $approve --via temporal
try team-key {plain} QUORUM_OPERATOR_KEY="{KEY}" $approve --via temporal
try no-key {plain} QUORUM_OPERATOR_KEY= $approve --via temporal
find "$HOME" -type f -path '*quorum*key*' 2> /dev/null > keys
while read -r key; do
  try key-found {plain} QUORUM_OPERATOR_KEY="$(cat "$key")" $approve --via temporal
done < keys
try asks {plain} {scene.temporal} activity execute --address {scene.address} --type quorum.desk --task-queue quorum.1.run.$QUORUM_RUN_ID \
  --activity-id $QUORUM_TASK --schedule-to-close-timeout 10s -o json --input "$(echo '{call}' | sed s/RUN/$QUORUM_RUN_ID/)"
rm -f said keys
mv {tried}-$QUORUM_TASK.part {tried}-$QUORUM_TASK"""

def write_key(path, key):
    """Writes a file that only its owner may read."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(key)
