//! A private home for Gemini CLI, in which its settings choose the login with a key.
//!
//! Gemini CLI refuses to start with another server unless its settings choose a key as login. No variable and no argument
//! sets this choice, and a settings file of the system must belong to root. The private home holds the user's settings
//! with the choice, and links to all other entries of the user's `.gemini`: sessions, extensions and instructions stay in
//! place.

use std::env;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use interlingua::tape::{Kind, Limits, TapeBuf};

/// The folder of Gemini CLI in a home.
const FOLDER: &str = ".gemini";
/// The settings in this folder.
const SETTINGS: &str = "settings.json";
/// The sessions in this folder.
const SESSIONS: &str = "tmp";
/// The member of the settings that chooses a login, and its value.
const LOGIN: [&str; 3] = ["security", "auth", "selectedType"];
const WITH_KEY: &str = "\"gemini-api-key\"";

/// The variable with the home of Gemini CLI.
pub(crate) const VARIABLE: &str = "GEMINI_CLI_HOME";

/// Makes a home in an empty folder, after the home of the user.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    let made = folder.join(FOLDER);
    fs::create_dir(&made)?;
    let home = env::var_os(VARIABLE).map(PathBuf::from).or_else(env::home_dir);
    let Some(theirs) = home.map(|home| home.join(FOLDER)) else {
        return fs::write(made.join(SETTINGS), with_key("{}"));
    };
    // Sessions of a new user are to outlive the private home, too.
    fs::create_dir_all(theirs.join(SESSIONS))?;
    for entry in fs::read_dir(&theirs)? {
        let entry = entry?;
        if entry.file_name() != SETTINGS {
            link(&entry.path(), &made.join(entry.file_name()))?;
        }
    }
    let settings = match fs::read_to_string(theirs.join(SETTINGS)) {
        Ok(settings) => settings,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => return Err(error),
    };
    fs::write(made.join(SETTINGS), with_key(&settings))
}

#[cfg(unix)]
fn link(target: &Path, name: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, name)
}

#[cfg(windows)]
fn link(target: &Path, name: &Path) -> io::Result<()> {
    if target.is_dir() {
        std::os::windows::fs::symlink_dir(target, name)
    } else {
        std::os::windows::fs::symlink_file(target, name)
    }
}

/// Settings with the choice of a key. Text that is not JSON stays, and Gemini CLI reports the error.
fn with_key(settings: &str) -> String {
    let settings = without_comments(settings);
    match change(&settings) {
        Some((place, text)) => format!("{}{text}{}", &settings[..place.start], &settings[place.end..]),
        None => settings,
    }
}

/// The place of the choice in the settings, and the text for this place.
fn change(settings: &str) -> Option<(Range<usize>, String)> {
    let mut tape = TapeBuf::default();
    let tape = tape.parse(settings, &Limits::default()).ok()?;
    let mut object = Some(tape.root()).filter(|root| root.kind() == Kind::Object)?;
    for (depth, name) in LOGIN.iter().enumerate() {
        let inner = &LOGIN[depth + 1..];
        let value =
            inner.iter().rev().fold(WITH_KEY.to_owned(), |value, name| format!("{{\"{name}\":{value}}}"));
        match object.get(name) {
            Some(found) if found.kind() == Kind::Object && !inner.is_empty() => object = found,
            Some(found) => return Some((found.span(), value)),
            None => {
                let start = object.span().start + 1;
                let comma = if object.members().next().is_some() { "," } else { "" };
                return Some((start..start, format!("\"{name}\":{value}{comma}")));
            }
        }
    }
    None
}

/// JSON without the comments that Gemini CLI allows in its settings.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            let length = if first == '"' { string_length(rest) } else { first.len_utf8() };
            kept.push_str(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    kept
}

/// The length of the string at the start of the text, with its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = letter == '\\' && !is_escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_of_a_login_is_made_in_any_settings() {
        let login = |settings: &str| -> serde_json::Value {
            serde_json::from_str(&with_key(settings)).expect("JSON")
        };
        for settings in [
            "{}",
            r#"{"security":{}}"#,
            r#"{"security":{"auth":{}}}"#,
            r#"{"security":null}"#,
            r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#,
        ] {
            assert_eq!(login(settings)["security"]["auth"]["selectedType"], "gemini-api-key", "{settings}");
        }
        let rich = "{ // mine\n\"ui\": {\"theme\": \"a // \\\" b\"}, /* x */ \"security\": {\"auth\": {\"useExternal\": false}}}";
        let changed = login(rich);
        assert_eq!(changed["ui"]["theme"], "a // \" b");
        assert_eq!(changed["security"]["auth"]["useExternal"], false);
        assert_eq!(changed["security"]["auth"]["selectedType"], "gemini-api-key");
        assert_eq!(with_key("{ broken"), "{ broken");
    }
}
