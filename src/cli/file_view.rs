//! A file of a run as it is quoted: its beginning, if it is as records say.

use std::path::Path;

use crate::{
    executor::spool::preview,
    report::documents::show::FileView,
    runtime::VerifiedFiles,
    store::{RunFolder, SpoolName},
};

/// How much of a file is quoted, in bytes.
const PREVIEW: u64 = 2_000;

/// The text in place of a file that was changed since it was recorded.
const CHANGED: &str = "[changed since it was recorded, so it is not shown: `quorum doctor state` says more]";

/// A file of the run, with its beginning, if it is as records say; `None` where there is none or it is empty.
pub fn file_view(run: &RunFolder, name: &SpoolName, vouched: &VerifiedFiles) -> Option<FileView> {
    let path = run.spool_file(name);
    let (beginning, bytes) = preview(&path, PREVIEW)?;
    let here = std::env::current_dir().unwrap_or_default();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let shown = text(path.strip_prefix(here).unwrap_or(&path));
    (bytes > 0).then(|| {
        let is_changed = vouched.is_changed(&path);
        FileView {
            path: text(&path),
            shown,
            bytes,
            cut: bytes > PREVIEW && !is_changed,
            preview: if is_changed { CHANGED.to_owned() } else { beginning },
        }
    })
}
