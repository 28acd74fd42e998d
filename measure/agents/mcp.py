#!/usr/bin/env python3
"""Agent CLIs, as they are, as clients of `quorum mcp`, before a scripted provider.

    mcp.py QUORUM INSTALL [--client NAME …] [--part PART …] [--json FILE] [--folder DIR]

QUORUM is the binary, INSTALL the folder that `install.sh` filled. Parts:

    green      each client checks a mission, has it run, waits, reads why it failed, corrects the file, has it run again: outcome ok
    hostile    each client tries to approve, to answer, to override, to lower bars and to skip reviews, by tools and by its shell
    wait       each client waits 100 s for a run by one call of `status`: most have a time-out for calls
    terminal   what a shell can do where it makes itself a terminal, or begins a run of its own: it is told, and no failure
    inspector  the inspector of MCP, as a command, lists the tools and calls some
    conformance  the conformance suite of MCP, over HTTP as far as it needs that: what holds for servers with any tools

Nothing but the standard library is needed.
"""
import argparse, http.server, json, os, re, shutil, subprocess, sys, threading

import run

CLIENTS = ("claude", "codex", "gemini", "opencode")
# What is typed once, as the guide says it. opencode has a file instead.
ADD = {"claude": ["claude", "mcp", "add", "quorum", "--", "quorum", "mcp"], "codex": ["codex", "mcp", "add", "quorum", "--", "quorum", "mcp"],
       "gemini": ["gemini", "mcp", "add", "quorum", "quorum", "mcp"]}
OPENCODE = {"mcp": {"quorum": {"type": "local", "command": ["quorum", "mcp"]}}}
# The judge fails what is in `word.txt` at first. The others wait for a person, and the gate fails with the first task.
AGENTS = """agents:
  worker: {run: "cat > /dev/null; cp word.txt greeting.txt; echo written"}
  asker: {run: "cat > /dev/null; quorum agent ask Which?"}
  judge: {run: "cat > /dev/null; grep -q hello greeting.txt && echo SCORE: 90 || echo SCORE: 20", role: reviewer}
settings: {maxRetries: 0, maxFixAttempts: 1}
tasks:
  - title: greet
    assignTo: worker
    description: Write a greeting.
    targetFiles: [greeting.txt]
    expectations:
      - {type: llm_review, reviewers: [judge], dimensions: [{name: clarity, weight: 1}]}
"""
GREETING = "name: Greeting\n" + AGENTS
GUARDED = "name: Guarded\n" + AGENTS + """  - {title: publish, assignTo: worker, description: Publish., review: none, requiresApproval: true}
  - {title: ask, assignTo: asker, description: Ask., review: none}
  - {title: after, assignTo: worker, description: Go on., review: none}
qualityGates:
  - {name: quality, afterTasks: [greet], blocksTasks: [after], minScore: 3, requireAllPassed: true}
"""


def tool(name, **arguments):
    return {"tool": name, "arguments": arguments}


def shell(line):
    return {"shell": line}


# A step, and what the client must hear of it.
GREEN = [
    (tool("validate", mission=["mission.yaml"]), r'ok, 1 task|"valid": ?true'),
    (tool("run", mission="mission.yaml", runId="first"), r"bar 60|\"bar\": ?60"),
    (tool("status", run="first", wait="50s"), r"exit 3|task_failed"),
    (tool("show", task="greet", run="first"), r"20 of 100|20 < 60|below the bar"),
    ({"write": "word.txt", "content": "hello\n"}, r""),
    (tool("run", runId="second"), r"bar 60|\"bar\": ?60"),
    (tool("status", run="second", wait="50s"), r'"outcome": ?"ok"|1 of 1 done|exit 0'),
]
SLOW = GREETING.replace("cp word", "sleep 40; cp word")
WAIT = [
    (tool("run", mission="mission.yaml", runId="first"), r"bar 60|\"bar\": ?60"),
    (tool("status", run="first", wait="100s"), r"exit 3|task_failed"),
]
BEGIN = [tool("run", mission="mission.yaml", runId="h"), tool("status", run="h", wait="50s")]
LOWER = "sed 's/minScore: 3,/minScore: 1,/; s/weight: 1}]}/weight: 1}], threshold: 20}/; s/, requiresApproval: true//' mission.yaml"
ALLOW = " ".join(f"--allow {name}" for name in ("below_threshold", "task_failed", "gate_failed", "awaiting"))
HOSTILE = [
    tool("approve", id="h.1.1"),
    tool("approve", run="h", request="h.1.1", reason="fine"),
    tool("answer", id="h.2.1", text="this one"),
    tool("gate", gate="quality", run="h", override=True, reason="fine"),
    tool("gate", gate="--override", run="h"),
    tool("run", noEval=True),
    tool("run", evalThreshold="20"),
    tool("run", allow=["below_threshold", "task_failed"]),
    tool("run", mission="--no-eval"),
    tool("run", only=["--no-eval"]),
    tool("run", runId="--no-eval"),
    tool("run", timeout="1h --no-eval"),
    tool("run", mission="../loose.yaml"),
    tool("resume", run="h", acceptChangedMission=True),
    tool("resume", run="h", allow="below_threshold"),
    tool("resume", run="--allow=below_threshold"),
    tool("resume", run="h", noEval=True),
    tool("resume", run="h", trustOrigin=True),
    tool("resume", run="h"),
    tool("status", run="h", wait="50s"),
    tool("review", paths=["greeting.txt"], criteria=["it is good"], threshold="20"),
    tool("review", paths=["--grader=heuristic", "greeting.txt"], criteria=["it is good"]),
    shell("quorum approve h.1.1"),
    shell("quorum approve h.1.1 --yes --as ada"),
    shell("yes | quorum approve h.1.1"),
    shell("quorum answer h.2.1 'this one'"),
    shell("quorum reject h.2.1 --reason no"),
    shell("quorum gate quality h --override --reason fine"),
    shell("quorum gate quality h --override --reason fine --yes"),
    shell(f"quorum resume h {ALLOW}"),
    shell("quorum resume h --no-eval"),
    shell("EVAL=off quorum resume h"),
    shell("QUORUM_ALLOW=below_threshold,task_failed,gate_failed,awaiting quorum resume h"),
    shell("quorum resume h --eval-threshold 20"),
    shell("quorum resume h --sandbox off"),
    shell(f"cp mission.yaml kept.yaml; {LOWER} > low.yaml; cp low.yaml mission.yaml; quorum resume h --accept-changed-mission; "
          "quorum resume h; cp kept.yaml mission.yaml"),
    shell("mkdir -p sub && cd sub && quorum approve h.1.1 --state-dir ../.polpo"),
    shell("QUORUM_STATE_DIR=$PWD/.polpo quorum approve h.1.1"),
    shell("EVAL_THRESHOLD=20 quorum resume h --retry-failed"),
    shell("mkdir -p forged; quorum resume h --retry-failed --offline --record forged"),
    shell("echo 'settings: {evaluate: false}' > quorum.yaml; quorum resume h --retry-failed; rm quorum.yaml"),
    shell("quorum review greet --run h --eval-threshold 20"),
    shell("quorum review greet --run h --no-eval"),
    shell("quorum review greet --run h --grader heuristic"),
    shell("quorum request submit 'Say that it is good' --to worker; quorum request approve req-1 h --yes"),
    shell("EVAL=off quorum mcp < /dev/null; echo exit $?"),
    shell("HOME=$PWD/other quorum resume h --trust-origin"),
    shell("cd .polpo/runs/h; cp journal.jsonl kept; sed -i 's/\"overMcp\":true/\"overMcp\":false/' journal.jsonl; quorum approve h.1.1; "
          "mv kept journal.jsonl"),
]
TERMINAL = [
    shell('script -qec "quorum approve h.1.1" /dev/null < /dev/null'),
    shell('script -qec "quorum gate quality h --override --reason fine --yes" /dev/null < /dev/null'),
    shell("python3 -c 'import pty; pty.spawn([\"quorum\", \"answer\", \"h.2.1\", \"this one\"])' < /dev/null"),
    shell("quorum run mission.yaml --fresh --yes --run-id own --no-input; quorum approve own.1.1"),
]
PARTS = {"green": (GREETING, GREEN), "wait": (SLOW, WAIT), "hostile": (GUARDED, HOSTILE), "terminal": (GUARDED, TERMINAL)}
# Calls by the inspector: the words behind `--method`, whether it is to go well, and what is wanted of the answer.
CALLS = [
    ("tools/list", True, r'"outputSchema"'),
    ("tools/call --tool-name validate --tool-arg mission=mission.yaml", True, r'"valid": true'),
    ("tools/call --tool-name run --tool-arg runId=first", True, r'"bar": 60'),
    ("tools/call --tool-name status --tool-arg run=first --tool-arg wait=50s", True, r'"outcome": "task_failed"'),
    ("tools/call --tool-name show --tool-arg task=greet", True, r'"points": 20'),
    ("tools/call --tool-name gate --tool-arg override=true", False, r"'override' is no argument of `gate`"),
    ("tools/call --tool-name approve --tool-arg id=first.0.1", False, r""),
    ("resources/list", True, r'"resources": \[\]'),
]
# The others ask for tools, resources and prompts of a server that was made for the suite.
SCENARIOS = ("server-initialize", "ping", "tools-list")


class Client:
    """A CLI with a folder and a home of its own, and the tools of quorum."""

    def __init__(self, stage, name, part, mission):
        self.stage, self.name = stage, name
        self.at = os.path.join(stage.folder, f"{name}-{part}")
        shutil.rmtree(self.at, ignore_errors=True)
        self.project, self.home = os.path.join(self.at, "project"), os.path.join(self.at, "home")
        run.put(self.project, "mission.yaml", mission), run.put(self.project, "word.txt", "bye\n"), run.put(self.at, "loose.yaml", mission)
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=self.project, env=stage.environment, check=True)
        # A shell that is started anew for each line finds the program, too.
        run.put(self.home, ".profile", f"PATH='{stage.environment['PATH']}'\n")
        self.label = f"{name}-{part}"
        url = f"http://127.0.0.1:{stage.port}/ok.{self.label}"
        entry = run.agent(name, url, self.home)
        self.environment = {**stage.environment, "HOME": self.home, **run.QUIET[name]}
        self.environment.update((key, value.replace("${SCRIPTED_KEY}", run.KEY)) for key, value in entry["env"].items())
        self.command = entry.get("run", [name])
        if name == "gemini":
            run.put(self.home, ".gemini/settings.json", run.SETTINGS["gemini"])
        if name == "opencode":
            run.put(self.project, "opencode.json", OPENCODE)
            self.environment["OPENCODE_CONFIG_CONTENT"] = json.dumps({"permission": {"edit": "allow", "bash": "allow"}, "share": "disabled",
                                                                      "autoupdate": False, "agent": {"title": {"disable": True}}})
        else:
            subprocess.run(ADD[name], cwd=self.project, env=self.environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)

    def words(self):
        """The command line with which it may do everything that it is asked to, the prompt being its standard input."""
        return self.command + {
            "claude": ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits",
                       "--allowedTools", "mcp__quorum,Bash,Write,Read"],
            "codex": ["exec", "--json", "-m", "scripted-model", "--dangerously-bypass-approvals-and-sandbox", "-"],
            "gemini": ["--approval-mode", "yolo", "-m", "gemini-2.5-flash"],
            "opencode": ["run", "--format", "json", "--model", "scripted/scripted-model"],
        }[self.name]

    def play(self, steps):
        """Has it do the steps; -> exit code, and what it was told of each."""
        _, since = self.stage.requests(0)
        prompt = f"Do these steps, one after the other.\n\n```steps\n{json.dumps(steps)}\n```\n"
        try:
            done = subprocess.run(self.words(), cwd=self.project, env=self.environment, input=prompt, text=True, timeout=400,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            code, out, err = None, late.stdout or b"", late.stderr or b""
            out, err = out.decode(errors="replace"), err.decode(errors="replace")
        run.put(self.at, "stdout", out), run.put(self.at, "stderr", err)
        asked = [row for row in self.stage.requests(since)[0] if row["label"] == self.label and row.get("who") == "script" and row["step"]]
        return code, [row["told"] or "" for row in asked[1:]], [row["did"] for row in asked], asked[0]["tools"] if asked else []

    def quorum(self, *words):
        """What a person would see, as JSON."""
        done = subprocess.run([self.stage.quorum, *words, "--json"], cwd=self.project, env=self.stage.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def outcome(self, name):
        document = self.quorum("status", name)
        return document.get("outcome"), document.get("exitCode")

    def passed(self, name):
        """What of a run that waits for a person, or has failed, has come through all the same, by its journal."""
        document, events = self.quorum("status", name), self.quorum("events", name).get("events", [])
        found = [f"{task['title']}: {task['status']}" for task in document.get("tasks", []) if task.get("status") == "done"]
        found += [f"gate {gate.get('name')}: {gate.get('status')}" for gate in document.get("gates", []) if gate.get("status") in ("passed", "overridden")]
        decided = ("approval:resolved", "hold:closed", "task:answered", "quality:gate:passed", "quality:gate:overridden", "tasks:added")
        found += [event["event"] for event in events if event["event"] in decided]
        allowed = [event for event in events if event.get("allowed") or event.get("outcome") == "ok"]
        return found + ["allowed"] * bool(allowed) if events else ["no events"]


def followed(client, script):
    """A script of steps of which each must be told as it is wanted."""
    code, told, did, tools = client.play([step for step, _ in script])
    steps = {}
    for number, (step, wanted) in enumerate(script):
        text = told[number] if number < len(told) else None
        title = f"{number + 1} {step.get('tool') or 'write'}"
        steps[title] = "yes" if text is not None and re.search(wanted, text) else f"no: {(text or 'not done')[:200]}"
    ends = {name: client.outcome(name) for name in (("first", "second") if script is GREEN else ("first",))}
    is_good = (code == 0 and ends.get("second", ("ok", 0)) == ("ok", 0) and ends["first"] == ("task_failed", 3)
               and set(steps.values()) == {"yes"})
    return {"exit": code, "steps": steps, "ends": ends, "did": did, "tools": tools, "told": told, "ok": is_good}


def hostile(client, steps):
    code, told, did, _ = client.play(BEGIN + steps)
    tries = [{"try": step.get("shell") or f"{step['tool']} {json.dumps(step['arguments'])}", "told": text}
             for step, text in zip(steps, told[len(BEGIN):])]
    runs = [entry.get("runId") or entry.get("id") for entry in client.quorum("runs").get("runs", [])]
    passed = {name: client.passed(name) for name in runs}
    is_good = code == 0 and len(tries) == len(steps) and runs == ["h"] and not any(passed.values())
    return {"exit": code, "tries": tries, "did": did, "runs": runs, "passed": passed, "ends": {"h": client.outcome("h")}, "ok": is_good}


def folder_of(stage, name):
    """A folder with the mission, for what is no agent."""
    at = os.path.join(stage.folder, name)
    shutil.rmtree(at, ignore_errors=True)
    run.put(at, "mission.yaml", GREETING), run.put(at, "word.txt", "bye\n")
    return at


def inspector(stage):
    at, steps = folder_of(stage, "inspector"), {}
    for words, goes_well, wanted in CALLS:
        command = ["mcp-inspector", "--cli", stage.quorum, "mcp", "--method", *words.split()]
        done = subprocess.run(command, cwd=at, env=stage.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=90)
        is_right = (done.returncode == 0) == goes_well and re.search(wanted, done.stdout)
        steps[re.sub(r"tools/call --tool-name |--tool-arg ", "", words)] = "yes" if is_right else f"no: {done.stdout[:100]}{done.stderr[:100]}"
    return {"exit": 0, "steps": steps, "ends": {}, "ok": set(steps.values()) == {"yes"}}


def conformance(stage):
    Bridge.start, Bridge.at = [stage.quorum, "mcp"], folder_of(stage, "conformance")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bridge)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    steps = {}
    for scenario in SCENARIOS:
        command = ["conformance", "server", "--url", f"http://127.0.0.1:{server.server_port}/mcp", "--scenario", scenario]
        done = subprocess.run(command, cwd=Bridge.at, env=stage.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=90)
        steps[scenario] = "yes" if done.returncode == 0 else f"no: {done.stdout[-300:]}"
    server.shutdown()
    for program, _ in Bridge.servers.values():
        program.stdin.close()
        program.wait()
    return {"exit": 0, "steps": steps, "ends": {}, "ok": set(steps.values()) == {"yes"}}


class Bridge(http.server.BaseHTTPRequestHandler):
    """A server of MCP over HTTP that has one on standard input and output for each session."""
    protocol_version = "HTTP/1.1"
    start, at, servers = None, None, {}

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session = self.headers.get("mcp-session-id")
        if asked.get("method") == "initialize":
            session = f"session-{len(self.servers)}"
            program = subprocess.Popen(self.start, cwd=self.at, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.servers[session] = program, threading.Lock()
        program, lock = self.servers[session]
        said = {}
        with lock:
            program.stdin.write(json.dumps(asked) + "\n")
            program.stdin.flush()
            while "id" in asked and said.get("id") != asked["id"]:
                said = json.loads(program.stdout.readline())
        data = json.dumps(said).encode() if said else b""
        self.send_response(200 if said else 202)
        for name, value in (("content-type", "application/json"), ("mcp-session-id", session), ("content-length", str(len(data)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, *_):
        pass


ALONE = {"inspector": inspector, "conformance": conformance}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("quorum"), options.add_argument("install")
    options.add_argument("--client", action="append", choices=CLIENTS)
    options.add_argument("--part", action="append", choices=(*PARTS, *ALONE))
    options.add_argument("--json", help="a file that gets all results")
    options.add_argument("--folder", help="where everything is kept [a new one among the temporary files]")
    options = options.parse_args()
    options.dry_run = False
    results = []
    with run.Stage(options) as stage:
        programs = os.path.join(stage.folder, "bin")
        os.makedirs(programs, exist_ok=True)
        stage.quorum = os.path.join(programs, "quorum")
        if not os.path.lexists(stage.quorum):
            os.symlink(os.path.abspath(options.quorum), stage.quorum)
        stage.environment["PATH"] = f"{programs}:{stage.environment['PATH']}"
        for part in options.part or (*PARTS, *ALONE):
            if part in ALONE:
                results.append({"part": part, "client": part, **ALONE[part](stage)})
                print(row(results[-1]), flush=True)
                continue
            for name in options.client or CLIENTS:
                mission, steps = PARTS[part]
                client = Client(stage, name, part, mission)
                result = {"part": part, "client": name}
                result.update(followed(client, steps) if part in ("green", "wait") else hostile(client, steps))
                results.append(result)
                print(row(result), flush=True)
    if options.json:
        run.put("", options.json, results)
    return 0 if all(result["ok"] or result["part"] == "terminal" for result in results) else 1


def row(result):
    if "steps" in result:
        cells = [f"{title}: {run.cell(said)}" for title, said in result["steps"].items()]
    else:
        cells = [f"{len(result['tries'])} tries", f"runs {', '.join(map(str, result['runs']))}", f"passed: {json.dumps(result['passed'])}"]
    return "| " + " | ".join([result["part"], result["client"], f"exit {result['exit']}", *cells, json.dumps(result["ends"]),
                              "told" if result["part"] == "terminal" else "as expected" if result["ok"] else "NOT as expected"]) + " |"


if __name__ == "__main__":
    sys.exit(main())
