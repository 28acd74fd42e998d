//! Server-sent events: one task looks at the journals of the runs that somebody reads, however many do.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::access::parameter;
use super::changes::Watched;
use super::pages;
use super::served_folder::PageServer;

/// How often journals are looked at.
const LOOK: Duration = Duration::from_millis(300);

/// Looks again and again at what somebody listens to.
pub async fn look(server: PageServer) {
    loop {
        sleep(LOOK).await;
        let (heard, of) = (server.changes.heard(), server.clone());
        if heard.is_empty() {
            continue;
        }
        let looked = spawn_blocking(move || {
            let states = heard.into_iter().map(|(watched, read)| {
                let state = watched.state_since(&of.folder, read);
                (watched, state)
            });
            states.collect::<Vec<_>>()
        });
        for (watched, state) in looked.await.unwrap_or_default() {
            server.changes.announce(&watched, state);
        }
    }
}

/// Tells a reader of each change, the state now at first.
pub async fn events(State(server): State<PageServer>, uri: Uri) -> Response {
    let watched = match parameter(&uri, "run") {
        None => Watched::Runs,
        Some(id) => match server.run(&id) {
            Some(run) => Watched::Run(run.id().clone()),
            None => return pages::word(StatusCode::NOT_FOUND, "there is no such run", None),
        },
    };
    let Ok(place) = server.changes.listeners.clone().try_acquire_owned() else {
        return pages::word(StatusCode::SERVICE_UNAVAILABLE, "too many listen at the same time", None);
    };
    let listener = server.changes.listen(watched);
    let told = stream::unfold((listener, place), |(mut listener, place)| async move {
        loop {
            listener.changed().await.ok()?;
            let state = listener.borrow_and_update().clone();
            if !state.is_empty() {
                return Some((Ok::<_, Infallible>(Event::default().data(state)), (listener, place)));
            }
        }
    });
    Sse::new(told).keep_alive(KeepAlive::default()).into_response()
}
