//! Agents that speak for a person where a supervisor is killed, or while work waits for one.

use crate::support::{BINARY, RUN_AS_R1, Workspace, wait_for_file};

/// `work` waits for a person, its approval is `r1.0.1`; `burglar` runs a script meanwhile, in which `$K` is its supervisor,
/// `$R` the session, and `@quorum` the binary.
pub fn burgled(script: &str) -> Workspace {
    let lines = script.trim().lines();
    let script: String = lines.map(|line| format!("      {}\n", line.trim())).collect();
    let mission = format!(
        "
name: a burglar
agents:
  worker: {{run: echo work}}
  boss: {{adapter: human}}
  burglar:
    run: |
      while ! @quorum approvals --json | grep -q r1.0.1; do sleep 0.02; done
      K=$PPID; R=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$K/status)
{script}
settings: {{concurrency: 2}}
tasks:
  - {{title: work, assignTo: worker, expectations: [{{type: llm_review, criteria: good, reviewers: [boss]}}]}}
  - {{title: burglar, assignTo: burglar, review: none, maxAttempts: 1}}
"
    );
    Workspace::with(&mission.replace("@quorum", BINARY))
}

/// Waits until supervisor and session are dead and says so; then tries to approve, a few times, and says with what code.
pub const ORPHAN: &str = "
test -e tried && exit 0
cat > late.sh <<'END'
echo $$ > late.pid
gone() { ! test -e /proc/$1 || grep -q '^State:.*Z' /proc/$1/status; }
until gone $K && gone $R; do sleep 0.02; done
for n in 1 2 3; do @quorum approve r1.0.1 --as boss 2> said; echo $? >> codes; done
echo done > tried
while ! test -e go; do sleep 0.05; done
END
setsid env -i K=$K R=$R HOME=\"$HOME\" PATH=$PATH sh late.sh > /dev/null 2>&1 &
while ! test -s late.pid; do sleep 0.02; done
";

/// The worker kills supervisor and session, and leaves behind somebody who then tries to approve.
pub fn with_an_orphan() -> Workspace {
    burgled(&format!("{ORPHAN}\nkill -9 $R $K; sleep 60"))
}

/// The orphan of a supervisor that was killed with its session tried in vain, and waits for `go`.
pub fn orphaned() -> Workspace {
    let workspace = with_an_orphan();
    workspace.start_unprivileged(RUN_AS_R1).finish();
    wait_for_file(&workspace.path("tried"));
    workspace
}
