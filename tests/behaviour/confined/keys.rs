//! What would speak for a person: the key of the operator where it lies, and whoever acts for others over a socket.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::*;
use crate::support::sockets::listen;

/// Whether bytes stand somewhere in others.
fn holds(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}

#[test]
fn attack_15_the_key_of_the_operator_is_hidden_where_it_lies() {
    by_everybody(|who| {
        // In the folder of the user, or where a variable says; by its path, by other paths to it, and by a search.
        for state in ["home/.local/state", "elsewhere/state"] {
            let script = |folder: &Path| {
                format!(
                    "for f in '{0}' /proc/self/root'{0}' /proc/$PPID/root'{0}' \"$PWD/{state}/quorum\" ./{state}/quorum; do
                      ls -A \"$f\" >> listed; cat \"$f/key\" \"$f\"/.key* >> seen; dd if=\"$f/key\" of=copy; ln \"$f/key\" linked
                    done 2>> refused
                    find . -name key -exec cat {{}} + >> seen 2>> refused
                    cat copy linked >> seen 2>> refused; cat own >> seen; echo yes > tried",
                    folder.display()
                )
            };
            let mission = Mission::new().worker("sh attack.sh").task("work", |t| t.unreviewed());
            let workspace = mission.workspace().confined();
            let folder = workspace.path(state).join("quorum");
            workspace.write("attack.sh", script(&folder));
            workspace.write("own", "the agent's own");
            let variables = [("XDG_STATE_HOME", workspace.path(state).display().to_string())];
            let variables: Vec<(&str, &str)> = variables
                .iter()
                .filter(|_| !state.starts_with("home"))
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let run =
                |more: &[&str]| who.start_with(&workspace, &variables, &[RUN_AS_R1, more].concat()).finish();
            // A session makes the key. What is not hidden from its agents is seen by them.
            run(&["--sandbox", "off"]).exits(0);
            let key = fs::read(folder.join("key")).expect("there is a key");
            assert_eq!(key.len(), 32);
            let seen = || fs::read(workspace.path("seen")).expect("it was tried");
            assert!(holds(&seen(), &key), "the attack does not find it anyway");
            for file in ["seen", "listed", "tried", "copy", "linked"] {
                let _ = fs::remove_file(workspace.path(file));
            }
            let again = ["run", "mission.yaml", "--run-id", "r2", "--json", "--timeout", "4m"];
            ended(&who.start_with(&workspace, &variables, &again).finish(), 0);
            assert!(workspace.exists("tried") && holds(&seen(), b"the agent's own"));
            assert!(!holds(&seen(), &key), "{state}: the agent has read the key");
            assert_eq!(workspace.read("listed"), "", "{state}");
            assert_eq!(fs::read(folder.join("key")).expect("it stays"), key);
        }
    });
}

fn listening_at(path: &Path) -> UnixListener {
    fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("folders can be made");
    listen(path).expect("it can be bound")
}

#[test]
fn nobody_who_would_act_for_an_agent_is_reached_over_a_socket() {
    // Key agents of ssh and gpg, container engines, the system's and the user's own services, terminal multiplexers.
    let of_the_user = ["ssh/agent.1", "home/.gnupg/S.gpg-agent", "home/.gnupg/S.gpg-agent.ssh"];
    let more = ["home/.gnupg/S.gpg-agent.extra", "xdg/bus", "xdg/gnupg/S.gpg-agent", "tmux/tmux-0/default"];
    let of_today =
        ["home/.gnupg/S.gpg-agent.browser", "home/.ssh/agent/s.1.sshd", "home/.docker/run/docker.sock"];
    let of_engines =
        ["home/.docker/desktop/docker.sock", "home/.colima/default/docker.sock", "home/.rd/docker.sock"];
    let by_variables = [
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=%,guid=0123"),
        ("DOCKER_HOST", "unix://%"),
        ("CONTAINER_HOST", "unix://%"),
        ("TMUX", "%,4711,0"),
        ("DBUS_SYSTEM_BUS_ADDRESS", "tcp:host=localhost;unix:guid=0123,path=%"),
        ("CONTAINERD_ADDRESS", "%"),
        ("GPG_AGENT_INFO", "%:4711:1"),
        ("VSCODE_IPC_HOOK_CLI", "%"),
        ("PULSE_SERVER", "{abc}unix:%"),
    ];
    let of_the_system =
        ["docker.sock", "podman/podman.sock", "containerd/containerd.sock", "libvirt/libvirt-sock"];
    let system_more =
        ["systemd/private", "dbus/system_bus_socket", "screen/S-0/1.tty", "user/0/bus", "crio/crio.sock"];
    by_everybody(|who| {
        if !who.is_tester() {
            // Who tests makes a `/run` of its own, in a namespace.
            return;
        }
        let mission = Mission::new().key("workspace", "w").worker("sh attack.sh");
        let workspace = mission.task("work", |t| t.unreviewed()).workspace().confined();
        let own = of_the_user.iter().chain(&more).chain(&of_today).chain(&of_engines);
        let own = own.map(|name| workspace.path(name));
        let named_by = |variable: &str| workspace.path(&format!("by/{variable}"));
        let own: Vec<PathBuf> = own.chain(by_variables.map(|(variable, _)| named_by(variable))).collect();
        let system = of_the_system.iter().chain(&system_more);
        let (placed, named): (Vec<PathBuf>, Vec<PathBuf>) =
            system.map(|name| (workspace.path("run").join(name), Path::new("/run").join(name))).unzip();
        let listening: Vec<UnixListener> = own.iter().chain(&placed).map(|path| listening_at(path)).collect();
        let tests = own
            .iter()
            .chain(&named)
            .map(|path| format!("test -S '{0}' && echo '{0}' >> reached\n", path.display()));
        workspace.write("w/attack.sh", format!("{}echo yes > tried", tests.collect::<String>()));
        let run = |id: &str, sandbox: &str| {
            let mut command = workspace.other_command("unshare");
            command.args(["-Urm", "sh", "-c", "mount --bind run /run && exec \"$0\" \"$@\"", BINARY]);
            command.args(["run", "mission.yaml", "--json", "--run-id", id, "--sandbox", sandbox]);
            command.env("SSH_AUTH_SOCK", workspace.path("ssh/agent.1"));
            command.env("XDG_RUNTIME_DIR", workspace.path("xdg")).env("TMUX_TMPDIR", workspace.path("tmux"));
            for (variable, value) in by_variables {
                command.env(variable, value.replace('%', &named_by(variable).display().to_string()));
            }
            Running::start(command).finish().exits(0);
            assert!(workspace.exists("w/tried"), "nothing was tried");
            let reached = workspace.lines("w/reached");
            let _ = fs::remove_file(workspace.path("w/reached"));
            fs::remove_file(workspace.path("w/tried")).expect("it is there");
            reached
        };
        // All of them are there; the same agent reaches them where it is not confined.
        assert_eq!(run("r1", "off").len(), listening.len());
        assert_eq!(run("r2", "required"), Vec::<String>::new());
    });
}

/// Whether this kernel keeps processes from abstract sockets of others.
fn has_scopes() -> bool {
    use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    rules.scope(Scope::AbstractUnixSocket).and_then(|rules| rules.create()).is_ok()
}

#[test]
fn abstract_sockets_of_others_are_not_reached_and_ones_own_are() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    if !has_scopes() {
        return skipped("this kernel has no Landlock with scopes");
    }
    by_everybody(|who| {
        let mission =
            Mission::new().worker("sh attack.sh").key("workspace", "w").task("work", |t| t.unreviewed());
        let workspace = mission.workspace().confined();
        let name = format!("quorum-test-{}", workspace.root().display());
        let address = SocketAddr::from_abstract_name(&name[..name.len().min(100)]).expect("a name");
        let listening = UnixListener::bind_addr(&address).expect("it can be bound");
        let connect = |name: &str| {
            format!(
                "socket(my $c, AF_UNIX, SOCK_STREAM, 0) or die; connect($c, pack_sockaddr_un(\"\\0{name}\")) or exit 1"
            )
        };
        let own = format!(
            "socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; bind($s, pack_sockaddr_un(\"\\0own-{0}\")) or die; listen($s, 1); {1}",
            &name[..name.len().min(90)],
            connect(&format!("own-{}", &name[..name.len().min(90)]))
        );
        let others = connect(&name[..name.len().min(100)]);
        workspace.write(
            "w/attack.sh",
            format!(
                "perl -e 1 || {{ touch skipped; exit; }}
perl -MSocket -e '{others}' && touch reached
perl -MSocket -e '{own}' && touch own
touch tried"
            ),
        );
        ended(&who.run(&workspace), 0);
        if workspace.exists("w/skipped") {
            return skipped("there is no perl to ask");
        }
        assert!(workspace.exists("w/tried") && workspace.exists("w/own"), "its own is reached");
        assert!(!workspace.exists("w/reached"), "that of others is not");
        drop(listening);
    });
}
