//! Finding the newest checkpoint, and removing what is of no use any more.

use super::chunk::{Name, Part};
use super::error::CheckpointError;
use super::manifest::Manifest;
use crate::files::Files;

/// What lies in a directory of checkpoints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// the newest checkpoint, if there is one
    pub newest: Option<Manifest>,
    /// what was found that is of no use, in words
    pub notices: Vec<String>,
}

/// Looks for the newest checkpoint. Changes nothing; [`remove_older`] does.
///
/// # Errors
///
/// [`CheckpointError::Damaged`] when its manifest cannot be read: a manifest has its name only when
/// it is whole, so that is not a crash's doing, and the log may not reach back any further.
pub fn find(files: &dyn Files) -> Result<Found, CheckpointError> {
    let names = parsed(files)?;
    let manifests = names.iter().filter(|(_, _, part)| *part == Part::Manifest);
    let mut complete: Vec<Name> = manifests.map(|(_, name, _)| *name).collect();
    complete.sort_unstable();
    let newest = complete.last().map(|&name| Manifest::read(files, name)).transpose()?;
    let mut interrupted: Vec<Name> = names.iter().map(|(_, name, _)| *name).collect();
    interrupted.sort_unstable();
    interrupted.dedup();
    interrupted.retain(|name| !complete.contains(name));
    let notice = |name: &Name| {
        let epoch = name.epoch;
        let path = files.path("");
        format!("a checkpoint of epoch {epoch} in {path} was not completed and is removed")
    };
    Ok(Found { newest, notices: interrupted.iter().map(notice).collect() })
}

/// Removes all checkpoints but `kept`, and what is left of those that were interrupted. To be
/// called when none is being written.
pub fn remove_older(files: &dyn Files, kept: Option<&Manifest>) -> Result<(), CheckpointError> {
    let kept = kept.map(Manifest::name);
    let mut names = parsed(files)?;
    // Manifests first: a checkpoint that lacks a part has none.
    names.sort_by_key(|(_, _, part)| *part == Part::Section);
    let mut removed = false;
    for (file, name, part) in names {
        if Some(name) != kept || part == Part::Unfinished {
            let io = CheckpointError::io("remove", files.path(&file));
            files.remove(&file).map_err(io)?;
            removed = true;
        }
    }
    if removed {
        files.sync_directory().map_err(CheckpointError::io("sync", files.path("")))?;
    }
    Ok(())
}

fn parsed(files: &dyn Files) -> Result<Vec<(String, Name, Part)>, CheckpointError> {
    let names = files.list().map_err(CheckpointError::io("list", files.path("")))?;
    let parse = |file: String| Name::parse(&file).map(|(name, part)| (file, name, part));
    Ok(names.into_iter().filter_map(parse).collect())
}
