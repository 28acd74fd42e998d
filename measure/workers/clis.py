"""Agent CLIs as they are, on two workers, before the scripted provider of `measure/agents`."""
import importlib.util, json, os, subprocess, sys, time

from processes import wait_until
from scene import fail, lines, show, text

AGENTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "agents")
# The first two of these that are there; the sandbox of the last one works for ordinary users only.
LIKED = ["claude", "qwen", "gemini", "codex"]

def definitions():
    """What `measure/agents/run.py` knows of agent CLIs."""
    spec = importlib.util.spec_from_file_location("agent_definitions", f"{AGENTS}/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def installed(scene, arguments):
    """The folder of the programs of two CLIs, and their names; they are installed where nobody says where they are."""
    folder = arguments.agents or f"{scene.folder}/agents"
    if not arguments.agents:
        print(f"clis: installs {LIKED[:2]} from the npm registry (`--agents DIR` names a folder that has them)", flush=True)
        environment = {**os.environ, "AGENTS": " ".join(LIKED[:2])}
        with open(f"{scene.folder}/install.log", "wb") as log:
            try:
                subprocess.run(["bash", f"{AGENTS}/install.sh", folder], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               timeout=900)
            except (OSError, subprocess.TimeoutExpired) as why:
                log.write(str(why).encode())
    there = [name for name in LIKED if os.path.exists(f"{folder}/bin/{name}")]
    return f"{os.path.abspath(folder)}/bin", there[:2]

def clis(scene, arguments):
    """Two CLIs fix a file each, wrong at first; one of two workers is killed while both are at work."""
    programs, names = installed(scene, arguments)
    if len(names) < 2:
        said = (text(f"{scene.folder}/install.log") or "").strip().splitlines()[-3:]
        print(f"SKIPPED: clis: of agent CLIs only {names} are there: {' / '.join(said)}", flush=True)
        return
    took, known = [], definitions()
    for number in range(arguments.rounds):
        log = f"{scene.folder}/requests-{number}"
        provider = scene.begin([sys.executable, f"{AGENTS}/provider.py", "--log", log, "--pause", "0.5"], scene.folder, dict(os.environ),
                               f"{scene.folder}/provider.log", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        port = int(provider.stdout.readline())
        # Their key is known on the workers only.
        workers = [scene.worker(home=f"cli-{number}-{which}", PATH=f"{programs}:{os.environ['PATH']}", SCRIPTED_KEY=known.KEY)
                   for which in range(2)]
        entries = {}
        for name in names:
            for worker in workers:
                if name in known.SETTINGS:
                    known.put(worker.home, f".{name}/settings.json", known.SETTINGS[name])
                entry = known.agent(name, f"http://127.0.0.1:{port}/slow.{name}", worker.home)
            entries[name] = {**entry, "queue": "gpu", "timeout": "2m"}
        tasks = [{"title": f"Fix {name}", "assignTo": name, "targetFiles": [f"{name}.sh"], "description": known.TASK.replace("sum", name, 1),
                  "expectations": [{"type": "test", "command": f'test "$(sh {name}.sh 2 3)" = 5'}]} for name in names]
        folder = scene.mission("true", tasks, 2, "2s", agents=entries, files={f"{name}.sh": "echo 0\n" for name in names}, queue=None)
        begun = time.time()
        run = scene.start(folder)
        both = set(names)
        wait_until("both CLIs before their provider",
                   lambda: {json.loads(line)["label"] for line in lines(log) if json.loads(line)["status"]} >= both or run.poll() is not None)
        workers[0].kill()
        if scene.expect(run, f"the run of {' and '.join(names)}", seconds=300):
            took.append(time.time() - begun)
        else:
            for task in tasks:
                print(scene.printed(folder, "show", task["title"])[0].decode()[:1500])
        for name in names:
            if "$1 + $2" not in (text(f"{folder}/{name}.sh") or ""):
                fail(f"the work of {name} is not merged: {text(f'{folder}/{name}.sh')}")
        turns = [event for event in scene.events(folder) if event.get("kind") == "turn" and event["event"] == "work:started"]
        if len(turns) != 5:
            fail(f"{len(turns)} turns were begun, not 5: two each, and the one that was lost")
        provider.stdin.close()
        scene.exit_of(provider, "the provider", 10)
        scene.end_workers()
    show(f"{' and '.join(names)}, two workers, one killed in mid-turn", took, "s", "merged, exit 0")
