//! The event loop of a command: asynchronous work is waited for, and nothing outlives it.

use anyhow::anyhow;

/// Waits for `work` on an event loop of its own.
pub fn block_on<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| anyhow!("cannot start the event loop: {error}"))?;
    let result = runtime.block_on(work);
    // Work on the blocking pool that nobody waits for must not hold up the end.
    runtime.shutdown_background();
    Ok(result)
}
