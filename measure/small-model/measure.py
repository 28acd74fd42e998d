#!/usr/bin/env python3
"""Twenty pieces of work before a panel of a small model, and what of its verdicts can be used.

    measure.py QUORUM BASE_URL MODEL [--without-schema] [--seats N] [--pairs N]

QUORUM is the binary, BASE_URL an OpenAI-compatible endpoint. A verdict counts as usable when the parser reads a score
for every dimension. Each score is then looked for in the stored raw reply by a reader of its own, which shares nothing
with the parser: one that does not stand there is invented. Nothing but the standard library is needed.
"""
import argparse, http.server, json, os, re, subprocess, sys, tempfile, threading, time, urllib.error, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
DIMENSIONS = ["correctness", "completeness"]


class WithoutSchema(http.server.BaseHTTPRequestHandler):
    """An endpoint that knows no schema, in front of one that does."""
    upstream = ""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if "response_format" in json.loads(body):
            return self.reply(400, b'{"error": {"message": "response_format is not supported", "param": "response_format"}}')
        request = urllib.request.Request(self.upstream + "/chat/completions", body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=900) as answer:
                self.reply(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self.reply(error.code, error.read())

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def mission(folder, pairs, url, model, seats):
    agents = {"judge": {"adapter": "openai", "baseUrl": url, "model": model, "role": "reviewer", "temperature": 0,
                        "maxTokens": 1000, "timeout": "15m", "maxConcurrent": 2, "tools": []}}
    tasks = []
    for n, pair in enumerate(pairs, 1):
        with open(os.path.join(folder, f"{n}.txt"), "w", encoding="utf-8") as file:
            file.write(pair["output"])
        agents[f"w{n}"] = {"run": ["cat", f"{n}.txt"], "input": "none", "role": "writer"}
        review = {"type": "llm_review", "reviewers": seats,
                  "dimensions": [{"name": name, "weight": 0.5} for name in DIMENSIONS]}
        tasks.append({"title": f"{n:02} {pair['kind']}", "assignTo": f"w{n}", "description": pair["task"],
                      "maxAttempts": 1, "onExhausted": "accept", "expectations": [review]})
    with open(os.path.join(folder, "mission.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "Small model", "agents": agents, "tasks": tasks, "settings": {"concurrency": 2, "maxAssessmentRetries": 0}}, file)


def given(value, dimension):
    """Every number that some JSON gives a dimension."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.lower() == dimension:
                number = inner.get("score") if isinstance(inner, dict) else inner
                if isinstance(number, (int, float)):
                    yield float(number)
                elif isinstance(number, str) and re.fullmatch(r"\s*[0-9.]+(\s*/\s*5)?\s*", number):
                    yield float(number.split("/")[0])
            elif isinstance(inner, (dict, list)):
                yield from given(inner, dimension)
    elif isinstance(value, list):
        for inner in value:
            yield from given(inner, dimension)
            if isinstance(inner, dict) and str(inner.get("dimension", inner.get("name", ""))).lower() == dimension:
                if isinstance(inner.get("score"), (int, float)):
                    yield float(inner["score"])


def stands_in(reply, dimension, score):
    """Whether the raw reply gives this dimension this score, and no other."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        numbers = set(given(json.loads(reply[start:end + 1]), dimension))
    except ValueError:
        numbers = {float(n) for n in re.findall(rf'(?is)"{re.escape(dimension)}".{{0,400}}?"score"\s*:\s*([0-9.]+)', reply)}
    return numbers == {float(score)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("quorum"), arguments.add_argument("url"), arguments.add_argument("model")
    arguments.add_argument("--without-schema", action="store_true")
    arguments.add_argument("--seats", type=int, default=2)
    arguments.add_argument("--pairs", type=int, default=20)
    a = arguments.parse_args()
    url = a.url
    if a.without_schema:
        WithoutSchema.upstream = url
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), WithoutSchema)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
    with open(os.path.join(HERE, "pairs.jsonl"), encoding="utf-8") as file:
        pairs = [json.loads(line) for line in file][: a.pairs]
    folder = tempfile.mkdtemp(prefix="small-model-")
    mission(folder, pairs, url, a.model, a.seats)
    begin = time.time()
    run = subprocess.run([a.quorum, "run", "mission.json", "--run-id", "r", "--json", "--progress", "plain"], cwd=folder,
                         stdout=subprocess.PIPE, text=True)
    took = time.time() - begin
    document = json.loads(run.stdout)
    replayed = subprocess.run([a.quorum, "review", "--replay", "r", "--json"], cwd=folder, stdout=subprocess.PIPE, text=True)
    replay = json.loads(replayed.stdout)
    titles = [task["title"] for task in document["tasks"]]
    seats, read, reprompted, invented, schema = {}, 0, 0, [], 0
    for row in replay["judgements"]:
        key = (row["task"], row["seat"])
        schema += row["basis"]["parameters"]["schema"]
        index = titles.index(row["task"])
        name = f"{index}.{row['attempt']}.judge.{row['seat']}.{row['round']}-{row['try']}.reply"
        path = os.path.join(folder, ".polpo", "runs", "r", "spool", name)
        reply = open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""
        reprompted += row["try"] > 1
        is_read = row["recorded"]["result"] == "scores"
        read += is_read
        seats[key] = seats.get(key, False) or is_read
        for score in row["recorded"].get("dimensions", []):
            if not stands_in(reply, score["dimension"], score["score"]):
                invented.append((row["task"], row["seat"], score, reply))
    print(f"held to a schema: {schema}; {took:.0f} s; run exit {run.returncode}, replay exit {replayed.returncode}")
    print(f"replies: {len(replay['judgements'])}, read: {read}; seats: {len(seats)}, usable: {sum(seats.values())}; "
          f"asked again: {reprompted}")
    judged = [task for task in document["tasks"] if task["points"] is not None]
    print(f"tasks with a verdict of the panel: {len(judged)} of {len(titles)}")
    for task in document["tasks"]:
        dimensions = {row["dimension"]: row["score"] for row in task["dimensions"]}
        print(f"  {task['title']:22} {task['status']:18} {task['points']} {dimensions}")
    print(f"scores that do not stand in the reply: {len(invented)}")
    for found in invented:
        print("   ", found)
    print(f"the files are in {folder}", file=sys.stderr)
    return bool(invented)


if __name__ == "__main__":
    sys.exit(main())
