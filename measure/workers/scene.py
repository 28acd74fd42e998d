"""A server, an exchange, machines with a folder of their own each, and missions."""
import base64, json, os, signal, socket, sqlite3, statistics, subprocess, sys, time
from datetime import datetime

from processes import Missing, below, kill_all, reap, send, wait_until, words

KEY = "a text that nobody outside of the team knows"
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.org"]

failures = []

def fail(why):
    failures.append(why)
    print(f"FAILED: {why}", flush=True)

def show(what, figures, unit, bar):
    if figures:
        of = f"{statistics.median(figures):.2f} {unit} ({min(figures):.2f} to {max(figures):.2f}; n = {len(figures)})"
        print(f"{what}: {of}; bar {bar}", flush=True)

def lines(path):
    """The lines of a file, as far as they are whole; none where there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []

def text(path):
    """What a file holds; `None` where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None

def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]

class Scene:
    """All that is started; `with` ends it, whatever happens."""

    def __init__(self, arguments, folder):
        self.quorum, self.temporal = os.path.abspath(arguments.quorum), os.path.abspath(arguments.temporal)
        self.folder, self.missions, self.started, self.workers, self.server = folder, 0, {}, [], None
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.exchange = f"{folder}/exchange.git"

    def __enter__(self):
        self.git(self.folder, "init", "-q", "--bare", "exchange.git")
        self.start_server()
        return self

    def __exit__(self, *_):
        self.end_all(with_server=True)

    # Processes.

    def begin(self, command, folder, environment, log, **streams):
        """Starts a process whose output goes to a file of a name, if it goes nowhere else."""
        with open(log, "ab") as file:
            streams = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file, **streams}
            process = subprocess.Popen(command, cwd=folder, env=environment, **streams)
        process.log = log
        self.started[process.pid] = process
        return process

    def end_all(self, with_server=False):
        """Kills all that was started, and what descends from it."""
        spared = set() if with_server or not self.server else {self.server.pid}
        while left := below(os.getpid()) - spared:
            send(left, signal.SIGKILL)
            for process in self.started.values():
                process.poll()
            reap(self.started)
        for process in self.started.values():
            if process.pid not in spared:
                process.wait()
        self.workers = []

    def left(self, kept=lambda: set(), seconds=5):
        """What still runs beside the server and what is kept, once it has had the time to end; that is killed."""
        def running():
            for process in self.started.values():
                process.poll()
            reap(self.started)
            return below(os.getpid()) - {self.server.pid} - kept()
        try:
            wait_until("the end of all", lambda: not running(), seconds)
            return []
        except Missing:
            left = running()
            said = [b" ".join(words(pid)).decode(errors="replace")[:100] for pid in left]
            send(left, signal.SIGKILL)
            return said

    def exit_of(self, process, what, seconds=120):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Missing(f"the end of {what}: not within {seconds} s") from None

    def expect(self, process, what, code=0, seconds=120):
        """Waits for the end of a process, which is to be of one code."""
        ended = self.exit_of(process, what, seconds)
        if ended != code:
            said = (text(process.log) or "").strip().splitlines()[-6:]
            fail(f"{what} ended {ended}, not {code}: {' / '.join(said)}")
        return ended == code

    # The server.

    def start_server(self):
        command = [self.temporal, "server", "start-dev", "--headless", "--log-level", "error", "--port", str(self.port),
                   "--db-filename", f"{self.folder}/database"]
        is_new = not os.path.exists(f"{self.folder}/database")
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder}
        self.server = self.begin(command, self.folder, environment, f"{self.folder}/server.log")
        wait_until("the server", self.listens, 60)
        if is_new:
            # It listens before it has made its namespace.
            wait_until("the server's namespace", lambda: self.ask_server("workflow", "list", "--limit", "1") is not None)

    def kill_server(self):
        self.server.kill()
        self.server.wait()

    def listens(self):
        if self.server.poll() is not None:
            raise Missing(f"the server has ended: {text(self.server.log)}")
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def ask_server(self, *command):
        """What the server's own client prints; `None` where that fails."""
        command = [self.temporal, *command, "--address", self.address, "-o", "json"]
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder}
        asked = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
        return asked.stdout if asked.returncode == 0 else None

    def database(self):
        """The texts and bytes of all tables of the server."""
        connection = sqlite3.connect(f"file:{self.folder}/database?mode=ro", uri=True, timeout=10)
        try:
            tables = [name for name, in connection.execute("select name from sqlite_master where type = 'table'")]
            for table in tables:
                for row in connection.execute(f'select * from "{table}"'):
                    yield from ((table, value) for value in row if isinstance(value, (bytes, str)))
        finally:
            connection.close()

    # Machines.

    def environment(self, home, **variables):
        """The environment on a machine, which is a folder."""
        os.makedirs(f"{self.folder}/{home}", exist_ok=True)
        return {"PATH": os.environ["PATH"], "HOME": f"{self.folder}/{home}", "TEMPORAL_ADDRESS": self.address,
                "QUORUM_WORKER_KEY": KEY, **variables}

    def worker(self, slots=1, home=None, queue=("--queue", "gpu"), **variables):
        home = home or f"worker-{len(self.started)}"
        command = [self.quorum, "worker", *queue, "--slots", str(slots)]
        worker = self.begin(command, self.folder, self.environment(home, **variables), f"{self.folder}/{home}.log")
        worker.home = f"{self.folder}/{home}"
        self.workers.append(worker)
        return worker

    def end_workers(self):
        """Tells the workers to end, and looks for what is left."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.terminate()
        for worker in self.workers:
            # One that was killed has ended otherwise.
            if self.exit_of(worker, f"a worker that was told to end ({worker.log})", 30) not in (0, -signal.SIGKILL):
                fail(f"a worker ended {worker.returncode}: {(text(worker.log) or '')[-300:]}")
        self.workers = []
        for command in self.left():
            fail(f"left behind: {command}")
        self.end_all()

    def lose(self, process):
        """The machine of a process is gone, with all that is below it."""
        kill_all(process.pid)
        process.wait()

    # Missions.

    def git(self, folder, *command, given=""):
        done = subprocess.run(["git", *IDENTITY, *command], cwd=folder, check=True, input=given, stdout=subprocess.PIPE, encoding="utf-8")
        return done.stdout

    def mission(self, script, tasks=1, concurrency=1, lease="10s", agent=(), settings=(), files=(), queue="gpu", agents=(), **keys):
        """The folder of a mission whose tasks, each in a worktree, run a script elsewhere. `tasks` are titles, maps, or how many."""
        self.missions += 1
        folder = f"{self.folder}/mission-{self.missions}"
        tasks = [f"t{number}" for number in range(tasks)] if isinstance(tasks, int) else tasks
        worker = {"run": script, **({"queue": queue} if queue else {}), **dict(agent)}
        workers = {"exchange": self.exchange, "lease": lease, "waitForWorker": "1m"}
        document = {
            "name": "carried", "isolation": "worktree", **keys,
            "settings": {"evaluate": False, "concurrency": concurrency, "workers": workers, **dict(settings)},
            "agents": {"worker": worker, **dict(agents)},
            "tasks": [{"title": task, "assignTo": "worker"} if isinstance(task, str) else {"assignTo": "worker", **task} for task in tasks],
        }
        files = {"mission.yaml": json.dumps(document, indent=1) + "\n", ".gitignore": ".polpo\n", **dict(files)}
        os.makedirs(folder)
        for name, content in files.items():
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(content)
        self.git(folder, "init", "-q", "-b", "main")
        self.git(folder, "add", "-A")
        self.git(folder, "commit", "-q", "-m", "base")
        return folder

    def start(self, folder, *command, home="home", **variables):
        """Starts a session of a mission's run: `run`, if nothing else is said."""
        command = [self.quorum, *(command or ("run", "mission.yaml")), "--progress", "none"]
        return self.begin(command, folder, self.environment(home, **variables), f"{folder}.log")

    def run(self, folder, *flags):
        """Runs a mission to a good end, and gives the seconds that it took."""
        begun = time.time()
        self.expect(self.start(folder, "run", "mission.yaml", *flags), "a run", seconds=1200)
        return time.time() - begun

    def printed(self, folder, *command, home="home", **variables):
        """What a command of quorum prints, and its exit code."""
        done = subprocess.run([self.quorum, *command], cwd=folder, env=self.environment(home, **variables), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60)
        return done.stdout, done.returncode

    def status(self, folder):
        return json.loads(self.printed(folder, "status", "--json")[0])

    def events(self, folder):
        return json.loads(self.printed(folder, "events", "--json")[0])["events"]

    def turns(self, folder):
        """Milliseconds from the beginning to the end of each turn of the run of a mission, in their order."""
        begun, took = {}, []
        for event in self.events(folder):
            if event.get("kind") != "turn":
                continue
            at = 1000 * datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp()
            if event["event"] == "work:started":
                begun[event["taskId"]] = at
            elif event["event"] == "work:ended":
                took.append(at - begun.pop(event["taskId"]))
        return took

def encoded(word):
    """The forms in which a word may stand somewhere: as it is, and within base64, at each of three places."""
    forms = [word]
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + word)
        # The signs at both ends hold bits of what stands beside the word.
        forms.append(whole[4 if before else 0:(before + len(word)) // 3 * 4])
    return forms
