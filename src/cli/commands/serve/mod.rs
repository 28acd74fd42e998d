//! `quorum serve`: runs as pages for a browser, live, and decisions of a person from there.
//!
//! | file | what |
//! |---|---|
//! | `access` | who may read and who may decide: token, cookie, names, origin |
//! | `changes` | what has changed of what somebody reads |
//! | `decide` | decisions, as the same commands that are given at a terminal |
//! | `events` | what has changed, as server-sent events |
//! | `guard` | the guard before every page |
//! | `pages` | runs, a run, what waits in it |
//! | `served_folder` | what a server knows: the folder, who may read it, what was drawn last |

mod access;
mod changes;
mod decide;
mod events;
mod guard;
mod pages;
mod served_folder;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::{
    cli::{
        command_error::Failure,
        event_loop::block_on,
        operator_client::{ActorArgs, refuse_agents},
        project::state_folder,
        screen::Screen,
    },
    report::{documents::commands::ServeDocument, formats::html::LIVE_SCRIPT},
    store::OperatorKey,
};

use access::PageAccess;
use changes::Changes;
use served_folder::{Ends, PageServer, ServedFolder};

/// Connections at the same time: as many as may listen to events, and some that ask.
const CONNECTIONS: usize = 320;
/// How long the head of a request may take, and a connection be without one.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// The most bytes of a head, and headers in it.
const LARGEST_HEAD: usize = 32 << 10;
const MOST_HEADERS: usize = 64;
/// How long to wait where the system cannot give a connection (no descriptor left).
const PAUSE: Duration = Duration::from_millis(100);
/// A shorter token can be guessed.
const SHORTEST_TOKEN: usize = 32;

/// Show runs in a browser, and decide there
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum serve --open")]
pub struct Serve {
    /// The port [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Listen at this address instead of this machine alone; browsers must call it so
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<String>,
    /// The token that readers must know, in a file that only you can read [default: a new one]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Open the address in a browser
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub actor: ActorArgs,
}

/// Serves until it is told to end.
pub fn serve(arguments: &Serve, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let folder = state_folder(screen.output())?;
    let token = arguments.token_file.as_deref().map(token_of).transpose()?;
    let wanted = place(arguments)?;
    block_on(async {
        let listener = TcpListener::bind(wanted).await.map_err(|error| unbound(wanted, &error))?;
        let at = listener.local_addr().map_err(Failure::internal)?;
        let names: Vec<String> = arguments.address.iter().cloned().collect();
        let (access, known) = PageAccess::new(at, &names, token.as_deref()).map_err(Failure::environment)?;
        let server = Arc::new(ServedFolder {
            folder,
            access,
            policy: policy(),
            by: arguments.actor.name(),
            changes: Changes::default(),
            drawn: Default::default(),
            deciding: Default::default(),
        });
        let name = names.first().map_or_else(|| at.to_string(), |name| format!("{name}:{}", at.port()));
        let address = format!("http://{name}/");
        // One that lies in a file is not printed as well.
        let known = token.is_none().then_some(known);
        let url = known.map_or_else(|| address.clone(), |token| format!("{address}?token={token}"));
        if screen.is_json() {
            screen.document(&ServeDocument { address: &address, url: &url, process: std::process::id() });
        } else {
            screen.result(&format!("{url}\n"));
        }
        let _opened = if arguments.open { open(&url, screen) } else { None };
        tokio::spawn(events::look(server.clone()));
        let mut ends = signal(SignalKind::terminate()).map_err(Failure::internal)?;
        tokio::select! {
            () = listen(listener, server) => {}
            _ = tokio::signal::ctrl_c() => {}
            _ = ends.recv() => {}
        }
        Ok(0)
    })
    .map_err(Failure::internal)?
}

/// The address and the port to listen at.
fn place(arguments: &Serve) -> Result<SocketAddr, Failure> {
    let Some(name) = &arguments.address else {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port)));
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let found = (bare, arguments.port).to_socket_addrs().ok().and_then(|mut all| all.next());
    let found = found.ok_or_else(|| usage!("'{name}' is no address of this machine"))?;
    if found.ip().is_unspecified() {
        return Err(usage!("'{name}' is every address of this machine, and names none")
            .help("name the address that browsers are to ask for"));
    }
    if !found.ip().is_loopback() && arguments.token_file.is_none() {
        return Err(usage!("at {name} others than you can reach the server: it needs a token of yours")
            .help("write one to a file that only you can read, and name it by --token-file"));
    }
    Ok(found)
}

/// The token of a file.
fn token_of(path: &Path) -> Result<String, Failure> {
    let unusable = |why: String| usage!("the token file {} cannot be used: {why}", path.display());
    let key = OperatorKey::in_file(path).map_err(|error| unusable(error.to_string()))?;
    let key = key.ok_or_else(|| unusable("it is not there".to_owned()))?;
    let token = key.as_text().filter(|text| text.len() >= SHORTEST_TOKEN);
    let token =
        token.filter(|text| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)));
    token.map(str::to_owned).ok_or_else(|| {
        unusable(format!("a token is {SHORTEST_TOKEN} letters, digits, `-`, `_` or `.`, or more"))
            .help("`head -c 32 /dev/urandom | sha256sum | head -c 64 > FILE` makes one")
    })
}

fn unbound(wanted: SocketAddr, error: &io::Error) -> Failure {
    environment!("cannot listen at {wanted}: {error}")
        .help("name another port by --port, or none for a free one")
}

/// The policy of the pages. The script is the one whose digest it names.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(LIVE_SCRIPT.trim_end_matches('\n')));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Opens a browser by way of a file that only this user can read: what a program is started with everybody can read. The file
/// lives as long as what is returned.
fn open(url: &str, screen: &Screen) -> Option<tempfile::NamedTempFile> {
    let opened = (|| {
        let mut file = tempfile::Builder::new().prefix("quorum-").suffix(".html").tempfile()?;
        let page = format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={url}\">\n");
        io::Write::write_all(&mut file, page.as_bytes())?;
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(|_| file)
    })();
    opened.map_err(|error| screen.note(&format!("note: no browser was opened: {error}"))).ok()
}

/// Takes connections, so many at a time.
async fn listen(listener: TcpListener, server: PageServer) {
    let router = router(server);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, theirs)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            if let Ok(ours) = stream.local_addr() {
                answer(stream, Ends { ours, theirs }, router).await;
            }
            drop(place);
        });
    }
}

/// Answers the requests of one connection.
async fn answer(stream: TcpStream, ends: Ends, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    http.max_buf_size(LARGEST_HEAD).max_headers(MOST_HEADERS);
    let service = TowerToHyperService::new(router.layer(Extension(ends)));
    // One that breaks off has only itself to blame.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

fn router(server: PageServer) -> Router {
    Router::new()
        .route("/", get(pages::runs))
        .route("/runs/{run}", get(pages::report))
        .route("/runs/{run}/inbox", get(pages::inbox))
        .route("/events", get(events::events))
        .route("/decide", post(decide::decide))
        .fallback(pages::nothing)
        .layer(from_fn_with_state(server.clone(), guard::guard))
        .with_state(server)
}
