//! The server: where Temporal's own settings say it is, and whether it has what is needed.

use std::time::Duration;

use temporalio_client::envconfig::LoadClientConfigProfileOptions;
use temporalio_client::tonic::{Code, IntoRequest, Status};
use temporalio_client::{Client, ClientOptions, Connection, NamespacedClient as _, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    DescribeNamespaceRequest, GetClusterInfoRequest,
};

use crate::executor::error::WorkError;
use crate::store::{OperatorKey, host};

/// The oldest server that has activities of their own without being told to.
const OLDEST: (u32, u32) = (1, 32);
/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Why the server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The settings of Temporal say something that cannot be.
    #[error("the settings of Temporal: {0}")]
    Settings(String),
    /// Nothing answers there, for now.
    #[error("the server at {0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// The server is too old.
    #[error("the server at {0} is of version {1}; {major}.{minor} is needed", major = OLDEST.0, minor = OLDEST.1)]
    TooOld(String, String),
    /// The server has no such namespace.
    #[error("the server at {0} has no namespace '{1}'")]
    NoNamespace(String, String),
    /// The server lets nobody in with these credentials.
    #[error("the server at {0} gives no access to the namespace '{1}': {2}")]
    NoAccess(String, String, String),
}

/// A connection to the server, with the name of this process.
///
/// # Errors
/// [`ServerError`]
pub async fn connect(name: &str) -> Result<Client, ServerError> {
    let settings = ClientOptions::load_from_config(LoadClientConfigProfileOptions::default());
    let (mut connection, client) = settings.map_err(|error| ServerError::Settings(error.to_string()))?;
    name.clone_into(&mut connection.identity);
    connection.connect_timeout = Some(CONNECT_WITHIN);
    let address = connection.target.to_string();
    let unreachable =
        |why: &dyn std::fmt::Display| ServerError::Unreachable(address.clone(), why.to_string());
    let connected = Connection::connect(connection).await;
    let connected = connected.map_err(|error| unreachable(&error))?;
    let client = Client::new(connected, client).map_err(|error| unreachable(&error))?;
    let namespace = client.namespace();
    let refused = |status: Status| match status.code() {
        Code::NotFound => ServerError::NoNamespace(address.clone(), namespace.clone()),
        Code::PermissionDenied | Code::Unauthenticated => {
            ServerError::NoAccess(address.clone(), namespace.clone(), status.message().to_owned())
        }
        _ => unreachable(&status.message()),
    };
    let mut calls = client.clone();
    let described = DescribeNamespaceRequest { namespace: namespace.clone(), ..Default::default() };
    calls.describe_namespace(described.into_request()).await.map_err(refused)?;
    let about = calls.get_cluster_info(GetClusterInfoRequest::default().into_request()).await;
    // A service that does not tell its version is asked for what it cannot do when that is needed.
    if let Ok(about) = about {
        let version = about.into_inner().server_version;
        if is_too_old(&version) {
            return Err(ServerError::TooOld(address, version));
        }
    }
    Ok(client)
}

/// Whether commands can be begun elsewhere from here: there is a key of the team, and the server is there and has what is needed.
/// Blocks; a runtime must not be at work in this thread.
///
/// # Errors
/// What is missing.
pub fn check() -> Result<(), WorkError> {
    team_key()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let connected = runtime.block_on(connect(&host()));
    runtime.shutdown_background();
    Ok(connected.map(drop).map_err(|why| why.to_string())?)
}

/// The key of the team.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn team_key() -> Result<OperatorKey, WorkError> {
    let key = OperatorKey::of_team().map_err(|error| format!("the team's key: {error}"))?;
    Ok(key.ok_or(
        "there is no key of the team: set QUORUM_WORKER_KEY, or take the file $XDG_CONFIG_HOME/quorum/worker-key (mode 0600, 32 bytes or \
         more: `head -c 32 /dev/urandom | base64`) to each machine",
    )?)
}

/// Whether a version is known to be too old.
fn is_too_old(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) < OLDEST,
        _ => false,
    }
}

/// Whether a call may come to another end when it is made again.
pub fn is_passing(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Unknown
            | Code::Internal
            | Code::Cancelled
            | Code::Aborted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_counts_as_too_old_only_where_it_is_known() {
        for old in ["1.31.4", "1.9.0", "0.99.1"] {
            assert!(is_too_old(old), "{old}");
        }
        for new in ["1.32.0", "1.40.1", "2.0.0", "", "cloud"] {
            assert!(!is_too_old(new), "{new}");
        }
    }
}
