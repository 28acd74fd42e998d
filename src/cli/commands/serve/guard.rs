//! The guard before every page: it lets in who may read and decide, and gives every answer its headers.

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use super::access::{AccessRefused, Entrance};
use super::pages;
use super::served_folder::PageServer;

/// The headers of every answer. Nothing comes from elsewhere, nothing is kept, and nobody frames it.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Nobody else is told of a page. Without any referrer browsers send forms with no origin, too.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
];
/// Lets in who may read, and decide; gives every answer its headers.
pub async fn guard(State(server): State<PageServer>, request: Request, next: Next) -> Response {
    let mut response = match server.access.enter(&request) {
        Ok(Entrance::Known) => next.run(request).await,
        Ok(Entrance::Introduced(response)) => *response,
        Err(AccessRefused { status, why }) => pages::word(status, why, None),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&server.policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
