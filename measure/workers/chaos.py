"""Rounds in which workers, servers, sessions and machines are killed at random moments."""
import collections, glob, os, random, shutil, time

from processes import Missing, below, everything, wait_until
from scene import fail, failures, lines, show, text

VICTIMS = ["worker", "machine", "server", "session", "home"]

def chaos(scene, arguments):
    """In each round a mission runs on two or three workers, and one or two of them, the server or the session are killed and come back."""
    print(f"chaos: seeds {arguments.seed} to {arguments.seed + arguments.rounds - 1}; `--seed N --rounds 1` plays one again", flush=True)
    took, kills, lost, references = [], collections.Counter(), 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        begun = time.time()
        round_of_seed = Round(scene, random.Random(seed), seed)
        try:
            round_of_seed.play()
        except Missing as why:
            round_of_seed.fail(why)
            scene.end_all()
            if scene.server.poll() is not None:
                scene.start_server()
        took.append(time.time() - begun)
        kills.update(round_of_seed.killed)
        lost += round_of_seed.lost
        references += round_of_seed.references
    scene.end_workers()
    show(f"a round of chaos ({', '.join(f'{count} x {name}' for name, count in sorted(kills.items()))}; {lost} turns lost and done again; "
         f"{references} references left)", took, "s", "0 unfinished, 0 begun twice, 0 processes left")

class Round:
    def __init__(self, scene, chance, seed):
        self.scene, self.chance, self.seed = scene, chance, seed
        self.killed, self.lost, self.references, self.is_gone = [], 0, 0, set()
        self.ledger = f"{scene.folder}/chaos-{seed}"

    def fail(self, why):
        fail(f"seed {self.seed} (killed: {', '.join(self.killed)}): {why}")

    def play(self):
        scene, chance = self.scene, self.chance
        self.tasks = chance.randint(3, 6)
        self.want = chance.randint(2, 3)
        self.keep_workers()
        # A second agent of one task that is at work says so.
        script = f"""exec 9> {self.ledger}.lock-$QUORUM_TASK; flock -n 9 || echo $QUORUM_TASK.$QUORUM_ATTEMPT.$QUORUM_TURN >> {self.ledger}.two
echo $QUORUM_TASK.$QUORUM_ATTEMPT.$QUORUM_TURN >> {self.ledger}
sleep 0.{chance.randint(2, 8)}; echo work > $QUORUM_TASK.txt"""
        self.folder = scene.mission(script, self.tasks, chance.randint(2, 4), "2s")
        self.run = scene.start(self.folder)
        victims = chance.sample(VICTIMS, chance.choice([1, 1, 2]))
        moments = sorted((chance.randint(0, self.tasks - 1), chance.uniform(0, 0.6)) for _ in victims)
        come_back_late = chance.random() < 0.5
        for victim, (turns, pause) in zip(victims, moments):
            # What is gone may be needed for more turns.
            if not self.is_gone:
                wait_until(f"{turns} turns", lambda: len(lines(self.ledger)) >= turns or self.run.poll() is not None)
            time.sleep(pause)
            self.strike(victim)
            if not come_back_late:
                self.come_back()
        self.come_back()
        self.end()

    def strike(self, victim):
        scene, chance = self.scene, self.chance
        self.killed.append(victim)
        self.is_gone.add(victim)
        if victim in ("worker", "machine"):
            worker = chance.choice(scene.workers)
            if victim == "machine":
                scene.lose(worker)
            else:
                worker.kill()
                worker.wait()
            scene.workers.remove(worker)
        elif victim == "server":
            scene.kill_server()
        elif self.run.poll() is None:
            if victim == "home":
                scene.lose(self.run)
            else:
                self.run.kill()
                self.run.wait()
        else:
            self.is_gone.remove(victim)

    def come_back(self):
        time.sleep(self.chance.uniform(0, 0.5))
        if "server" in self.is_gone:
            self.scene.start_server()
        self.keep_workers()
        if self.is_gone & {"session", "home"}:
            self.go_on()
        self.is_gone = set()

    def keep_workers(self):
        while len(self.scene.workers) < self.want:
            self.scene.worker(2)

    def go_on(self):
        """Another session: of a new run where that which was killed has not begun one."""
        begun = any(b"\n" in open(path, "rb").read() for path in glob.glob(f"{self.folder}/.polpo/runs/*/journal.jsonl"))
        self.run = self.scene.start(self.folder, *(["resume"] if begun else []))

    def idle_workers(self):
        """The workers, each with its supervisor where that has nothing at work."""
        rows = everything()
        below_each = {worker.pid: below(worker.pid, rows) for worker in self.scene.workers}
        return set(below_each) | {pid for under in below_each.values() if len(under) == 1 for pid in under}

    def end(self):
        scene = self.scene
        for _ in range(5):
            code = scene.exit_of(self.run, f"the run of seed {self.seed}", 90)
            if code == 0:
                break
            print(f"chaos: seed {self.seed}: the session ended {code} and is resumed: {(text(self.run.log) or '').strip()[-200:]}", flush=True)
            self.go_on()
        else:
            return self.fail(f"the run ended {code}: {(text(self.run.log) or '').strip()[-500:]}")
        begun = collections.Counter(lines(self.ledger))
        self.lost = len(begun) - self.tasks
        twice = [turn for turn, times in begun.items() if times > 1]
        if twice:
            self.fail(f"begun twice: {twice}")
        if os.path.exists(f"{self.ledger}.two"):
            self.fail(f"at work beside another turn of its task: {lines(f'{self.ledger}.two')}")
        undone = [task["title"] for task in scene.status(self.folder)["tasks"] if task["status"] != "done"]
        unmade = [number for number in range(self.tasks) if text(f"{self.folder}/t{number}.txt") != "work\n"]
        if undone or unmade:
            self.fail(f"not done: {undone}, not merged: {unmade}")
        # Beside the server there are workers, each with its supervisor.
        if left := scene.left(self.idle_workers):
            self.fail(f"left behind: {left}")
        scene.printed(self.folder, "clean", "--all", "--yes")
        left = scene.git(scene.exchange, "for-each-ref", "--format", "delete %(refname)")
        self.references = len(left.splitlines())
        scene.git(scene.exchange, "update-ref", "--stdin", given=left)
        if not any(f"seed {self.seed} " in why for why in failures):
            shutil.rmtree(self.folder)
