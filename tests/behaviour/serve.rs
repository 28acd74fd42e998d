//! `quorum serve`: runs as pages, and decisions of people from there.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::support::browser::{Browser, FORM, Server, encoded};
use crate::support::{AtTerminal, BINARY, Mission, RUN_AS_R1, Says, Workspace, standing, wait_for_file};

/// A text that no page may take for markup.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'</script><script>alert(1)</script>{{ 1 }}";

/// A mission whose task `work` is for a person to accept.
fn asked() -> Mission {
    let boss = json!({"type": "llm_review", "criteria": "good", "reviewers": ["boss"]});
    Mission::new().worker("echo work").person("boss").task("work", |t| t.expects(boss))
}

/// A run `r1` whose task waits for a person, who is served by `ada`.
fn waiting() -> (Workspace, Server) {
    let workspace = asked().task("next", |t| t.needs("work").unreviewed()).workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(8);
    let server = Server::start(&workspace, &["--as", "ada"]);
    (workspace, server)
}

/// The token of the forms of `r1`.
fn form(browser: &Browser<'_>) -> String {
    browser.get("/runs/r1/inbox").is(200).form().to_owned()
}

#[track_caller]
fn still_waits(workspace: &Workspace) {
    let document = workspace.status_of("r1");
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert!(!workspace.events().iter().any(|event| event["event"] == "approval:resolved"));
}

#[test]
fn runs_are_read_and_a_decision_goes_on_as_one_at_a_terminal_does() {
    let (workspace, server) = waiting();
    let browser = server.browser();
    let list = browser.get("/").is(200);
    list.body.says(&["<a href=\"/runs/r1\">r1</a>", "exit 8 (awaiting)", "<a href=\"/runs/r1/inbox\">1<"]);
    let page = browser.get("/runs/r1").is(200);
    page.body.says(&[
        "exit 8 (awaiting)",
        "Waiting for a decision",
        "new EventSource",
        "Tasks, the worst first",
    ]);
    let policy = page.header("content-security-policy").unwrap().to_owned();
    policy.says(&[
        "default-src 'none'",
        "script-src 'sha256-",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ]);
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    let inbox = browser.get("/runs/r1/inbox").is(200);
    inbox.body.says(&["Decided as ada", "quorum approve r1.0.1", "Cancel", "Attempt 1"]);

    let form = inbox.form().to_owned();
    let answer = browser.decide(&form, &[("do", "approve"), ("id", "r1.0.1")]).is(200);
    answer.body.says(&["approve r1.0.1: applied"]);
    browser.get("/runs/r1/inbox").is(200).body.says(&["Nothing waits for a person"]);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "next").0, "done");
    let events = workspace.events();
    let resolved = events.iter().find(|event| event["event"] == "approval:resolved").unwrap();
    assert_eq!(resolved["resolvedBy"], "ada");
    browser.get("/runs/r1").is(200).body.says(&["exit 0 (ok)"]);
}

#[test]
fn whoever_is_not_let_in_reads_nothing() {
    let (_workspace, server) = waiting();
    let stranger = |path: &str| server.get(path);
    for path in ["/", "/runs/r1", "/runs/r1/inbox", "/events", "/nothing"] {
        let answer = stranger(path).is(401);
        answer.body.says(&["open the address that `quorum serve` printed"]).omits(&["r1", "name=\"form\""]);
    }
    let zeros = "0".repeat(64);
    let long = "1".repeat(20_000);
    for token in ["", "0", &zeros, &server.token[..63], &format!("{}0", server.token), &long] {
        let answer = stranger(&format!("/?token={token}")).is(403);
        assert_eq!(answer.header("set-cookie"), None);
    }
    let name = format!("quorum-{}", server.port());
    for cookie in [format!("{name}="), format!("{name}={zeros}"), format!("{name}={}", server.token)] {
        let lines = ["GET / HTTP/1.1", &format!("Host: {}", server.host), &format!("Cookie: {cookie}")];
        server.send(&lines, "").is(401);
    }
    // The way back never leads to another server.
    let answer = stranger(&format!("//evil.example/?token={}", server.token)).is(303);
    assert_eq!(answer.header("location"), Some("/evil.example/"));
}

#[test]
fn a_name_that_leads_here_is_not_the_servers() {
    let (_workspace, server) = waiting();
    let browser = server.browser();
    let ask = |host: &str, target: &str| {
        let cookie = format!("Cookie: {}", browser.cookie);
        server.send(&[&format!("GET {target} HTTP/1.1"), &format!("Host: {host}"), &cookie], "")
    };
    let port = server.port();
    for known in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        ask(&format!("{known}:{port}"), "/").is(200);
    }
    for other in [
        format!("evil.example:{port}"),
        "evil.example".to_owned(),
        "127.0.0.1".to_owned(),
        "127.0.0.1:1".to_owned(),
        format!("127.0.0.1.evil.example:{port}"),
        String::new(),
    ] {
        ask(&other, "/").is(421).body.says(&["not called by that name"]).omits(&["r1"]);
    }
    ask(&server.host, &format!("http://evil.example:{port}/")).is(421);
}

/// Asks for a decision in every way that is not the page's own.
#[test]
fn false_green_74_no_other_page_and_no_stale_form_decides() {
    let (workspace, server) = waiting();
    let browser = server.browser();
    let form = form(&browser);
    let yes = [("do", "approve"), ("id", "r1.0.1")];
    let body = encoded(&form, &yes);
    let own = format!("Origin: http://{}", server.host);
    let post = |headers: &[&str], body: &str| browser.send("POST", "/decide", headers, body);
    let other_port = "Origin: http://127.0.0.1:1";
    for origin in ["Origin: http://evil.example", "Origin: null", other_port, &own.replace("http", "https")] {
        post(&[origin, FORM], &body).is(403).body.says(&["on the pages of this server only"]);
    }
    post(&[FORM], &body).is(403);
    post(&[&own, &own, FORM], &body).is(403);
    post(&[&own, FORM, "Sec-Fetch-Site: cross-site"], &body).is(403);
    post(&[&own, FORM, "Sec-Fetch-Site: same-site"], &body).is(403);
    post(&[&own, "Content-Type: text/plain"], &body).is(415);
    // A form of nobody, of this server's other secrets, of another server.
    let other = Server::start(&workspace, &[]);
    let others = other.browser();
    let others_form = others.get("/runs/r1/inbox").is(200).form().to_owned();
    for wrong in ["", "00", &"0".repeat(64), &server.token, &others_form] {
        browser.decide(wrong, &yes).is(403).body.says(&["load the page anew"]);
    }
    // A cookie of another server, and of one that has ended.
    let value = others.cookie.split('=').nth(1).unwrap();
    let stale = format!("Cookie: quorum-{}={value}", server.port());
    let lines = ["POST /decide HTTP/1.1", &format!("Host: {}", server.host), &stale, &own, FORM];
    server.send(&lines, &body).is(401);
    // The token alone lets nobody decide, and reading changes nothing.
    let line = format!("POST /decide?token={} HTTP/1.1", server.token);
    server.send(&[&line, &format!("Host: {}", server.host), &own, FORM], &body).is(401);
    browser.get(&format!("/decide?{body}")).is(405);
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        browser.send(method, "/decide", &[&own, FORM], &body).is(405);
    }
    for (path, status) in [("/", 405), ("/runs/r1/inbox", 405), ("/nothing", 404)] {
        browser.send("POST", path, &[&own, FORM], &body).is(status);
    }
    still_waits(&workspace);
    browser.decide(&form, &yes).is(200);
}

#[test]
fn what_is_no_decision_is_said_plainly_and_changes_nothing() {
    let (workspace, server) = waiting();
    let browser = server.browser();
    let form = form(&browser);
    let word = |fields: &[(&str, &str)]| browser.decide(&form, fields);
    word(&[]).is(400).body.says(&["does not say what is decided"]);
    word(&[("do", "reject"), ("id", "r1.0.1"), ("text", " ")]).is(400).body.says(&["needs a reason"]);
    word(&[("do", "answer"), ("id", "r1.0.1"), ("text", "")]).is(400).body.says(&["the answer is empty"]);
    word(&[("do", "approve"), ("id", "nonsense")]).is(400).body.says(&["is not the id of an approval"]);
    word(&[("do", "approve"), ("id", "r9.0.1")]).is(400).body.says(&["there is no run"]);
    word(&[("do", "approve"), ("id", "../r1.0.1")]).is(400);
    word(&[("do", "approve"), ("id", "r1.0.7")]).is(404).body.says(&["approve r1.0.7: unknown"]);
    word(&[("do", "override"), ("run", "r1"), ("id", "door"), ("text", "x")]).is(400);
    word(&[("do", "cancel"), ("run", "r1")]).is(400).body.says(&["nothing was cancelled"]);
    word(&[("do", "cancel"), ("run", "r1"), ("sure", "yes"), ("task", "99")]).is(400);
    word(&[("do", "reject"), ("id", "r1.0.1"), ("text", &"x".repeat(70_000))]).is(413);
    still_waits(&workspace);
    browser.get("/runs/r9").is(404);
    browser.get("/runs/..%2f..%2fetc/inbox").is(404);
}

#[test]
fn two_browsers_that_decide_the_same_hear_who_was_first() {
    let (workspace, server) = waiting();
    let (one, other) = (server.browser(), server.browser());
    let forms = [&one, &other].map(form);
    one.decide(&forms[0], &[("do", "approve"), ("id", "r1.0.1")]).is(200);
    let same = other.decide(&forms[1], &[("do", "approve"), ("id", "r1.0.1")]);
    same.is(200).body.says(&["already so"]);
    let no = [("do", "reject"), ("id", "r1.0.1"), ("text", "no")];
    other.decide(&forms[1], &no).is(409).body.says(&["decided otherwise", "somebody else was first"]);
    assert_eq!(workspace.events().iter().filter(|event| event["event"] == "approval:resolved").count(), 1);
}

#[test]
fn a_page_rejects_cancels_and_lets_a_gate_pass() {
    let workspace = asked()
        .judge("judge", &["SCORE: 20"])
        .task("judged", |t| t.attempts(1))
        .task("next", |t| t.unreviewed())
        .gate("door", ["judged"], ["next"], "minScore: 80")
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]);
    let server = Server::start(&workspace, &["--as", "ada"]);
    let browser = server.browser();
    let inbox = browser.get("/runs/r1/inbox").is(200);
    inbox.body.says(&["Gate door", "quorum gate door r1 --override --reason REASON"]);
    let form = inbox.form().to_owned();
    let door = [("do", "override"), ("run", "r1"), ("id", "door")];
    browser.decide(&form, &door).is(400).body.says(&["an override needs a reason"]);
    let with_reason = [&door[..], &[("text", "accepted risk")]].concat();
    browser.decide(&form, &with_reason).is(200).body.says(&["override gate door: applied"]);
    workspace.quorum(&["gate", "door"]).exits(0).shows(&["overridden"]);
    let cancel = [("do", "cancel"), ("run", "r1"), ("task", "0"), ("sure", "yes")];
    let said = browser.decide(&form, &cancel);
    assert!(said.body.contains("cancel work"), "{said:?}");
}

#[test]
fn what_others_wrote_is_no_markup_on_any_page() {
    let boss = json!({"type": "llm_review", "criteria": HOSTILE, "reviewers": ["boss"]});
    let workspace = Mission::new()
        .key("name", format!("mission {HOSTILE}"))
        .worker("cat > /dev/null; printf '%s' 'output <img src=x onerror=alert(1)></script>'")
        .person("boss")
        .task(&format!("title {HOSTILE}"), |t| t.expects(boss))
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(8);
    let server = Server::start(&workspace, &["--as", &format!("ada {HOSTILE}")]);
    let browser = server.browser();
    for (path, scripts) in [("/", 1), ("/runs/r1", 1), ("/runs/r1/inbox", 1), ("/runs/%3Cscript%3E", 0)] {
        let page = browser.get(path);
        assert_eq!(page.body.matches("<script").count(), scripts, "{path}: {}", page.body);
        page.body.omits(&["<img", "alert(1)</script>"]);
    }
    let form = form(&browser);
    let said = browser.decide(&form, &[("do", "cancel"), ("run", "r1"), ("task", "0"), ("sure", "yes")]);
    said.body.omits(&["<img", "<script"]);
    said.is(200).body.says(&["cancel title &lt;img"]);
}

/// The lines of the answer of `/events`.
fn listen(server: &Server, browser: &Browser<'_>, path: &str) -> impl Iterator<Item = String> {
    let mut stream = server.connect();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", server.host, browser.cookie)
        .unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned))
}

#[test]
fn a_page_that_is_open_hears_of_each_event() {
    let (workspace, server) = waiting();
    let browser = server.browser();
    let page = browser.get("/runs/r1").is(200);
    let (_, rest) = page.body.split_once("data-event=\"").unwrap();
    let shown = rest.split('"').next().unwrap().to_owned();
    let mut run = listen(&server, &browser, "/events?run=r1");
    let mut list = listen(&server, &browser, "/events");
    assert_eq!(run.next().as_ref(), Some(&shown), "the page is the newest");
    let first = list.next().unwrap();
    let number = |state: &str| state.split(' ').next().unwrap().parse::<u64>().unwrap();
    let last = workspace.events().iter().filter_map(|event| event["seq"].as_u64()).max().unwrap();
    assert!(number(&shown) >= last, "{shown}");
    workspace.quorum(&["approve", "r1.0.1"]).exits(0);
    // Whoever writes is seen before what is written.
    let next = run.find(|state| number(state) > number(&shown)).unwrap();
    assert!(list.any(|state| state != first));
    browser.get("/runs/r1").is(200).body.says(&[&format!("data-event=\"{} ", number(&next))]);
    browser.get("/events?run=r9").is(404);
}

/// A script that has the address of a server, and decides by it with what it finds.
fn knocking(client: &str) -> Workspace {
    asked()
        .agent(
            "burglar",
            format!("while ! test -s cookie; do sleep 0.02; done\n{client} python3 knock.py > said 2>&1; echo $? > code"),
        )
        .setting("concurrency", 2)
        .task("burglar", |t| t.by("burglar").unreviewed())
        .workspace()
}

#[test]
fn false_green_74_an_agents_process_decides_nothing_though_it_has_the_cookie() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return crate::support::skipped("there is no python3 that could be an agent's browser");
    }
    for client in ["", "env -i PATH=\"$PATH\"", "setsid -w env -i PATH=\"$PATH\""] {
        let workspace = knocking(client);
        let running = workspace.start(RUN_AS_R1);
        crate::support::scenes::approvals::waits(&workspace);
        let server = Server::start(&workspace, &["--as", "boss"]);
        let browser = server.browser();
        let form = form(&browser);
        let body = encoded(&form, &[("do", "approve"), ("id", "r1.0.1")]);
        workspace.write(
            "knock.py",
            format!(
                "import http.client\nc = http.client.HTTPConnection('{host}')\nc.request('POST', '/decide', '{body}', \
                 {{'Cookie': '{cookie}', 'Origin': 'http://{host}', 'Content-Type': 'application/x-www-form-urlencoded'}})\n\
                 a = c.getresponse()\nprint(a.status, a.read().decode())\n",
                host = server.host,
                cookie = browser.cookie,
            ),
        );
        workspace.write("cookie", "it is there\n");
        running.finish().exits(8);
        let said = workspace.read("said");
        assert!(
            said.starts_with("403 ") && said.contains("belongs to an agent of a run"),
            "{client}: {said}"
        );
        still_waits(&workspace);
        // The same from a person's process.
        browser.decide(&form, &[("do", "approve"), ("id", "r1.0.1")]).is(200);
    }
}

#[test]
fn false_green_74_what_an_agent_had_run_is_decided_on_a_page_that_was_begun_at_a_terminal_only() {
    let workspace = asked().workspace();
    workspace.quorum(&["run", "--over-mcp", "--run-id", "r1"]).exits(8);
    let yes = [("do", "approve"), ("id", "r1.0.1")];
    let server = Server::start(&workspace, &[]);
    let browser = server.browser();
    let said = browser.decide(&form(&browser), &yes).is(409);
    said.body.says(&["for a person, at a terminal", "`quorum serve` that was begun at one"]);
    still_waits(&workspace);
    let mut terminal = AtTerminal::start(workspace.command(&["serve"]));
    terminal.shows("\n");
    let server = Server::at(terminal.text());
    let browser = server.browser();
    browser.decide(&form(&browser), &yes).is(200).body.says(&["approve r1.0.1: applied"]);
    terminal.types("\u{3}");
    assert_eq!(terminal.finish().0, Some(0));
}

#[test]
fn a_browser_is_opened_by_a_file_that_nobody_else_reads() {
    let workspace = Workspace::new();
    workspace.write(
        "bin/xdg-open",
        "#!/bin/sh\nstat -c %a \"$1\" > mode; cat \"$1\" > page; echo \"$1\" > path\n",
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(workspace.path("bin/xdg-open"), mode).unwrap();
    let mut command = workspace.command(&["serve", "--open"]);
    command.env("PATH", format!("{}:{}", workspace.path("bin").display(), std::env::var("PATH").unwrap()));
    let server = Server::of(command);
    wait_for_file(&workspace.path("path"));
    assert_eq!(workspace.read("mode"), "600\n");
    workspace.read("page").says(&[&format!("url=http://{}/?token={}", server.host, server.token)]);
    kill_process(server.pid(), Signal::INT).unwrap();
    assert_eq!(server.end(), Some(0));
    assert!(!std::path::Path::new(workspace.read("path").trim()).exists());
}

#[test]
fn an_agent_starts_no_server() {
    let workspace = Mission::new()
        .worker(format!("{BINARY} serve > said 2>&1; echo $? > code"))
        .task("work", |t| t.unreviewed())
        .workspace();
    workspace.run_json(0, &[]);
    assert_eq!(workspace.read("code"), "9\n");
    workspace.read("said").says(&["refused to agents"]);
}

#[test]
fn a_server_that_cannot_be_says_so_and_one_that_is_told_to_ends() {
    let workspace = Workspace::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    workspace.quorum(&["serve", "--port", &port]).exits(9).says(&["cannot listen at 127.0.0.1:", "--port"]);
    workspace.quorum(&["serve", "--address", "192.0.2.1"]).exits(2).says(&["--token-file"]);
    workspace.quorum(&["serve", "--address", "0.0.0.0"]).exits(2).says(&["every address"]);
    workspace.quorum(&["serve", "--address", "not an address"]).exits(2);
    workspace.quorum(&["serve", "--port", "99999"]).exits(2);
    for (text, mode, why) in [
        (None, 0o600, "it is not there"),
        (Some("a".repeat(40)), 0o644, "can be read by others"),
        (Some("short".to_owned()), 0o600, "too short"),
        (Some("a b".repeat(20)), 0o600, "letters, digits"),
    ] {
        if let Some(text) = text {
            workspace.write("token", text);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(workspace.path("token"), mode).unwrap();
        }
        workspace.quorum(&["serve", "--token-file", "token"]).exits(2).says(&[why]);
    }
    let token = "a".repeat(40);
    workspace.write("token", format!("{token}\n"));
    let server = Server::start(&workspace, &["--token-file", "token", "--address", "localhost"]);
    assert_eq!((server.token.as_str(), server.host.starts_with("localhost:")), ("", true));
    server.get(&format!("/?token={token}")).is(303);
    kill_process(server.pid(), Signal::INT).unwrap();
    assert_eq!(server.end(), Some(0));
    let server = Server::start(&workspace, &[]);
    server.browser().get("/").is(200).body.says(&["There is no run here yet"]);
    kill_process(server.pid(), Signal::TERM).unwrap();
    assert_eq!(server.end(), Some(0));
}
