//! The handlers of the routes for files.

use crate::answer::ApiResponse;
use crate::api::{Answered, json};
use crate::files::{self, LastLink, failed, shown};
use crate::problem::ApiProblem;
use crate::routes::RouteCall;
use crate::settings::MoveBody;
use crate::shapes::{ChangedEntry, MovedEntry, WrittenFile};

pub(crate) async fn list_entries(call: &RouteCall<'_>) -> Answered {
    let path = files::asked(call, LastLink::Followed).await?;
    let mut folder = tokio::fs::read_dir(&path).await.map_err(|error| failed(&path, &error))?;
    let mut entries = Vec::new();
    while let Some(found) = folder.next_entry().await.map_err(|error| failed(&path, &error))? {
        // An entry that was deleted meanwhile is left out. A link is described as a link.
        if let Ok(facts) = found.metadata().await {
            entries.push(files::entry(&found.path(), &facts));
        }
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    json(&entries)
}

pub(crate) async fn stat_entry(call: &RouteCall<'_>) -> Answered {
    let path = files::asked(call, LastLink::Followed).await?;
    let facts = tokio::fs::metadata(&path).await.map_err(|error| failed(&path, &error))?;
    json(&files::entry(&path, &facts))
}

pub(crate) async fn read_file(call: &RouteCall<'_>) -> Answered {
    let path = files::asked(call, LastLink::Followed).await?;
    let bytes = tokio::fs::read(&path).await.map_err(|error| failed(&path, &error))?;
    Ok(ApiResponse::bytes(bytes))
}

pub(crate) async fn write_file(call: &RouteCall<'_>) -> Answered {
    let path = files::asked(call, LastLink::Followed).await?;
    if let Some(parent) = path.parent() {
        tokio::fs::create_dir_all(parent).await.map_err(|error| failed(parent, &error))?;
    }
    let bytes = &call.request.body;
    tokio::fs::write(&path, bytes).await.map_err(|error| failed(&path, &error))?;
    json(&WrittenFile { path: shown(&path), bytes_written: bytes.len() as u64 })
}

pub(crate) async fn delete_entry(call: &RouteCall<'_>) -> Answered {
    let path = files::asked(call, LastLink::Kept).await?;
    files::not_a_root(call, &path)?;
    let facts = tokio::fs::symlink_metadata(&path).await.map_err(|error| failed(&path, &error))?;
    let deleted = match (facts.is_dir(), call.flag("recursive")?) {
        (true, true) => tokio::fs::remove_dir_all(&path).await,
        (true, false) => tokio::fs::remove_dir(&path).await,
        (false, _) => tokio::fs::remove_file(&path).await,
    };
    deleted.map_err(|error| failed(&path, &error))?;
    json(&ChangedEntry { path: shown(&path) })
}

pub(crate) async fn make_folder(call: &RouteCall<'_>) -> Answered {
    let path = files::asked(call, LastLink::Followed).await?;
    tokio::fs::create_dir_all(&path).await.map_err(|error| failed(&path, &error))?;
    json(&ChangedEntry { path: shown(&path) })
}

pub(crate) async fn move_entry(call: &RouteCall<'_>) -> Answered {
    let MoveBody { from, to, overwrite } = call.body()?;
    let from = files::confined(call, &from, LastLink::Kept).await?;
    let to = files::confined(call, &to, LastLink::Kept).await?;
    files::not_a_root(call, &from)?;
    tokio::fs::symlink_metadata(&from).await.map_err(|error| failed(&from, &error))?;
    if !overwrite && tokio::fs::symlink_metadata(&to).await.is_ok() {
        let detail = format!("`{}` exists; `overwrite` replaces it", to.display());
        return Err(ApiProblem::entry_exists(detail));
    }
    tokio::fs::rename(&from, &to).await.map_err(|error| failed(&from, &error))?;
    json(&MovedEntry { from: shown(&from), to: shown(&to) })
}
