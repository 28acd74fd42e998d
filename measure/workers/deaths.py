"""What holds when processes, machines and connections die."""
import json, os, selectors, signal, socket, subprocess, threading, time

from processes import below, children, everything, lives, send, sleepers, stop_all, wait_until
from scene import fail, lines, show, text

BEGIN = "echo $QUORUM_ATTEMPT.$QUORUM_TURN >> {ledger}; "

def expect_turns(ledger, *turns):
    if lines(ledger) != list(turns):
        fail(f"begun: {lines(ledger)}, not {list(turns)}")

def seconds_of(number):
    """A time to sleep for that no other process has."""
    return 100_000_000 + os.getpid() * 100 + number

def kill(scene, arguments):
    """A worker is killed; its lease is 2 s. The next turn begins on another one, and nothing of the first is left."""
    next_at, gone_at = [], []
    for number in range(arguments.rounds):
        ledger, seconds = f"{scene.folder}/killed-{number}", seconds_of(number)
        script = BEGIN.format(ledger=ledger) + f"test $(wc -l < {ledger}) -gt 1 || {{ setsid sleep {seconds} & sleep {seconds}; }}"
        worker = scene.worker()
        run = scene.start(scene.mission(script, lease="2s"))
        wait_until("both processes of the agent", lambda: len(lines(ledger)) == 1 and len(sleepers(seconds)) == 2)
        worker.kill()
        killed = time.time()
        scene.worker()
        gone_at.append(wait_until("the end of what the worker had started", lambda: not sleepers(seconds)) - killed)
        next_at.append(wait_until("the next turn", lambda: len(lines(ledger)) == 2) - killed)
        scene.expect(run, "the run")
        expect_turns(ledger, "1.1", "1.2")
        scene.end_workers()
    show("next at work behind kill -9, lease 2 s", next_at, "s", "2.5 s")
    show("nothing left there", gone_at, "s", "4 s")

def stop(scene, arguments):
    """A worker with all below it stands still for 6 s; its lease is 2 s. Its agent ends well then, or has just handed its work over."""
    next_at, heard_at, late = [], [], 0
    for number in range(arguments.rounds):
        is_handed_over = number % 2 == 0
        for again in range(10):
            times = stopped_worker(scene, f"{number}-{again}", is_handed_over)
            scene.end_workers()
            if times:
                break
        if not times:
            fail("ten workers had told their results before they stood still")
            continue
        late += is_handed_over
        next_at.append(times[0])
        heard_at.append(times[1])
    show("next at work behind SIGSTOP, lease 2 s", next_at, "s", "none")
    show(f"refused behind SIGCONT ({late} with a reference of their own)", heard_at, "s", "nothing more begins, result refused, reference ignored")

def stopped_worker(scene, name, is_handed_over):
    """When the next turn began, and when the worker was refused; nothing where its result was told before it stood still."""
    ledger, go, other = (f"{scene.folder}/{file}-{name}" for file in ["stopped", "stopped-go", "stopped-other"])
    begin = "echo $QUORUM_ATTEMPT.$QUORUM_TURN $HOME >> "
    script = f"{begin}{ledger}; until test -e {go}-$QUORUM_TURN; do sleep 0.02; done; echo $QUORUM_TURN > made"
    still = scene.worker(2)
    folder = scene.mission(script, lease="2s")
    run = scene.start(folder)
    wait_until("the agent", lambda: lines(ledger) and children(folder))
    if is_handed_over:
        # The reference of its work is there, and the result that names it is told to nobody yet.
        [reference] = references(scene)
        open(f"{go}-1", "w").close()
        wait_until("what is handed over", lambda: os.path.exists(f"{scene.exchange}/{reference[:-2]}out"), pause=0)
    stopped_at = time.time()
    stopped = stop_all(still.pid)
    # Handed to the worker that stands still, for nobody else asks for work.
    handed = scene.start(scene.mission(f"{begin}{other}", lease="2s"))
    open(f"{go}-1", "w").close()
    goes_on = scene.worker(2)
    begun_at = wait_until("the next turn", lambda: len(lines(ledger)) == 2 or run.poll() is not None)
    if len(lines(ledger)) == 1:
        send(stopped, signal.SIGCONT)
        scene.expect(handed, "the other run")
        return None
    scene.expect(handed, "the run whose turn was handed to nobody")
    wait_until("six seconds", lambda: time.time() > stopped_at + 6)
    woken = time.time()
    if not is_handed_over:
        # The agent has ended before its worker looks.
        send(stopped - {still.pid}, signal.SIGCONT)
        wait_until("the agent's end", lambda: len(below(still.pid)) == 1)
    send(stopped, signal.SIGCONT)
    sayings = ["its end is not taken", "has not answered in time"]
    heard_at = wait_until("what the worker says", lambda: any(saying in text(still.log) for saying in sayings))
    wait_until("the end of all agents of the worker that stood still", lambda: len(below(still.pid)) == 1)
    # What it hands over after that is handed over before it has ended.
    still.terminate()
    scene.exit_of(still, "the worker that stood still", 30)
    open(f"{go}-2", "w").close()
    scene.expect(run, "the run")
    begun = [line.split() for line in lines(ledger) + lines(other)]
    if begun[:2] != [["1.1", still.home], ["1.2", goes_on.home]] or [home for _, home in begun[2:]] != [goes_on.home]:
        fail(f"begun: {begun}")
    if text(f"{folder}/made") != "2\n":
        fail(f"the work is that of turn {text(f'{folder}/made')}")
    return begun_at - stopped_at, heard_at - woken

def references(scene):
    """The references of the exchange that are files of their own."""
    folders = os.walk(f"{scene.exchange}/refs/quorum")
    return [os.path.relpath(f"{folder}/{name}", scene.exchange) for folder, _, names in folders for name in names if name in ("in", "out")]

class Proxy:
    """The way to the server, which can be cut: so that nothing comes through any more, or so that nobody is there."""

    def __init__(self, port):
        self.to, self.pairs, self.is_mute, self.over = port, [], False, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        ready = selectors.DefaultSelector()
        self.listener.setblocking(False)
        ready.register(self.listener, selectors.EVENT_READ)
        while not self.over:
            for key, _ in ready.select(0.05):
                if key.fileobj is self.listener:
                    try:
                        pair = self.listener.accept()[0], socket.create_connection(("127.0.0.1", self.to))
                    except OSError:
                        continue
                    self.pairs.append(pair)
                    for one, other in [pair, pair[::-1]]:
                        ready.register(one, selectors.EVENT_READ, other)
                    continue
                try:
                    data = key.fileobj.recv(1 << 16)
                    if data and not self.is_mute:
                        key.data.sendall(data)
                except OSError:
                    data = b""
                if not data:
                    for end in [key.fileobj, key.data]:
                        try:
                            ready.unregister(end)
                        except (KeyError, ValueError):
                            pass
                        end.close()
        self.listener.close()
        for pair in self.pairs:
            for end in pair:
                end.close()

    def end(self):
        self.over = True

def cut(scene, arguments):
    """A worker hears nothing of the server any more; its lease is 2 s. Its agent is gone before the next one begins."""
    gone_at, next_at = [], []
    for number in range(arguments.rounds):
        ledger, seconds = f"{scene.folder}/cut-{number}", seconds_of(number)
        script = BEGIN.format(ledger=ledger) + f"test $(wc -l < {ledger}) -gt 1 || {{ setsid sleep {seconds} & sleep {seconds}; }}"
        way = Proxy(scene.port)
        try:
            worker = scene.worker(TEMPORAL_ADDRESS=way.address)
            run = scene.start(scene.mission(script, lease="2s"))
            wait_until("both processes of the agent", lambda: len(lines(ledger)) == 1 and len(sleepers(seconds)) == 2)
            # In every second round the connections stay, and nothing comes through them.
            if number % 2 == 0:
                way.is_mute = True
            else:
                way.end()
            cut_at = time.time()
            scene.worker()
            gone = wait_until("the end of the agent", lambda: not sleepers(seconds))
            begun = wait_until("the next turn", lambda: len(lines(ledger)) == 2)
            if begun <= gone:
                fail(f"the next turn had begun {gone - begun:.2f} s before the agent was gone")
            gone_at.append(gone - cut_at)
            next_at.append(begun - cut_at)
            if gone_at[-1] > 2:
                fail(f"the agent was gone only {gone_at[-1]:.2f} s after the cut")
            scene.expect(run, "the run")
            expect_turns(ledger, "1.1", "1.2")
            worker.kill()
        finally:
            way.end()
        scene.end_workers()
    show("agent gone behind the cut, lease 2 s", gone_at, "s", "2 s")
    show("next at work behind the cut", next_at, "s", "none")

def side_effect(scene, arguments):
    """A worker is killed while an agent does what must not be repeated: only a person's word makes it act again."""
    asked_at, goes_on_at = [], []
    for number in range(arguments.rounds):
        ledger, seconds = f"{scene.folder}/effect-{number}", seconds_of(number)
        script = BEGIN.format(ledger=ledger) + f"test $(wc -l < {ledger}) -gt 1 || sleep {seconds}; echo work > made"
        worker = scene.worker()
        folder = scene.mission(script, [{"title": "t0", "sideEffects": True}], lease="2s")
        run = scene.start(folder)
        wait_until("the agent", lambda: lines(ledger) and sleepers(seconds))
        killed = time.time()
        worker.kill()
        scene.worker()
        scene.expect(run, "a run whose side effect may have come about", 8)
        asked_at.append(time.time() - killed)
        scene.expect(scene.start(folder, "resume"), "the same, resumed without a word of a person", 8)
        expect_turns(ledger, "1.1")
        [asked] = scene.status(folder)["approvals"]
        if asked["reason"] != "side-effects":
            fail(f"a person is asked for another reason: {asked}")
        said, code = scene.printed(folder, "approve", asked["id"])
        if code:
            fail(f"`approve` ended {code}: {said}")
        approved = time.time()
        resumed = scene.start(folder, "resume")
        goes_on_at.append(wait_until("the next turn", lambda: len(lines(ledger)) == 2) - approved)
        scene.expect(resumed, "the same, approved")
        if text(f"{folder}/made") != "work\n" or len(lines(ledger)) != 2:
            fail(f"begun: {lines(ledger)}, made: {text(f'{folder}/made')}")
        scene.end_workers()
    show("a person is asked behind kill -9, lease 2 s", asked_at, "s", "begun 1, exit 8")
    show("goes on behind `approve`", goes_on_at, "s", "only then")

def server(scene, arguments):
    """The server is killed while agents work, and is back in 2 s with its database; the lease is 10 s."""
    ended_at = []
    for number in range(arguments.rounds):
        ledger, go = f"{scene.folder}/served-{number}", f"{scene.folder}/served-go-{number}"
        script = f"""echo $QUORUM_TASK.$QUORUM_ATTEMPT.$QUORUM_TURN >> {ledger}
case $QUORUM_TASK in t0|t1) until test -e {go}; do sleep 0.05; done;; *) sleep 0.3;; esac; echo work > $QUORUM_TASK.txt"""
        for _ in range(2):
            scene.worker(2)
        folder = scene.mission(script, 12, 4)
        run = scene.start(folder)
        wait_until("four agents", lambda: len(lines(ledger)) >= 4)
        killed = time.time()
        scene.kill_server()
        wait_until("two seconds", lambda: time.time() > killed + 2)
        scene.start_server()
        back = time.time()
        open(go, "w").close()
        scene.expect(run, "the run")
        ended_at.append(time.time() - back)
        if sorted(lines(ledger)) != sorted(f"t{task}.1.1" for task in range(12)):
            fail(f"begun: {sorted(lines(ledger))}")
        scene.end_workers()
    show("the run's end behind the return of the server, lease 10 s", ended_at, "s", "no turn lost, each begun once")

def resume(scene, arguments):
    """Session, supervisor and child are killed while an agent is at work, which a resumed session takes over."""
    found_at, ended_at, printed = [], [], 150_000
    scene.worker()
    for number in range(arguments.rounds):
        ledger, go = (f"{scene.folder}/{name}-{number}" for name in ["resumed", "go"])
        script = BEGIN.format(ledger=ledger) + (f"yes 123456789 | head -c {printed}; "
                                                f"until test -e {go}; do sleep 0.02; done; echo last; echo work > made")
        folder = scene.mission(script)
        run = scene.start(folder)
        wait_until("the agent", lambda: lines(ledger) and children(folder))
        [(child, supervisor)] = children(folder)
        send([run.pid, supervisor, child], signal.SIGKILL)
        run.wait()
        wait_until("the end of what was killed", lambda: not lives(child) and not lives(supervisor))
        begun = time.time()
        resumed = scene.start(folder, "resume")
        found_at.append(wait_until("another child", lambda: children(folder)) - begun)
        open(go, "w").close()
        let_go = time.time()
        scene.expect(resumed, "the resumed run")
        ended_at.append(time.time() - let_go)
        output = scene.printed(folder, "logs", "t0")[0]
        expect_turns(ledger, "1.1")
        if output != b"123456789\n" * (printed // 10) + b"last\n" or text(f"{folder}/made") != "work\n":
            fail(f"resumed: {len(output)} bytes printed, made: {text(f'{folder}/made')}")
    show("another child at work behind `resume`", found_at, "s", "begun 1, output whole")
    show("the run's end behind the agent's", ended_at, "s", "begun 1, output whole")

def hosted(scene, arguments):
    """The machine of a hosted session dies; its lease is 2 s. Another host goes on with what works on a worker."""
    next_at = []
    for number in range(arguments.rounds):
        ledger, go = f"{scene.folder}/hosted-{number}", f"{scene.folder}/hosted-go-{number}"
        script = BEGIN.format(ledger=ledger) + f"until test -e {go}; do sleep 0.05; done; echo work > made"
        scene.worker()
        hosts = [scene.worker(home=f"host-{number}-{name}", queue=["--sessions"], QUORUM_OPERATOR_KEY="a text of the operators of these hosts")
                 for name in ["one", "other"]]
        folder = scene.mission(script, lease="2s")
        run = scene.start(folder, "run", "mission.yaml", "--hosted", "--run-id", "r")
        wait_until("the agent", lambda: lines(ledger) and children(folder))
        [(child, _)] = children(folder)
        [gone] = [host for host in hosts if child in below(host.pid)]
        [other] = [host for host in hosts if host is not gone]
        killed = time.time()
        scene.lose(gone)
        next_at.append(wait_until("a child on the other host",
                                  lambda: any(child in below(other.pid) for child, _ in children(folder))) - killed)
        open(go, "w").close()
        scene.expect(run, "the hosted run")
        expect_turns(ledger, "1.1")
        if text(f"{folder}/made") != "work\n":
            fail(f"made: {text(f'{folder}/made')}")
        scene.end_workers()
    show("goes on elsewhere behind the loss of the session's machine, lease 2 s", next_at, "s", "4 s, begun 1")
