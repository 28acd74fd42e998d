#!/usr/bin/env python3
"""A scripted provider of models on loopback, for agent CLIs that are played without a network or a key.

    provider.py [--port N] [--log FILE] [--words] [--hang SECONDS] [--pause SECONDS]

It prints one line with its port and serves until its standard input ends or it is signalled. It speaks Anthropic messages,
OpenAI chat completions, OpenAI responses and Gemini generateContent, each with and without streaming. The first part of a path is
the mode: `/ok/v1/messages`, `/e429/v1/chat/completions`. What stands behind a dot is a label for the log: `/ok.judge/v1/messages`.
Nothing but the standard library is needed.

What it plays in the modes ok and slow depends on the newest message of the user. Asked to `Fix the file NAME`, it writes the
file by a tool that the request offers: wrong at first, right where the message tells of work that was sent back. Asked as a
reviewer, it gives a verdict, held to the schema of the request where there is one. Anything else gets a short text. In `idle` it
only claims to have worked, in `garbage` its verdict cannot be read, in `hang` it does not answer; the other modes are errors.

A message of the user with a list of JSON between ```steps and ``` is a script: one step a turn, then a last word. A step is
`{"tool": …, "arguments": …}` for a tool of an MCP server named quorum, under whatever name the client offers it (also one that it
does not offer), `{"write": FILE, "content": …}` or `{"shell": LINE}` by the client's own tools.
"""
import argparse, http.server, json, os, re, shlex, sys, threading, time, uuid

INPUT, OUTPUT = 100, 20
WRONG = "echo $(($1 - $2))\n"
RIGHT = "echo $(($1 + $2))\n"
MODES = ("ok", "slow", "hang", "idle", "garbage", "e401", "e402", "e429", "quota", "window", "e500", "ctx")
TASK = re.compile(r"Fix the file `?([\w./-]+\w)`?")
SENT_BACK = re.compile(r"sent back|failed at stage|exited [1-9]|An earlier attempt failed")
SCRIPT = re.compile(r"```steps\n(.*?)\n```", re.S)
OF_SERVER = re.compile(r"(?:.*_)?quorum(?:__|[_./-])")
WINDOW = 7200


# What a request asks, whatever its protocol. -----------------------------------------------------------------------------

class Asked:
    """A request: system text, messages, tools, schema of the reply."""

    def __init__(self, model, stream):
        self.model, self.stream = model, stream
        self.system = ""
        self.turns = []         # ("user", text) | ("call", name) | ("result", text) | ("assistant", text)
        self.tools = {}         # name -> schema of the arguments
        self.schema = None      # the reply must be JSON of this schema

    def newest(self):
        """Where the newest message of the user stands and its text. What a CLI adds in tags of its own is none."""
        for at in range(len(self.turns) - 1, -1, -1):
            kind, text = self.turns[at]
            if kind == "user":
                text = re.sub(r"<(system-reminder|environment_context)>.*?</\1>", "", text, flags=re.S).strip()
                if text:
                    return at, text
        return -1, ""

    def asks(self):
        """How many messages of the conversation give the work or send it back: more than one in a session that went on."""
        return sum(1 for kind, text in self.turns if kind == "user" and (TASK.search(text) or SENT_BACK.search(text)))

    def folder(self):
        """The working folder that the CLI names somewhere in its request."""
        everything = "\n".join([self.system] + [text for kind, text in self.turns if kind in ("user", "other")])
        for pattern in (r"<cwd>(/[^<\n]*)</cwd>", r"(?i)working directory(?: is)?:\s*`?(/[^\s`]*)",
                        r"(?i)working in the directory:\s*(/\S*)", r"(?i)workspace directories:\*{0,2}\s*-\s*(/\S*)"):
            found = re.search(pattern, everything)
            if found:
                return found.group(1)
        return None


def texts(content):
    """The text of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""


def read_anthropic(body):
    asked = Asked(body.get("model"), bool(body.get("stream")))
    asked.system = texts(body.get("system"))
    for message in body.get("messages", []):
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        for part in parts:
            kind = part.get("type")
            if kind == "tool_use":
                asked.turns.append(("call", part["name"]))
            elif kind == "tool_result":
                asked.turns.append(("result", texts(part.get("content"))))
            elif kind == "text":
                role = {"user": "user", "assistant": "assistant"}.get(message["role"], "other")
                asked.turns.append((role, part["text"]))
    for tool in body.get("tools", []):
        if "input_schema" in tool:
            asked.tools[tool["name"]] = tool["input_schema"]
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    asked.schema = form.get("schema")
    return asked


def read_chat(body):
    asked = Asked(body.get("model"), bool(body.get("stream")))
    for message in body.get("messages", []):
        role, text = message.get("role"), texts(message.get("content"))
        if role in ("system", "developer"):
            asked.system += text + "\n"
        elif role == "tool":
            asked.turns.append(("result", text))
        else:
            if text:
                asked.turns.append(("user" if role == "user" else "assistant", text))
            asked.turns += [("call", call["function"]["name"]) for call in message.get("tool_calls") or []]
    for tool in body.get("tools") or []:
        asked.tools[tool["function"]["name"]] = tool["function"].get("parameters") or {}
    asked.schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    return asked


def read_responses(body):
    asked = Asked(body.get("model"), bool(body.get("stream")))
    asked.system = body.get("instructions") or ""
    items = body.get("input")
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items or []:
        kind = item.get("type", "message")
        if kind == "message":
            role, text = item.get("role"), texts(item.get("content"))
            if role in ("system", "developer"):
                asked.system += "\n" + text
            else:
                asked.turns.append(("user" if role == "user" else "assistant", text))
        elif kind.endswith("_call"):
            asked.turns.append(("call", item.get("name", kind)))
        elif kind.endswith("_call_output"):
            output = item.get("output")
            asked.turns.append(("result", output if isinstance(output, str) else texts(output)))
    for tool in body.get("tools") or []:
        if tool.get("type") == "function":
            asked.tools[tool["name"]] = tool.get("parameters") or {}
        elif tool.get("type") == "namespace":
            asked.tools.update((f"{tool['name']}/{inner['name']}", inner.get("parameters") or {}) for inner in tool.get("tools") or [])
    form = (body.get("text") or {}).get("format") or {}
    asked.schema = form.get("schema") if form.get("type") == "json_schema" else None
    return asked


def read_gemini(body, model, stream):
    asked = Asked(model, stream)
    asked.system = texts((body.get("systemInstruction") or body.get("system_instruction") or {}).get("parts"))
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            if "functionCall" in part:
                asked.turns.append(("call", part["functionCall"]["name"]))
            elif "functionResponse" in part:
                asked.turns.append(("result", json.dumps(part["functionResponse"].get("response"))))
            elif part.get("text"):
                asked.turns.append(("assistant" if content.get("role") == "model" else "user", part["text"]))
    for group in body.get("tools") or []:
        for tool in group.get("functionDeclarations") or []:
            asked.tools[tool["name"]] = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
    config = body.get("generationConfig") or {}
    asked.schema = config.get("responseJsonSchema") or config.get("responseSchema")
    return asked


# What is replied: ("text", text) or ("call", tool, arguments). ----------------------------------------------------------

WRITERS = ("write", "write_file")
READERS = ("read", "read_file")
STRUCTURED = ("structuredoutput", "structured_output")
SEARCHES = ("toolsearch",)
SHELLS = ("exec_command", "shell", "shell_command", "run_shell_command", "bash")


def pick(asked, names):
    return next((tool for name in names for tool in asked.tools if tool.lower() == name), None)


def argument(schema, names, otherwise):
    known = schema.get("properties") or {}
    return next((name for name in names if name in known), otherwise)


def use(asked, tool, path, content):
    """The arguments with which this tool reads the file, or writes this into it."""
    schema = asked.tools[tool]
    if tool.lower() in SHELLS:
        return run_line(asked, tool, f"printf %s {shlex.quote(content)} > {shlex.quote(path)}")
    given = {argument(schema, ("file_path", "filePath", "absolute_path", "path"), "file_path"): path}
    if content is not None:
        given[argument(schema, ("content", "contents", "text"), "content")] = content
    return given


def run_line(asked, tool, line):
    """The arguments with which this shell runs a line."""
    schema = asked.tools.get(tool) or {}
    name = argument(schema, ("cmd", "command"), "command")
    is_list = ((schema.get("properties") or {}).get(name) or {}).get("type") == "array"
    given = {name: ["bash", "-lc", line] if is_list else line}
    if "description" in schema.get("required", []):
        given["description"] = "run a line"
    return given


def work(asked, at, text, name):
    """The next step of a worker that fixes a file: write it, read it first where the CLI insists on that, then a last word."""
    done = asked.turns[at + 1:]
    calls = [what for kind, what in done if kind == "call"]
    results = [what for kind, what in done if kind == "result"]
    content = RIGHT if SENT_BACK.search(text) else WRONG
    path = os.path.join(asked.folder() or "", name)
    writer, reader, shell = pick(asked, WRITERS), pick(asked, READERS), pick(asked, SHELLS)
    last = calls[-1] if calls else None
    unread = results and re.search(r"(?i)(not been read|read (it|the file) (first|before))", results[-1])
    if writer and (not calls or (last == reader and len(calls) < 4)):
        return "call", writer, use(asked, writer, path, content)
    if writer and reader and unread and last == writer and len(calls) < 4:
        return "call", reader, use(asked, reader, path, None)
    if not writer and shell and not calls:
        return "call", shell, use(asked, shell, name, content)
    if not writer and not shell:
        return "text", f"There is no tool with which {name} could be written."
    return "text", f"I fixed {name}. Everything works."


def instance(schema, prompt, name=""):
    """A value that the schema allows: good scores, no findings, an answer for each point of an earlier review."""
    if not isinstance(schema, dict):
        return None
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return instance(schema[key][0], prompt, name)
    if "const" in schema:
        return schema["const"]
    kind = str(schema["type"][0] if isinstance(schema.get("type"), list) else schema.get("type", "")).lower()
    if schema.get("enum"):
        for liked in (4, "4", "pass", "yes", "low", 1):
            if liked in schema["enum"]:
                return liked
        return schema["enum"][0]
    if kind == "object" or "properties" in schema:
        wanted = schema.get("required") or schema.get("properties") or {}
        return {key: instance((schema.get("properties") or {}).get(key), prompt, key) for key in wanted}
    if kind == "array":
        items = schema.get("items") or {}
        if name == "prior":
            return [{**instance(items, prompt), "id": n} for n in points(prompt)]
        least = schema.get("minItems", 0)
        return [instance(items, prompt) for _ in range(least)]
    if kind in ("integer", "number"):
        return {"confidence": 0.9, "grade": 1, "unproductive_state_confidence": 0}.get(name, 85 if schema.get("maximum", 0) > 5 else 4)
    return kind == "boolean" or "The script adds two numbers."


def step(asked, at, script):
    """The next step of a script: as many calls as were made, so many steps are done."""
    steps = json.loads(script)
    names = list(asked.tools)
    search = pick(asked, SEARCHES)
    if search:              # schemas are handed out when they are asked for; until then there are only names
        texts_of_client = "\n".join(text for kind, text in asked.turns if kind == "other")
        names += re.findall(r"(?m)^(\w*quorum__[\w-]+)$", texts_of_client)
        if not any(turn == ("call", search) for turn in asked.turns):
            return "call", search, {"query": "select:" + ",".join(filter(OF_SERVER.match, names)), "max_results": 50}
    made = sum(1 for kind, what in asked.turns[at + 1:] if kind == "call" and what != search)
    if made >= len(steps):
        return "text", "That was the last step."
    asks = steps[made]
    if "tool" in asks:
        prefix = next((found[0] for found in map(OF_SERVER.match, names) if found), "quorum_")
        return "call", prefix + asks["tool"], asks.get("arguments", {})
    if "write" in asks:
        writer = pick(asked, WRITERS)
        path = os.path.join(asked.folder() or "", asks["write"])
        return "call", writer or pick(asked, SHELLS), use(asked, writer or pick(asked, SHELLS), path, asks["content"])
    shell = pick(asked, SHELLS)
    return "call", shell or "shell", run_line(asked, shell, asks["shell"])


def points(prompt):
    """The numbers of the points that an earlier review had."""
    found = re.search(r'<untrusted label="points of the earlier review">\n(.*?)\n</untrusted>', prompt, re.S)
    return [int(n) for n in re.findall(r"(?m)^(\d+)\. \[", found.group(1))] if found else []


def judge(asked, prompt):
    """A verdict in the form that is asked for: by the schema, by a tool for structured replies, or by the prompt's own words."""
    if asked.schema:
        return "text", json.dumps(instance(asked.schema, prompt))
    tool = pick(asked, STRUCTURED)
    if tool:
        if any(turn == ("call", tool) for turn in asked.turns):
            return "text", "That is my verdict."
        return "call", tool, instance(asked.tools[tool], prompt)
    if re.search(r"(?m)^SCORE: n$", prompt):
        answers = "".join(f"POINT {n}: yes – it is corrected\n" for n in points(prompt))
        return "text", f"The script adds two numbers, as was asked.\n{answers}SCORE: 85"
    reply = {"prior": [{"id": n, "addressed": "yes", "note": "corrected"} for n in points(prompt)]}
    named = re.search(r"(?m)dimensions must be there, spelled like this: (.*)\.$", prompt)
    if named:
        reply["scores"] = {name: {"reasoning": "It adds two numbers.", "score": 4} for name in named.group(1).split(", ")}
        return "text", json.dumps({**reply, "findings": [], "summary": "It does what was asked."})
    return "text", json.dumps({**reply, "verdict": "pass", "reason": "It does what was asked.", "findings": []})


def reply(asked, mode):
    """-> who is played, and the reply."""
    at, text = asked.newest()
    # A CLI may say something of its own in the user's name behind it.
    scripts = [(at, SCRIPT.search(text)) for at, (kind, text) in enumerate(asked.turns) if kind == "user" and SCRIPT.search(text)]
    if scripts and asked.tools:
        return "script", step(asked, scripts[-1][0], scripts[-1][1].group(1))
    named = TASK.search(text)
    if not named and SENT_BACK.search(text):        # a session that goes on is not told the task again
        named = next(filter(None, (TASK.search(earlier) for kind, earlier in asked.turns if kind == "user")), None)
    if "independent reviewer" in asked.system + text and "# Your reply" in text:
        return "judge", (("text", "I like it very much.") if mode == "garbage" else judge(asked, text))
    if named and asked.tools:
        idle = mode in ("idle", "garbage")
        return "worker", (("text", "Done. All tests pass.") if idle else work(asked, at, text, named.group(1)))
    if asked.schema:
        return "other", ("text", json.dumps(instance(asked.schema, text)))
    return "other", ("text", "A small fix")


# How each protocol says it. ----------------------------------------------------------------------------------------------

def token():
    return uuid.uuid4().hex[:24]


def say_anthropic(asked, said):
    """-> a document, or a list of (event, data)."""
    if said[0] == "text":
        block, stop = {"type": "text", "text": said[1]}, "end_turn"
    else:
        block, stop = {"type": "tool_use", "id": "toolu_" + token(), "name": said[1], "input": said[2]}, "tool_use"
    usage = {"input_tokens": INPUT, "output_tokens": OUTPUT, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": "msg_" + token(), "type": "message", "role": "assistant", "model": asked.model, "content": [block],
               "stop_reason": stop, "stop_sequence": None, "usage": usage}
    if not asked.stream:
        return message
    opened = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    if said[0] == "text":
        empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": said[1]}
    else:
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(said[2])}
    events = [
        {"type": "message_start", "message": opened},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": OUTPUT}},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def say_chat(asked, said):
    message, finish = {"role": "assistant", "content": said[1]}, "stop"
    if said[0] == "call":
        call = {"id": "call_" + token(), "type": "function", "function": {"name": said[1], "arguments": json.dumps(said[2])}}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
    head = {"id": "chatcmpl-" + token(), "created": int(time.time()), "model": asked.model}
    if not asked.stream:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    head["object"] = "chat.completion.chunk"
    if said[0] == "call":
        message["tool_calls"][0]["index"] = 0
    parts = [(message, None), ({}, finish)]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in parts]
    return [(None, chunk) for chunk in chunks + [{**head, "choices": [], "usage": usage}]] + [(None, "[DONE]")]


def say_responses(asked, said):
    if said[0] == "text":
        content = {"type": "output_text", "text": said[1], "annotations": []}
        item = {"type": "message", "id": "msg_" + token(), "status": "completed", "role": "assistant", "content": [content]}
    else:
        item = {"type": "function_call", "id": "fc_" + token(), "call_id": "call_" + token(), "status": "completed",
                "name": said[1], "arguments": json.dumps(said[2])}
        if "/" in said[1]:
            item["namespace"], item["name"] = said[1].split("/")
    usage = {"input_tokens": INPUT, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": OUTPUT,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": INPUT + OUTPUT}
    response = {"id": "resp_" + token(), "object": "response", "created_at": int(time.time()), "status": "completed",
                "model": asked.model, "output": [item], "usage": usage}
    if not asked.stream:
        return response
    open_response = {**response, "status": "in_progress", "output": [], "usage": None}
    if said[0] == "text":
        opened = {**item, "status": "in_progress", "content": []}
        deltas = [{"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": said[1]}]
    else:
        opened = {**item, "status": "in_progress", "arguments": ""}
        deltas = [{"type": "response.function_call_arguments.done", "item_id": item["id"], "output_index": 0,
                   "arguments": item["arguments"]}]
    events = [{"type": "response.created", "response": open_response},
              {"type": "response.output_item.added", "output_index": 0, "item": opened}, *deltas,
              {"type": "response.output_item.done", "output_index": 0, "item": item},
              {"type": "response.completed", "response": response}]
    return numbered(events)


def numbered(events):
    return [(event["type"], {**event, "sequence_number": n}) for n, event in enumerate(events)]


def say_gemini(asked, said):
    part = {"text": said[1]} if said[0] == "text" else {"functionCall": {"name": said[1], "args": said[2]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": INPUT, "candidatesTokenCount": OUTPUT, "totalTokenCount": INPUT + OUTPUT}
    document = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": asked.model, "responseId": token()}
    return [(None, document)] if asked.stream else document


# How each protocol tells an error: status, headers, document. -----------------------------------------------------------

TELLS = {
    "e401": (401, "The API key is not valid"),
    "e402": (402, "Insufficient credits: the spend limit is reached (scripted)"),
    "e429": (429, "Rate limit exceeded, try again later (scripted)"),
    "quota": (429, "You exceeded your current quota, please check your plan and billing details."),
    "window": (429, "This request would exceed your account's rate limit. Please try again later."),
    "e500": (500, "Internal server error (scripted)"),
    "ctx": (400, "prompt is too long: 250000 tokens > 200000 maximum"),
}


NO_KEY = {"anthropic": "invalid x-api-key", "openai": "Incorrect API key provided: sk-fake. You can find your API key in your account.",
          "gemini": "API key not valid. Please pass a valid API key."}


def refuse_anthropic(mode, status, text):
    text = NO_KEY["anthropic"] if mode == "e401" else text
    kinds = {401: "authentication_error", 402: "billing_error", 429: "rate_limit_error", 500: "api_error"}
    headers = {}
    if mode == "window":
        headers = {"anthropic-ratelimit-unified-status": "rejected",
                   "anthropic-ratelimit-unified-reset": str(int(time.time()) + WINDOW),
                   "anthropic-ratelimit-unified-representative-claim": "five_hour"}
    return headers, {"type": "error", "error": {"type": kinds.get(status, "invalid_request_error"), "message": text}}


def refuse_openai(mode, status, text):
    text = NO_KEY["openai"] if mode == "e401" else text
    codes = {"e401": ("invalid_request_error", "invalid_api_key"), "e402": ("insufficient_credits", "insufficient_credits"),
             "e429": ("requests", "rate_limit_exceeded"), "quota": ("insufficient_quota", "insufficient_quota"),
             "window": ("usage_limit_reached", "usage_limit_reached"), "e500": ("server_error", "server_error"),
             "ctx": ("invalid_request_error", "context_length_exceeded")}
    kind, code = codes[mode]
    error = {"message": text, "type": kind, "param": None, "code": code}
    if mode == "window":
        error.update(plan_type="plus", resets_in_seconds=WINDOW, resets_at=int(time.time()) + WINDOW)
    return {}, {"error": error}


def refuse_gemini(mode, status, text):
    text = NO_KEY["gemini"] if mode == "e401" else text
    words = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
    error = {"code": status, "message": text, "status": words[status]}
    if mode == "window":
        error["message"] = "You have exhausted your capacity on this model. Your quota will reset after 2h0m0s."
    if status == 429 and mode != "quota":
        delay = "7200s" if mode == "window" else "1s"
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
    return {}, {"error": error}


# The server. --------------------------------------------------------------------------------------------------------------

PROTOCOLS = {
    "anthropic": (say_anthropic, refuse_anthropic),
    "chat": (say_chat, refuse_openai),
    "responses": (say_responses, refuse_openai),
    "gemini": (say_gemini, refuse_gemini),
}


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    settings = None
    label = ""
    log, lock = None, threading.Lock()

    def do_GET(self):
        mode, _, self.label = self.path.strip("/").split("/")[0].partition(".")
        self.note(mode, None, status=200)
        self.document(200, {"object": "list", "data": [], "models": []})

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        first, _, rest = self.path.split("?")[0].strip("/").partition("/")
        mode, _, self.label = first.partition(".")
        try:
            body = json.loads(body)
        except ValueError:
            return self.document(400, {"error": {"message": "the body is no JSON"}})
        protocol, asked, counts = self.read(rest, body)
        if mode not in MODES or protocol is None:
            self.note(mode, protocol, status=404)
            return self.document(404, {"error": {"message": f"nothing is served at {self.path}"}})
        say, refuse = PROTOCOLS[protocol]
        if not self.has_key(protocol):
            self.note(mode, protocol, asked, status=401, who="without a key")
            return self.document(401, refuse("e401", *TELLS["e401"])[1])
        if counts:
            self.note(mode, protocol, asked, status=200, who="count")
            return self.document(200, {"input_tokens": INPUT, "totalTokens": INPUT})
        if mode in TELLS:
            return self.refuse(mode, protocol, asked, refuse)
        if mode == "hang":
            self.note(mode, protocol, asked, status=0)
            time.sleep(self.settings.hang)
            self.close_connection = True
            return
        if mode == "slow":
            time.sleep(self.settings.pause)
        who, said = reply(asked, mode)
        self.note(mode, protocol, asked, status=200, who=who, did=said[1] if said[0] == "call" else "text", tokens=(INPUT, OUTPUT))
        told = say(asked, said)
        if isinstance(told, dict):
            return self.document(200, told)
        if protocol == "gemini" and "alt=sse" not in self.path:
            return self.document(200, [data for _, data in told])
        self.events(told, self.settings.pause / 10 if mode == "slow" else 0)

    def read(self, rest, body):
        """-> protocol, what is asked, whether only tokens are to be counted."""
        if rest.endswith("v1/messages"):
            return "anthropic", read_anthropic(body), False
        if rest.endswith("v1/messages/count_tokens"):
            return "anthropic", read_anthropic(body), True
        if rest.endswith("chat/completions"):
            return "chat", read_chat(body), False
        if rest.endswith("/responses"):
            return "responses", read_responses(body), False
        found = re.search(r"models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$", rest)
        if found:
            return "gemini", read_gemini(body, found[1], found[2].startswith("stream")), found[2] == "countTokens"
        return None, None, False

    def has_key(self, protocol):
        names = {"anthropic": ("x-api-key", "authorization"), "gemini": ("x-goog-api-key",)}.get(protocol, ("authorization",))
        return any(self.headers.get(name) for name in names) or (protocol == "gemini" and "key=" in self.path)

    def refuse(self, mode, protocol, asked, refuse):
        status, text = TELLS[mode]
        # OpenAI tells these two as a failed response in the stream.
        if protocol == "responses" and asked.stream and mode in ("quota", "ctx"):
            error = refuse(mode, status, text)[1]["error"]
            failed = {"id": "resp_" + token(), "object": "response", "created_at": int(time.time()), "status": "failed",
                      "error": {"code": error["code"], "message": text}, "model": asked.model, "output": [], "usage": None}
            self.note(mode, protocol, asked, status=200)
            return self.events(numbered([{"type": "response.created", "response": {**failed, "status": "in_progress", "error": None}},
                                         {"type": "response.failed", "response": failed}]), 0)
        headers, document = refuse(mode, status, text)
        if mode in ("e429", "window"):
            headers["retry-after"] = "1" if mode == "e429" else str(WINDOW)
        self.note(mode, protocol, asked, status=status)
        self.document(status, document, headers)

    def document(self, status, document, headers=()):
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events, pause):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            data = data if isinstance(data, str) else json.dumps(data)
            line = (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line.encode()), line.encode()))
            self.wfile.flush()
            time.sleep(pause)
        self.wfile.write(b"0\r\n\r\n")

    def note(self, mode, protocol, asked=None, status=0, who=None, did=None, tokens=(0, 0)):
        """One line for each request."""
        if self.log is None:
            return
        line = {"time": round(time.time(), 3), "mode": mode, "label": self.label, "protocol": protocol,
                "model": asked.model if asked else None, "agent": (self.headers.get("user-agent") or "").split("/")[0],
                "path": self.path.split("?")[0], "status": status, "who": who, "did": did, "asks": asked.asks() if asked else 0,
                "inputTokens": tokens[0], "outputTokens": tokens[1],
                "schema": bool(asked and (asked.schema or pick(asked, STRUCTURED)))}
        if self.settings.words and asked:
            line["words"] = asked.newest()[1][:200]
        if who == "script":     # what the client told of the step before
            line["told"] = next((text for kind, text in reversed(asked.turns) if kind == "result"), None)
            line["step"] = did != pick(asked, SEARCHES)
            line["tools"] = list(asked.tools)
        with self.lock:
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], OSError):      # a client that went away
            super().handle_error(request, address)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--port", type=int, default=0, help="0: any that is free")
    options.add_argument("--log", help="a file that gets a line of JSON for each request")
    options.add_argument("--words", action="store_true", help="also log the beginning of the newest message")
    options.add_argument("--hang", type=float, default=600, help="seconds that a request hangs for")
    options.add_argument("--pause", type=float, default=3, help="seconds before a slow reply")
    Provider.settings = options.parse_args()
    if Provider.settings.log:
        Provider.log = open(Provider.settings.log, "a", encoding="utf-8")
    server = Server(("127.0.0.1", Provider.settings.port), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
