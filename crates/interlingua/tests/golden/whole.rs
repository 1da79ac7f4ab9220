//! Whole outputs for people: a file with the report and the output of one fixture for each pair of a source (dialect and
//! role) and a target.
//!
//! The fixture is the smallest of its dialect and role whose row in the table has a call and a result; without such a
//! row, the smallest with a call; else the smallest. The digests of the tables cover all other outputs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use interlingua::dialects::{Plane, Role};
use interlingua::ledger::ContentCounts;

use crate::support::Way;
use crate::table::{RowChange, RowKey};
use crate::{Conversion, Conversions, files_in, is_selected, root, shown_path};

/// Compares the conversions with the files, and writes the files if `blessing`. Returns each file that differs although
/// its row in the table is not in `changed_rows`.
pub fn update(
    conversions: &Conversions,
    changed_rows: &BTreeMap<RowKey, RowChange>,
    blessing: bool,
) -> Vec<String> {
    let mut wanted: BTreeMap<PathBuf, (&RowKey, &Conversion)> = BTreeMap::new();
    for (key, conversion) in conversions.iter().filter(|(_, made)| is_shown(made.from, made.to)) {
        let chosen = wanted.entry(path(conversion)).or_insert((key, conversion));
        if rank(conversion) < rank(chosen.1) {
            *chosen = (key, conversion);
        }
    }
    let mut changes = Vec::new();
    for (path, (key, conversion)) in &wanted {
        let how = match std::fs::read(path) {
            Ok(known) if known == conversion.text => continue,
            Ok(known) if title(&known) != title(&conversion.text) => "another fixture is chosen",
            Ok(_) => "differs",
            Err(_) => "missing",
        };
        if !changed_rows.contains_key(key) {
            changes.push(format!("{}: {how}", shown_path(path)));
        }
        if blessing {
            std::fs::create_dir_all(path.parent().expect("in a folder")).expect("creatable");
            std::fs::write(path, &conversion.text).expect("writable");
        }
    }
    for path in
        files_in(&root()).into_iter().filter(|path| path.is_dir()).flat_map(|folder| files_in(&folder))
    {
        if !wanted.contains_key(&path) && is_covered(&path) {
            changes.push(format!("{}: no conversion makes it", shown_path(&path)));
            if blessing {
                std::fs::remove_file(&path).expect("removable");
            }
        }
    }
    changes
}

/// The committed text of a conversion, if its file holds this fixture.
pub fn committed(conversion: &Conversion) -> Option<Vec<u8>> {
    let text = std::fs::read(path(conversion)).ok()?;
    (title(&text) == title(&conversion.text)).then_some(text)
}

/// The first line, which names the fixture and the target.
fn title(text: &[u8]) -> Option<&[u8]> {
    text.split(|byte| *byte == b'\n').next()
}

fn path(conversion: &Conversion) -> PathBuf {
    let Conversion { from, to, .. } = conversion;
    root().join(from.0.name).join(format!("{}.{}.txt", from.1.word(), to.0.name))
}

/// Whether this run covers the dialects in the path of a file.
fn is_covered(path: &Path) -> bool {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let source = text(path.parent().and_then(Path::file_name));
    let name = text(path.file_stem());
    let target = name.split_once('.').map_or("", |(_, target)| target);
    is_selected(&source, target)
}

/// The fixture with the smallest rank is chosen; of equal ranks, the first by name.
fn rank(conversion: &Conversion) -> (Reverse<bool>, Reverse<bool>, usize) {
    let ContentCounts { calls, results, .. } = conversion.content;
    (Reverse(calls > 0 && results > 0), Reverse(calls > 0), conversion.size)
}

/// Whether a pair has a whole output: logs, live output and our own dialects to logs and to our own dialects, logs to
/// the input of a live agent, wire to wire. The two profiles of the record have one output.
fn is_shown(from: Way, to: Way) -> bool {
    if to.0.name == "record-v2" {
        return from.0.name == "universal";
    }
    match from.0.plane {
        Plane::Log => true,
        Plane::Live | Plane::Ours => to.0.plane == Plane::Ours || to.1 == Role::Log,
        Plane::Wire => to.0.plane == Plane::Wire,
        // Nothing is read from an export.
        Plane::Export => false,
    }
}
