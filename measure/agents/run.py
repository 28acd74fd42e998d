#!/usr/bin/env python3
"""Agent CLIs and ACP servers, as they are, under quorum and before a scripted provider.

    run.py QUORUM INSTALL [--part PART …] [--agent NAME …] [--mode MODE …] [--dry-run] [--json FILE] [--folder DIR]

QUORUM is the binary, INSTALL the folder that `install.sh` filled. Parts:

    raw     CLIs and servers alone, without quorum: both turns of the fix in one session, and a verdict; with `--mode` one turn
            before a failing provider
    fix     each CLI fixes a file in a git repository; the test is red, then green; another vendor's CLI judges
    fallback  each CLI meets the limit of its subscription, another one goes on, and a third judges
    worker  each CLI as worker before each kind of failing provider
    judge   each CLI as judge, the provider being well, failing, or saying what cannot be read
    acp     the ACP servers as workers: the fix, and the failures

Without `--part` all but raw. `--dry-run` prints the missions and starts nothing. Nothing but the standard library is needed.
"""
import argparse, ctypes, json, os, re, shutil, signal, subprocess, sys, tempfile, threading, time, uuid

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "sk-fake-key"
CLIS = ("claude", "codex", "gemini", "opencode", "qwen")
SERVERS = {"claude-agent-acp": "claude", "codex-acp": "codex", "gemini-acp": "gemini", "opencode-acp": "opencode", "qwen-acp": "qwen"}
# Who judges whom: never the same vendor, and each of them once.
JUDGE_OF = {"claude": "codex", "codex": "gemini", "gemini": "qwen", "opencode": "claude", "qwen": "opencode"}
MODES = ("e401", "e402", "e429", "quota", "window", "e500", "ctx", "idle", "hang")
JUDGED = {"ok": "exit 0", "e401": "exit 6", "e429": "exit 6", "window": "exit 7", "garbage": "exit 6"}
EXPECTED = {"e401": "provider_auth", "e402": "provider_spend_limit", "e429": "rate_limited", "quota": "provider_spend_limit",
            "window": "window", "e500": "provider_transient", "ctx": "context_too_long", "idle": "not done", "hang": "timeout"}
TEST = 'test "$(sh sum.sh 2 3)" = 5'
TASK = "Fix the file `sum.sh`: it must print the sum of its two arguments."
SENT_BACK = f"""## Correct your work

Your last attempt was reviewed and sent back. The files are as you left them. Correct exactly what was found; keep what was good.

Attempt 1: failed at stage 'checks'
- [high] test `{TEST}` exited 1
"""


# What keeps a CLI from updating itself, reporting and retrying for long. A preset says it; alone and as a server it is said here.
QUIET = {
    "claude": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
               "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_MAX_RETRIES": "2"},
    "codex": {},
    "gemini": {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"},
    "opencode": {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                 "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"},
    "qwen": {"QWEN_CODE_NO_RELAUNCH": "true"},
}
# What keeps these two from retrying for minutes, and from calls of their own.
SETTINGS = {
    "gemini": {"general": {"enableAutoUpdate": False, "maxAttempts": 2}, "privacy": {"usageStatisticsEnabled": False},
               "telemetry": {"enabled": False}, "security": {"auth": {"selectedType": "gemini-api-key"}}},
    "qwen": {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
             "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
             "model": {"generationConfig": {"maxRetries": 0, "retryInitialDelayMs": 1000, "retryMaxDelayMs": 2000}}},
}


# Agents, as a mission names them. ---------------------------------------------------------------------------------------

def agent(cli, url, home, role="engineer"):
    """The entry of a CLI in `agents`, with which it comes to the provider. What it needs as files is written below `home`."""
    entry = {"adapter": cli, "role": role, "permissions": "read" if role == "reviewer" else "edit"}
    if cli == "claude":
        # Only a subscription has a window: it is told to a token, not to a key.
        key = "CLAUDE_CODE_OAUTH_TOKEN" if "/window." in url else "ANTHROPIC_API_KEY"
        entry["env"] = {"ANTHROPIC_BASE_URL": url, key: "${SCRIPTED_KEY}"}
    elif cli == "codex":
        entry.update(model="scripted-model", run=codex(url), env={"SCRIPTED_KEY": "${SCRIPTED_KEY}"})
    elif cli == "gemini":
        # A base URL without a way to log in means a gateway, which needs another key.
        put(home, ".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
        entry.update(model="gemini-2.5-flash", env={"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "${SCRIPTED_KEY}"})
    elif cli == "opencode":
        # Its preset says permissions in OPENCODE_CONFIG_CONTENT, which is laid over what this file says.
        path = put(home, f".scripted/opencode-{role}.json", opencode(url))
        entry.update(model="scripted/scripted-model", env={"OPENCODE_CONFIG": path})
    elif cli == "qwen":
        entry.update(model="scripted-model", env={"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "${SCRIPTED_KEY}",
                                                  "OPENAI_MODEL": "scripted-model"})
    return entry


def codex(url):
    """codex with a provider of its own. These words stand before `exec`."""
    provider = "model_providers.scripted"
    words = ["codex"]
    for setting in ("model_provider=scripted", f"{provider}.name=scripted", f"{provider}.base_url={url}/v1",
                    f"{provider}.wire_api=responses", f"{provider}.env_key=SCRIPTED_KEY",
                    f"{provider}.request_max_retries=1", f"{provider}.stream_max_retries=1"):
        words += ["-c", setting]
    return words


def opencode(url):
    model = {"name": "scripted", "limit": {"context": 100000, "output": 4096}, "cost": {"input": 1, "output": 2}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": {"baseURL": url + "/v1", "apiKey": KEY},
                "models": {"scripted-model": model}}
    return {"provider": {"scripted": provider}, "model": "scripted/scripted-model", "small_model": "scripted/scripted-model"}


def server(name, url, home):
    """The entry of an ACP server. No preset says anything for these, so all of it is said here."""
    cli = SERVERS[name]
    entry = agent(cli, url, home)
    entry["adapter"] = "acp"
    entry["run"] = {"claude": ["claude-agent-acp"], "codex": ["codex-acp"], "gemini": ["gemini", "--acp", "-m", "gemini-2.5-flash"],
                    "opencode": ["opencode", "acp"], "qwen": ["qwen", "--acp", "--auth-type", "openai"]}[cli]
    entry.pop("model", None)        # it is in the words, the environment or the files
    entry["env"] = {**QUIET[cli], **entry["env"]}
    if cli == "codex":              # it takes no settings as words
        put(home, ".codex/config.toml", "model_provider = 'scripted'\nmodel = 'scripted-model'\ncheck_for_update_on_startup = false\n"
            "\n[analytics]\nenabled = false\n\n[model_providers.scripted]\n"
            f"name = 'scripted'\nbase_url = '{url}/v1'\nwire_api = 'responses'\nenv_key = 'SCRIPTED_KEY'\n"
            "request_max_retries = 1\nstream_max_retries = 1\n")
    elif cli == "opencode":
        put(home, ".scripted/opencode-engineer.json", {**opencode(url), "permission": {"edit": "allow", "bash": "deny"}})
    elif cli in SETTINGS:
        put(home, f".{cli}/settings.json", SETTINGS[cli])
    return entry


def put(home, name, what):
    """Writes a file below the home of the agents; -> its path."""
    path = os.path.join(home, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(what if isinstance(what, str) else json.dumps(what))
    return path


# Missions. ---------------------------------------------------------------------------------------------------------------

def mission(name, agents, judged_by=None, retries=1):
    task = {"title": "Fix the sum", "assignTo": next(iter(agents)), "description": TASK, "targetFiles": ["sum.sh"],
            "expectations": [{"type": "test", "command": TEST}]}
    if judged_by:
        task["expectations"].append({"type": "llm_review", "reviewers": judged_by, "threshold": 3,
                                     "criteria": "The script prints the sum.",
                                     "dimensions": [{"name": "correctness", "weight": 0.5}, {"name": "clarity", "weight": 0.5}]})
    return {"name": name, "workspace": "project", "agents": agents, "tasks": [task],
            "settings": {"maxRetries": retries, "maxFixAttempts": 2, "maxWindowWait": "1m", "concurrency": 1}}


def yaml(value, indent=0):
    """A document as YAML. Texts are quoted as JSON quotes them, which YAML reads."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key, inner in value.items():
            nested = isinstance(inner, (dict, list)) and inner and not is_flat(inner)
            lines.append(f"{pad}{key}:\n{yaml(inner, indent + 1)}" if nested else f"{pad}{key}: {flow(inner)}")
        return "\n".join(lines)
    if isinstance(value, list):
        return "\n".join(f"{pad}- " + (flow(inner) if is_flat(inner) else yaml(inner, indent + 1).lstrip()) for inner in value)
    return pad + flow(value)


def is_flat(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not any(isinstance(part, (dict, list)) for part in inner)


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w./-]*( [\w./-]+)*", value):
        return value if value not in ("true", "false", "null", "no", "yes", "on", "off") else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def missions(part, names, modes, port, home):
    """-> (title, mission, seconds that it may take, what is expected) for a part."""
    def url(mode, label):
        return f"http://127.0.0.1:{port}/{mode}.{label}"

    def limited(entry, mode):
        return {**entry, "timeout": "15s" if mode == "hang" else "2m"}

    if part == "fix":
        for cli in names(CLIS):
            other = JUDGE_OF[cli]
            agents = {"worker": {**agent(cli, url("ok", "worker"), home), "session": "keep", "timeout": "2m"},
                      "judge": {**agent(other, url("ok", "judge"), home, "reviewer"), "timeout": "2m"}}
            yield f"{cli} judged by {other}", mission(f"{cli} fixes", agents, ["judge"]), 300, "exit 0"
    if part == "fallback":
        for cli in names(CLIS):
            second = JUDGE_OF[cli]
            judge = JUDGE_OF[second]
            agents = {"first": {**agent(cli, url("window", "first"), home), "fallback": "worker", "timeout": "2m"},
                      "worker": {**agent(second, url("ok", "worker"), home), "timeout": "2m"},
                      "judge": {**agent(judge, url("ok", "judge"), home, "reviewer"), "timeout": "2m"}}
            title = f"{cli}, then {second}, judged by {judge}"
            yield title, mission(f"{cli} is gone", agents, ["judge"]), 300, "exit 0"
    if part == "worker":
        for cli in names(CLIS):
            for mode in modes(MODES):
                agents = {"worker": limited(agent(cli, url(mode, "worker"), home), mode)}
                yield f"{cli} {mode}", mission(f"{cli} with {mode}", agents), 400, EXPECTED[mode]
    if part == "judge":
        for cli in names(CLIS):
            for mode in modes(JUDGED):
                judge = limited(agent(cli, url(mode, "judge"), home, "reviewer"), mode)
                agents = {"worker": {"run": "cat > /dev/null; printf %s 'echo $(($1 + $2))' > sum.sh; echo done"}, "judge": judge}
                yield f"{cli} judges {mode}", mission(f"{cli} judges with {mode}", agents, ["judge"]), 400, JUDGED[mode]
    if part == "acp":
        for name in names(SERVERS):
            for mode in modes(("ok",) + MODES):
                agents = {"worker": limited(server(name, url(mode, "worker"), home), mode)}
                yield f"{name} {mode}", mission(f"{name} with {mode}", agents), 400, EXPECTED.get(mode, "exit 0")


# Processes. --------------------------------------------------------------------------------------------------------------

class Watch(threading.Thread):
    """Looks at all processes below this one, fifty times a second: the processor time of those of one program."""

    def __init__(self, program):
        super().__init__(daemon=True)
        self.program, self.seconds, self.stopped = os.path.realpath(program), {}, threading.Event()
        self.root = None        # the process that is known to be of the program, also when it has ended

    def run(self):
        while not self.stopped.wait(0.02):
            self.look()

    def look(self):
        for pid, row in below(os.getpid()).items():
            if row["exe"] == self.program or pid == self.root:
                self.seconds[pid, row["start"]] = cpu_of(pid) or self.seconds.get((pid, row["start"]), 0)

    def own(self):
        """What they used; to be called while the last of them is not reaped yet."""
        self.stopped.set()
        self.join()
        self.look()
        return sum(self.seconds.values())


def below(root):
    """The processes below one, by pid."""
    rows = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            try:
                exe = os.readlink(f"/proc/{name}/exe")
            except OSError:         # one that has ended and is not reaped
                exe = ""
            rows[int(name)] = {"parent": int(fields[1]), "state": fields[0], "start": fields[19], "exe": exe}
    found, fresh = {}, {root}
    while fresh:
        fresh = {pid for pid, row in rows.items() if row["parent"] in fresh and pid not in found}
        found.update((pid, rows[pid]) for pid in fresh)
    return found


def cpu_of(pid):
    """Processor time of all threads of a process, which the kernel tells in nanoseconds."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    except (OSError, IndexError):
        return 0
    return total / 1e9


def adopt():
    """Whoever loses its parent becomes a child of this process, so that what is left is seen."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def ended(pid, limit):
    """Waits until a child has ended, and does not reap it."""
    until = time.time() + limit
    while time.time() < until:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return True
        time.sleep(0.01)
    return False


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def left(known):
    """What runs two seconds after the end that did not run before; it is ended."""
    for _ in range(20):
        reap()
        rows = {pid: row for pid, row in below(os.getpid()).items() if pid not in known and row["state"] != "Z"}
        if not rows:
            return []
        time.sleep(0.1)
    for pid in rows:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    time.sleep(0.1)
    reap()
    return [os.path.basename(row["exe"]) for row in rows.values()]


def children_cpu():
    times = os.times()
    return times.children_user + times.children_system


# Playing. ----------------------------------------------------------------------------------------------------------------

class Stage:
    """A folder with a home, a provider, and what is started there."""

    def __init__(self, options):
        self.options = options
        self.folder = os.path.abspath(options.folder or tempfile.mkdtemp(prefix="agents-"))
        self.home = os.path.join(self.folder, "home")
        os.makedirs(self.home, exist_ok=True)
        self.log = os.path.join(self.folder, "requests.jsonl")
        self.provider, self.port = None, 18200
        binaries = os.path.abspath(os.path.join(options.install, "bin"))
        self.environment = {"PATH": f"{binaries}:/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8", "TERM": "dumb",
                            "SCRIPTED_KEY": KEY, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.invalid",
                            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.invalid", "GIT_CONFIG_NOSYSTEM": "1"}

    def __enter__(self):
        if not self.options.dry_run:
            command = [sys.executable, os.path.join(HERE, "provider.py"), "--log", self.log]
            self.provider = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.port = int(self.provider.stdout.readline())
        return self

    def __exit__(self, *_):
        if self.provider:
            self.provider.stdin.close()
            self.provider.wait()

    def requests(self, since):
        """The lines of the provider's log behind a place, and where it ends."""
        if not os.path.exists(self.log):
            return [], 0
        with open(self.log, encoding="utf-8") as file:
            lines = file.readlines()
        return [json.loads(line) for line in lines[since:]], len(lines)

    def project(self, name):
        """A fresh folder with a git repository `project`, in which the script is wrong."""
        at = os.path.join(self.folder, re.sub(r"\W+", "-", name))
        shutil.rmtree(at, ignore_errors=True)
        put(at, "project/sum.sh", "echo 0\n")
        put(at, "project/README.md", "# Sum\n")
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Start"]):
            subprocess.run(["git", *words], cwd=os.path.join(at, "project"), env=self.environment, check=True)
        return at

    def play(self, part, title, document, limit, expected):
        """Runs a mission; -> what came of it."""
        at = self.project(f"{part} {title}")
        put(at, "mission.yaml", yaml(document) + "\n")
        _, since = self.requests(0)
        known = set(below(os.getpid()))
        before, begin = children_cpu(), time.time()
        watch = Watch(self.options.quorum)
        watch.start()
        run = subprocess.Popen([os.path.abspath(self.options.quorum), "run", "mission.yaml", "--run-id", "r", "--no-input",
                                "--progress", "plain", "--json"], cwd=at, env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=open(os.path.join(at, "run.json"), "w"), stderr=open(os.path.join(at, "progress"), "w"))
        watch.root = run.pid
        late = not ended(run.pid, limit)
        if late:
            run.send_signal(signal.SIGINT)
            if not ended(run.pid, 30):
                run.kill()
                ended(run.pid, 30)
        seconds = time.time() - begin
        own = watch.own()
        code = run.wait()
        remains = left(known)
        everything = children_cpu() - before
        asked, _ = self.requests(since)
        told = self.status(at)
        result = {"part": part, "title": title, "expected": expected, "exit": code, "late": late, "seconds": round(seconds, 2),
                  "ownCpu": round(own, 4), "otherCpu": round(max(everything - own, 0), 3), "left": remains,
                  "served": served(asked), "servedAll": {"replies": sum(1 for row in asked if row["inputTokens"]), "posts": len(asked)},
                  "asks": max((row["asks"] for row in asked if row["label"] == "worker"), default=0), **told}
        result["sessions"] = self.sessions(at)
        result["ok"] = judged(result)
        return result

    def status(self, at):
        quorum = os.path.abspath(self.options.quorum)
        shown = subprocess.run([quorum, "status", "r", "--json"], cwd=at, env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        try:
            document = json.loads(shown)
            task = document["tasks"][0]
        except (ValueError, LookupError):       # it did not begin
            with open(os.path.join(at, "progress"), encoding="utf-8", errors="replace") as file:
                said = file.read().strip().splitlines() or ["no status"]
            return {"class": None, "attempts": 0, "told": None, "points": None, "status": None, "message": said[0]}
        failure, waiting = task.get("failure") or {}, task.get("waiting") or {}
        usage = document.get("usage") or {}
        return {"class": failure.get("class") or self.last_class(at) or waiting.get("reason"), "mode": failure.get("mode"),
                "message": failure.get("message") or next((wait.get("message") for wait in document.get("approvals", [])), None),
                "attempts": len(task.get("attempts") or []), "points": task.get("points"), "status": task.get("status"),
                "resumableAt": document.get("resumableAt"), "cost": usage.get("cost"),
                "told": [usage.get("inputTokens"), usage.get("outputTokens")]}

    def last_class(self, at):
        """The class of what failed last, in the public events of the run."""
        command = [os.path.abspath(self.options.quorum), "events", "r", "--format", "jsonl"]
        shown = subprocess.run(command, cwd=at, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True).stdout
        return (re.findall(r'"class":\s*"(\w+)"', shown) or [None])[-1]

    def sessions(self, at):
        """The ids of sessions that stand in the run's record, in their order, each once."""
        found = []
        for folder, _, files in os.walk(os.path.join(at, ".polpo", "runs")):
            for name in sorted(files):
                if "journal" in name or "journal" in folder:
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                        found += re.findall(r'"session(?:_?[iI]d)?":\s*(?:\{"id":\s*)?"([^"]+)"', file.read())
        return list(dict.fromkeys(found))


def served(asked):
    """Tokens that the provider served: all, those of the work and of verdicts (`known`), and by label."""
    sums = {}
    for row in asked:
        for name in ("all", row["label"]) + (("known",) if row["who"] in ("worker", "judge") else ()):
            given = sums.setdefault(name, [0, 0])
            given[0] += row["inputTokens"]
            given[1] += row["outputTokens"]
    return sums


def judged(result):
    """Whether it came out as expected."""
    if result["left"] or result["late"]:
        return False
    if result["part"] in ("fix", "fallback") or result["expected"] == "exit 0" and result["part"] == "acp":
        # One whose limit does not show has spent its attempts before another one goes on, in a session of its own.
        is_same = result["asks"] >= 2 or result["part"] == "fallback"
        # Servers make calls of their own, for titles and suggestions, and do not tell them.
        is_told = result["told"] in (result["served"].get("all"), result["part"] == "acp" and result["served"].get("known"))
        return result["exit"] == 0 and result["attempts"] == 2 and is_same and is_told
    if result["expected"].startswith("exit "):
        return f"exit {result['exit']}" == result["expected"]
    if result["expected"] == "not done":
        return result["exit"] in (3, 4, 5)
    if result["expected"] == "window":
        return result["exit"] == 7 and bool(result["resumableAt"])
    return result["class"] == result["expected"]


# The CLIs alone. ---------------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"scores": {"type": "object", "properties": {
    name: {"type": "object", "properties": {"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
           "required": ["reasoning", "score"], "additionalProperties": False} for name in ("correctness", "clarity")},
    "required": ["correctness", "clarity"], "additionalProperties": False}, "summary": {"type": "string"}},
    "required": ["scores", "summary"], "additionalProperties": False}
VERDICT = """You are an independent reviewer. You judge work that somebody else did; you do not do or repair it.

# The task

Fix the sum

# Your reply

Reply with one JSON object of exactly this form and nothing else:

{"scores": {"correctness": {"reasoning": <why>, "score": <1 to 5>}, "clarity": …}, "findings": [], "summary": <one or two sentences>}

All 2 dimensions must be there, spelled like this: correctness, clarity.
"""


def words(cli, entry, role, session, fresh, schema):
    """A command line as a preset makes it: the entry's `run` stands where the program stands."""
    run = entry.get("run") or [cli]
    model = entry.get("model")
    if cli == "claude":
        more = ["-p", "--output-format", "stream-json", "--verbose", "--permission-prompts", "none", "--permission-mode"]
        if role == "judge":
            return run + more + ["plan", "--no-session-persistence", "--json-schema", json.dumps(SCHEMA)]
        return run + more + ["acceptEdits", "--session-id" if fresh else "--resume", session]
    if cli == "codex":
        sandbox = "sandbox_mode=" + ("read-only" if role == "judge" else "workspace-write")
        more = ["--json", "-m", model, "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false", "-c", sandbox]
        if role == "judge":
            return run + ["exec"] + more + ["--ephemeral", "--ignore-user-config", "--ignore-rules", "--output-schema", schema, "-"]
        return run + (["exec"] + more if fresh else ["exec", "resume"] + more + [session]) + ["-"]
    if cli == "opencode":
        return run + ["run", "--format", "json", "--model", model] + ([] if fresh else ["--session", session])
    more = ["-o", "stream-json", "-m", model] + (["--auth-type", "openai"] if cli == "qwen" else [])
    mode = {"judge": "plan", "gemini": "auto_edit", "qwen": "auto-edit"}["judge" if role == "judge" else cli]
    more += ["--approval-mode", mode]
    if role == "judge":
        return run + more
    return run + more + ["--session-id" if fresh else "--resume", session]


def start(stage, cli, at, role, mode, session, fresh, prompt, limit):
    """Starts a CLI as a preset would; -> exit code (None where it was ended), seconds, both streams, the provider's lines."""
    entry = agent(cli, f"http://127.0.0.1:{stage.port}/{mode}.{role}", stage.home, "reviewer" if role == "judge" else "engineer")
    environment = {**stage.environment, **QUIET[cli]}
    environment.update((name, value.replace("${SCRIPTED_KEY}", KEY)) for name, value in entry.get("env", {}).items())
    if cli == "opencode":
        permission = {"edit": "deny" if role == "judge" else "allow", "bash": "deny"}
        environment["OPENCODE_CONFIG_CONTENT"] = json.dumps({"permission": permission, "share": "disabled", "autoupdate": False,
                                                             "agent": {"title": {"disable": True}}})
    if cli in SETTINGS:
        put(stage.home, f".{cli}/settings.json", SETTINGS[cli])
    command = words(cli, entry, role, session, fresh, put(at, "schema.json", SCHEMA))
    _, since = stage.requests(0)
    begin = time.time()
    process = subprocess.Popen(command, cwd=os.path.join(at, "project"), env=environment, stdin=subprocess.PIPE, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(prompt, limit)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        code = None
    return code, round(time.time() - begin, 2), out, err, stage.requests(since)[0]


def alone(stage, cli):
    """Both turns of the fix, and a verdict; -> rows."""
    at = stage.project(f"raw {cli}")
    session, rows = str(uuid.uuid4()), []
    prompts = {"first": f"# Task: Fix the sum\n\n{TASK}\n", "second": SENT_BACK, "judge": VERDICT}
    for step, prompt in prompts.items():
        role = "judge" if step == "judge" else "worker"
        code, seconds, out, err, asked = start(stage, cli, at, role, "ok", session, step != "second", prompt, 120)
        put(at, f"{step}.stdout", out), put(at, f"{step}.stderr", err)
        found = re.search(r'"(?:session_id|thread_id|sessionID)":"([^"]+)"', out)
        is_same = step != "second" or bool(found and found[1] == session)
        session = found[1] if found and step == "first" else session
        with open(os.path.join(at, "project", "sum.sh"), encoding="utf-8") as file:
            content = file.read()
        right = {"first": "$1 - $2" in content, "second": "$1 + $2" in content, "judge": "correctness" in out}[step]
        rows.append({"part": "raw", "title": f"{cli} {step}", "exit": code, "seconds": seconds, "served": served(asked),
                     "did": [row["did"] for row in asked if row["did"]], "who": sorted({row["who"] or "-" for row in asked}),
                     "schema": any(row["schema"] for row in asked), "asks": max((row["asks"] for row in asked), default=0),
                     "ok": code == 0 and right and is_same})
    return rows


def failing(stage, cli, mode):
    """One turn before a failing provider, and what the CLI says of it last; -> row."""
    at = stage.project(f"raw {cli} {mode}")
    limit = 15 if mode == "hang" else 90
    code, seconds, out, err, asked = start(stage, cli, at, "worker", mode, str(uuid.uuid4()), True, f"{TASK}\n", limit)
    put(at, "stdout", out), put(at, "stderr", err)
    said = re.findall(r'"(?:message|result)":\s*"((?:[^"\\]|\\.)+)"', out) or [line for line in err.splitlines() if line.strip()] or [""]
    return {"part": "raw", "title": f"{cli} {mode}", "exit": code, "seconds": seconds, "did": [row["status"] for row in asked],
            "who": sorted({row["who"] or "-" for row in asked}), "asks": max((row["asks"] for row in asked), default=0),
            "schema": any(row["schema"] for row in asked), "message": said[-1],
            "ok": {"idle": code == 0, "hang": code is None, "window": True}.get(mode, code not in (0, None))}


ACP_MODES = {"claude": "acceptEdits", "codex": "workspace-write", "gemini": "autoEdit", "opencode": "build", "qwen": "auto-edit"}


def acp_alone(stage, name, mode):
    """The fix by an ACP server, two prompts in one session; before a failing provider one prompt; -> row."""
    at, cli = stage.project(f"raw {name} {mode}"), SERVERS[name]
    entry = server(name, f"http://127.0.0.1:{stage.port}/{mode}.worker", stage.home)
    environment = dict(stage.environment)
    environment.update((key, value.replace("${SCRIPTED_KEY}", KEY)) for key, value in entry["env"].items())
    project = os.path.join(at, "project")
    _, since = stage.requests(0)
    begin = time.time()
    with open(os.path.join(at, "stderr"), "w", encoding="utf-8") as errors:
        process = subprocess.Popen(entry["run"], cwd=project, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=errors, text=True, start_new_session=True)
    too_late = threading.Timer(60, lambda: os.killpg(process.pid, signal.SIGKILL))
    too_late.start()

    def ask(number, method, **parameters):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if "method" in said and "id" in said:       # nothing is offered and nothing allowed
                answer = {"jsonrpc": "2.0", "id": said["id"], "error": {"code": -32601, "message": "Method not found"}}
                process.stdin.write(json.dumps(answer) + "\n")
                process.stdin.flush()
            elif said.get("id") == number:
                return said
        return {"error": {"message": "no answer"}}

    said = {}
    try:
        ask(1, "initialize", protocolVersion=1, clientInfo={"name": "bench", "title": "bench", "version": "0"},
            clientCapabilities={"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False})
        if cli == "gemini":
            ask(2, "authenticate", methodId="gemini-api-key")
        said = ask(3, "session/new", cwd=project, mcpServers=[])
        if "result" in said:
            session = said["result"]["sessionId"]
            if cli == "opencode":
                ask(4, "session/set_config_option", sessionId=session, configId="mode", value=ACP_MODES[cli])
            else:
                ask(4, "session/set_mode", sessionId=session, modeId=ACP_MODES[cli])
            prompts = [TASK, SENT_BACK] if mode == "ok" else [TASK]
            for number, prompt in enumerate(prompts, 5):
                said = ask(number, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": prompt}])
    except BrokenPipeError:
        pass
    process.stdin.close()
    try:
        code = process.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    too_late.cancel()
    asked, _ = stage.requests(since)
    with open(os.path.join(project, "sum.sh"), encoding="utf-8") as file:
        is_right = "$1 + $2" in file.read()
    return {"part": "raw", "title": f"{name} {mode}", "exit": code, "seconds": round(time.time() - begin, 2),
            "did": [row["did"] or row["status"] for row in asked], "who": sorted({row["who"] or "-" for row in asked}),
            "schema": False, "asks": max((row["asks"] for row in asked), default=0), "served": served(asked),
            "message": json.dumps(said.get("error") or said.get("result")), "ok": is_right if mode == "ok" else not is_right}


# Tables. -----------------------------------------------------------------------------------------------------------------

COLUMNS = {
    "raw": (("", "title"), ("exit", "exit"), ("s", "seconds"), ("the model did", "did"), ("played", "who"), ("schema", "schema"),
            ("turns told", "asks"), ("as expected", "ok"), ("message", "message")),
    "fix": (("", "title"), ("exit", "exit"), ("attempts", "attempts"), ("s", "seconds"), ("CPU s of quorum", "ownCpu"),
            ("of all else", "otherCpu"), ("share", "share"), ("tokens told", "told"), ("served", "all"), ("sessions", "sessions"),
            ("turns told", "asks"), ("left", "left"), ("as expected", "ok")),
    "worker": (("", "title"), ("exit", "exit"), ("class", "class"), ("expected", "expected"), ("s", "seconds"), ("attempts", "attempts"),
               ("requests", "posts"), ("left", "left"), ("as expected", "ok"), ("message", "message")),
    "judge": (("", "title"), ("exit", "exit"), ("points", "points"), ("class", "class"), ("s", "seconds"), ("requests", "posts"),
              ("left", "left"), ("as expected", "ok"), ("message", "message")),
}
COLUMNS["fallback"] = COLUMNS["fix"]
COLUMNS["acp"] = COLUMNS["worker"][:7] + (("tokens told", "told"), ("served", "all")) + COLUMNS["worker"][7:]


def table(part, rows):
    columns = COLUMNS[part]
    lines = ["| " + " | ".join(head for head, _ in columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        row = {**row, "all": (row.get("served") or {}).get("all"), "posts": (row.get("servedAll") or {}).get("posts"),
               "share": round(row["ownCpu"] / row["otherCpu"], 4) if row.get("otherCpu") else None}
        lines.append("| " + " | ".join(cell(row.get(key)) for _, key in columns) + " |")
    return "\n".join(lines)


def cell(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ("/" if all(isinstance(part, int) for part in value) else ", ").join(map(str, value)) or "–"
    return "–" if value is None else re.sub(r"\s+", " ", str(value)).replace("|", "\\|")[:120]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("quorum"), options.add_argument("install")
    options.add_argument("--part", action="append", choices=("raw", "fix", "fallback", "worker", "judge", "acp"))
    options.add_argument("--agent", action="append", help="only this CLI or server; may be given several times")
    options.add_argument("--mode", action="append", help="only this mode of the provider")
    options.add_argument("--dry-run", action="store_true", help="print the missions, start nothing")
    options.add_argument("--json", help="a file that gets all results")
    options.add_argument("--folder", help="where everything is kept [a new one among the temporary files]")
    options = options.parse_args()
    results = []
    if not options.dry_run:
        adopt()
    with Stage(options) as stage:
        names = lambda known: [name for name in known if not options.agent or name in options.agent]
        modes = lambda known: [mode for mode in known if not options.mode or mode in options.mode]
        for part in options.part or ("fix", "fallback", "worker", "judge", "acp"):
            rows = []
            if part == "raw" and not options.dry_run:
                for cli in names(CLIS):
                    rows += [failing(stage, cli, mode) for mode in modes(MODES)] if options.mode else alone(stage, cli)
                for name in names(SERVERS):
                    rows += [acp_alone(stage, name, mode) for mode in modes(("ok",) + MODES) if options.mode or mode == "ok"]
            elif part != "raw":
                for title, document, limit, expected in missions(part, names, modes, stage.port, stage.home):
                    if options.dry_run:
                        print(f"# {part}: {title}; expected: {expected}\n---\n{yaml(document)}\n")
                        continue
                    print(f"{part}: {title}", file=sys.stderr, flush=True)
                    rows.append(stage.play(part, title, document, limit, expected))
            results += rows
            if rows:
                print(f"\n## {part}\n\n{table(part, rows)}", flush=True)
        if options.dry_run:
            shutil.rmtree(stage.folder) if not options.folder else None
        else:
            print(f"\n{sum(row['ok'] for row in results)} of {len(results)} as expected; everything is in {stage.folder}", file=sys.stderr)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return not all(row["ok"] for row in results)


if __name__ == "__main__":
    sys.exit(main())
