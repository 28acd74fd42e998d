//! Who may read the pages, and who may decide: a token in the address, then a cookie; for decisions the page's own origin and its
//! form.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;

use crate::store::OperatorKey;

/// The texts whose codes are the secrets of one server.
const TOKEN: &str = "token";
const COOKIE: &str = "cookie";
const FORM: &str = "form";

/// What one server knows its readers by. All of it ends with the process, but for a token of a file.
pub struct PageAccess {
    key: OperatorKey,
    /// The code of the token.
    token: String,
    cookie_name: String,
    /// The names that the server is asked by: `127.0.0.1:PORT`.
    hosts: Vec<String>,
}

/// Why a request is refused, in the words of HTTP and in plain ones.
pub struct AccessRefused {
    pub status: StatusCode,
    pub why: &'static str,
}

/// The request of one that may go on, or the answer that it gets instead.
pub enum Entrance {
    Known,
    /// The token came along: the answer gives the cookie.
    Introduced(Box<Response>),
}

fn refused<T>(status: StatusCode, why: &'static str) -> Result<T, AccessRefused> {
    Err(AccessRefused { status, why })
}

impl PageAccess {
    /// Access to the server at this address, asked by these names beside its own. Without a token there is a new one. Returns
    /// the token, too.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn new(at: SocketAddr, names: &[String], token: Option<&str>) -> std::io::Result<(Self, String)> {
        let key = OperatorKey::of_this_process()?;
        let token = token.map_or_else(|| key.code(TOKEN), str::to_owned);
        let mut hosts: Vec<String> = vec![at.to_string()];
        if at.ip().is_loopback() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{}", at.port())));
        }
        hosts.extend(names.iter().map(|name| format!("{}:{}", name.to_ascii_lowercase(), at.port())));
        let access = Self {
            token: key.code(&given_token(&token)),
            key,
            cookie_name: format!("quorum-{}", at.port()),
            hosts,
        };
        Ok((access, token))
    }

    /// The token that every form of the pages carries.
    pub fn form(&self) -> String {
        self.key.code(FORM)
    }

    /// Whether a form is one of this server's own.
    pub fn has_made(&self, form: &str) -> bool {
        self.key.verifies(FORM, form)
    }

    /// Whether a request may go on.
    pub fn enter(&self, request: &Request) -> Result<Entrance, AccessRefused> {
        let (headers, uri) = (request.headers(), request.uri());
        let host = self.host(headers, uri)?;
        let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_reading && request.method() != Method::POST {
            return refused(
                StatusCode::METHOD_NOT_ALLOWED,
                "pages are read by GET, and decisions made by POST",
            );
        }
        if let Some(token) = parameter(uri, TOKEN).filter(|_| is_reading) {
            if !self.key.verifies(&given_token(&token), &self.token) {
                return refused(
                    StatusCode::FORBIDDEN,
                    "the token of this address is wrong: it may be of a server that has ended",
                );
            }
            return Ok(Entrance::Introduced(Box::new(self.introduced(uri))));
        }
        if !self.has_cookie(headers) {
            return refused(
                StatusCode::UNAUTHORIZED,
                "this browser is not known here: open the address that `quorum serve` printed; if you have, reload this page",
            );
        }
        if !is_reading {
            self.is_own_form(headers, &host)?;
        }
        Ok(Entrance::Known)
    }

    /// The name that the server was asked by. Any other one may be somebody else's that leads here (DNS rebinding).
    fn host(&self, headers: &HeaderMap, uri: &Uri) -> Result<String, AccessRefused> {
        let asked = only(headers, &header::HOST).map(str::to_ascii_lowercase);
        let is_known = |name: &str| self.hosts.iter().any(|known| known == name);
        let is_elsewhere = uri.authority().is_some_and(|name| !is_known(&name.as_str().to_ascii_lowercase()));
        match asked.filter(|name| is_known(name) && !is_elsewhere) {
            Some(host) => Ok(host),
            None => refused(StatusCode::MISDIRECTED_REQUEST, "this server is not called by that name"),
        }
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && self.key.verifies(COOKIE, value))
    }

    /// Whether a request that changes something was sent by a page of this server.
    fn is_own_form(&self, headers: &HeaderMap, host: &str) -> Result<(), AccessRefused> {
        let origin = only(headers, &header::ORIGIN);
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        let is_own = origin.is_some_and(|origin| origin.eq_ignore_ascii_case(&format!("http://{host}")));
        if !is_own || site.is_some_and(|site| site != b"same-origin") {
            return refused(StatusCode::FORBIDDEN, "decisions are made on the pages of this server only");
        }
        let kind = only(headers, &header::CONTENT_TYPE).unwrap_or_default();
        if kind.split(';').next() != Some("application/x-www-form-urlencoded") {
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a decision is a form");
        }
        Ok(())
    }

    /// The way to the same page without the token, with the cookie.
    fn introduced(&self, uri: &Uri) -> Response {
        let cookie = self.key.code(COOKIE);
        let cookie = format!("{}={cookie}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name);
        // A path that begins with two strokes would lead to another server.
        let path = format!("/{}", uri.path().trim_start_matches('/'));
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        for (name, value) in [(header::LOCATION, path), (header::SET_COOKIE, cookie)] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// The text whose code is compared: a comparison of codes takes the same time whatever was given.
fn given_token(token: &str) -> String {
    format!("{TOKEN} {token}")
}

/// A header that must stand once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

/// A parameter of an address.
pub fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}
