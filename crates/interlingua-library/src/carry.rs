//! The place of a session in another agent: the file where the agent looks for it, the entries of its index, and the command
//! that goes on with it.
//!
//! A session is written under a temporary name and then renamed, so that an agent never finds a half-written one: a file beside
//! its place, a folder of several files in the agent's own folder, where no agent looks for sessions. The entry of an index
//! follows the session. A record of every carried session ([`CarriedSession`]) precedes it and holds its digest: only an unchanged
//! file is replaced or removed.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use interlingua::model::time;
use interlingua_report::safe;
use interlingua_sessions::places::{TEMPORARY_BEGIN, TEMPORARY_END};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::digests::{self, hex};
use crate::homes::{AgentHome, Environment};
use crate::imported;

/// An agent that goes on with sessions of other agents.
#[derive(Debug)]
#[non_exhaustive]
pub struct Successor {
    /// The dialect of its log.
    pub dialect: &'static str,
    /// The command of the agent.
    pub program: &'static str,
    /// The flag that chooses a model, if the command that goes on has one.
    pub model_flag: Option<&'static str>,
    place: fn(&NewSession<'_>) -> Option<SuccessorPlace>,
}

/// The agents that go on with a session on this machine. The sessions of Amp and Cursor are on servers of their vendors.
pub static SUCCESSORS: &[Successor] = &[
    Successor {
        dialect: "claude-code",
        program: "claude",
        model_flag: Some("--model"),
        place: in_claude_code,
    },
    Successor { dialect: "codex", program: "codex", model_flag: Some("--model"), place: in_codex },
    Successor { dialect: "gemini-cli", program: "gemini", model_flag: Some("--model"), place: in_gemini_cli },
    Successor { dialect: "qwen-code", program: "qwen", model_flag: Some("--model"), place: in_qwen_code },
    Successor { dialect: "opencode", program: "opencode", model_flag: Some("--model"), place: in_opencode },
    Successor { dialect: "copilot-cli", program: "copilot", model_flag: Some("--model"), place: in_copilot },
    Successor { dialect: "kimi-cli", program: "kimi", model_flag: Some("--model"), place: in_kimi_cli },
    Successor { dialect: "kimi-code", program: "kimi", model_flag: Some("--model"), place: in_kimi_code },
    Successor { dialect: "pi", program: "pi", model_flag: Some("--model"), place: in_pi },
    Successor { dialect: "droid", program: "droid", model_flag: None, place: in_droid },
    Successor { dialect: "goose", program: "goose", model_flag: None, place: in_goose },
    Successor { dialect: "cline", program: "cline", model_flag: Some("--model"), place: in_cline },
];

/// The facts that a place depends on.
#[derive(Clone, Debug)]
pub struct NewSession<'a> {
    /// The environment with the folders of agents.
    pub environment: &'a Environment,
    /// The id of the new session: a UUID.
    pub uuid: &'a str,
    /// The directory where the session goes on.
    pub cwd: &'a Path,
    /// The current time in milliseconds since 1970.
    pub now: u64,
}

/// The place of a session in an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SuccessorPlace {
    /// The id of the session in the agent.
    pub id: String,
    /// The file of the session.
    pub file: PathBuf,
    /// The folder that belongs to the session alone, and the agent's own folder.
    pub folder: Option<(PathBuf, PathBuf)>,
    /// Further files in the session's folder, with their content.
    pub beside: Vec<(PathBuf, String)>,
    /// The entry in the list of directories of Kimi CLI.
    pub index: Option<PathBuf>,
    /// Arguments of a command that has to run before the session goes on.
    pub prepare: Option<Vec<OsString>>,
    /// Arguments of the command that goes on with the session.
    pub resume: Vec<OsString>,
    /// The id that the log needs; `None` if the log holds no id.
    pub written_id: Option<String>,
    /// The title by which the agent finds the session, if its id is not known before the agent has imported it.
    pub written_title: Option<String>,
}

impl Successor {
    /// The agent whose name or dialect begins with a text; `None` if there is none or several.
    pub fn named(name: &str) -> Option<&'static Successor> {
        let exact = SUCCESSORS.iter().find(|agent| agent.dialect == name);
        let mut begins = SUCCESSORS.iter().filter(|agent| agent.dialect.starts_with(name));
        exact.or_else(|| begins.next().filter(|_| begins.next().is_none()))
    }

    /// Whether no session of the agent is at a place or has its id.
    pub fn is_free(&self, place: &SuccessorPlace, environment: &Environment) -> bool {
        !place.file.exists() && !imported::is_imported(environment, self.dialect, &place.id)
    }

    /// Whether a copy that has not gone on can be replaced. Each import into Goose makes a further session.
    pub fn is_replaceable(&self, place: &SuccessorPlace, environment: &Environment) -> bool {
        self.dialect != imported::GOOSE || !imported::is_imported(environment, self.dialect, &place.id)
    }

    /// The place of a new session; `None` if the user has no home folder.
    pub fn place(&self, session: &NewSession<'_>) -> Option<SuccessorPlace> {
        (self.place)(session)
    }
}

impl NewSession<'_> {
    /// The folder of an agent.
    fn folder(&self, dialect: &str) -> Option<PathBuf> {
        AgentHome::of(dialect)?.folder(self.environment)
    }

    /// The directory with a dash for every character that is no letter and no digit.
    fn slug(&self) -> String {
        let cwd = self.cwd.to_string_lossy();
        cwd.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
    }

    /// The time as `2026-11-01T10:20:30.000Z`.
    fn time(&self) -> String {
        time::utc(&interlingua::json::Raw::owned(self.now.to_string())).unwrap_or_default()
    }

    /// The time as `2026-11-01T10-20-30`.
    fn file_time(&self) -> String {
        let time = self.time();
        time.get(..19).unwrap_or("1970-01-01T00-00-00").replace(':', "-")
    }
}

/// A place with the id of the session and the arguments that go on with it.
fn placed(id: String, file: PathBuf, resume: &[&str]) -> SuccessorPlace {
    SuccessorPlace {
        written_id: Some(id.clone()),
        written_title: None,
        id,
        file,
        folder: None,
        beside: Vec::new(),
        index: None,
        prepare: None,
        resume: resume.iter().map(OsString::from).collect(),
    }
}

fn in_claude_code(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let folder = session.folder("claude-code")?.join("projects").join(session.slug());
    let file = folder.join(format!("{}.jsonl", session.uuid));
    Some(placed(session.uuid.to_owned(), file, &["--resume", session.uuid]))
}

fn in_codex(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let time = session.file_time();
    let day = time.get(..10)?.replace('-', "/");
    let file = session.folder("codex")?.join("sessions").join(day);
    let file = file.join(format!("rollout-{time}-{}.jsonl", session.uuid));
    Some(placed(session.uuid.to_owned(), file, &["resume", session.uuid]))
}

fn in_gemini_cli(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let home = session.folder("gemini-cli")?;
    let project = gemini_project(&home, session.cwd);
    let begin = session.uuid.get(..8)?;
    let minute = session.file_time();
    let file = home.join("tmp").join(project).join("chats");
    let file = file.join(format!("session-{}-{begin}.jsonl", minute.get(..16)?));
    let mut placement = placed(session.uuid.to_owned(), file, &[]);
    placement.resume = vec!["--session-file".into(), placement.file.clone().into()];
    Some(placement)
}

/// The folder name of a project of Gemini CLI: the one in its list of projects, or the last part of the directory.
fn gemini_project(home: &Path, cwd: &Path) -> String {
    let known = fs::read(home.join("projects.json")).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let slug = known.as_ref().and_then(|known| known["projects"][&*cwd.to_string_lossy()].as_str());
    let last =
        || cwd.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
    // A name with a separator would leave the folder.
    slug.filter(|slug| !slug.contains(['/', '\\']) && *slug != "..").map_or_else(last, str::to_owned)
}

fn in_qwen_code(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let folder = session.folder("qwen-code")?.join("projects").join(session.slug()).join("chats");
    let file = folder.join(format!("{}.jsonl", session.uuid));
    Some(placed(session.uuid.to_owned(), file, &["--resume", session.uuid]))
}

/// OpenCode has a database; it imports a document by a command of its own.
fn in_opencode(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let id = format!("ses_{}", session.uuid.replace('-', ""));
    let file = carried_folder(session.environment)?.join("opencode").join(format!("{id}.json"));
    let mut placement = placed(id.clone(), file, &["--session", &id]);
    placement.prepare = Some(vec!["import".into(), placement.file.clone().into()]);
    Some(placement)
}

fn in_copilot(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let home = session.folder("copilot-cli")?;
    let folder = home.join("session-state").join(session.uuid);
    let resume = format!("--resume={}", session.uuid);
    let mut placement = placed(session.uuid.to_owned(), folder.join("events.jsonl"), &[&resume]);
    placement.folder = Some((folder, home));
    Some(placement)
}

/// Kimi CLI starts an empty session, silently, if its list of directories has no entry for the directory.
fn in_kimi_cli(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let home = session.folder("kimi-cli")?;
    let digest = hex(&md5::Md5::digest(session.cwd.to_string_lossy().as_bytes()));
    let folder = home.join("sessions").join(digest).join(session.uuid);
    let file = folder.join("context.jsonl");
    let mut placement = placed(session.uuid.to_owned(), file, &["--session", session.uuid]);
    placement.written_id = None;
    placement.folder = Some((folder, home.clone()));
    placement.index = Some(home.join("kimi.json"));
    Some(placement)
}

fn in_kimi_code(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let id = format!("session_{}", session.uuid);
    let cwd = session.cwd.to_string_lossy();
    let digest = hex(&Sha256::digest(cwd.as_bytes()));
    let last = session.cwd.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let home = session.folder("kimi-code")?;
    let folder = home.join("sessions").join(format!("wd_{last}_{}", digest.get(..12)?));
    let folder = folder.join(&id);
    let agent = folder.join("agents/main");
    let state = json!({
        "id": id, "version": 2, "cwd": cwd, "archived": false, "custom": {}, "isCustomTitle": false,
        "agents": {"main": {"homedir": agent.to_string_lossy(), "type": "main"}},
        "createdAt": session.now, "updatedAt": session.now,
    });
    let mut placement = placed(id.clone(), agent.join("wire.jsonl"), &["--session", &id]);
    placement.written_id = None;
    placement.beside = vec![(folder.join("state.json"), state.to_string())];
    placement.folder = Some((folder, home));
    Some(placement)
}

fn in_pi(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let cwd = session.cwd.to_string_lossy();
    let project = cwd.trim_matches('/').replace(['/', '\\', ':'], "-");
    let folder = session.folder("pi")?.join("sessions").join(format!("--{project}--"));
    let file = folder.join(format!("{}_{}.jsonl", session.file_time(), session.uuid));
    let mut placement = placed(session.uuid.to_owned(), file, &[]);
    placement.resume = vec!["--session".into(), placement.file.clone().into()];
    Some(placement)
}

fn in_droid(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    // Droid replaces separators alone.
    let project = session.cwd.to_string_lossy().replace(['/', '\\'], "-");
    let folder = session.folder("droid")?.join("sessions").join(project);
    let file = folder.join(format!("{}.jsonl", session.uuid));
    Some(placed(session.uuid.to_owned(), file, &["--resume", session.uuid]))
}

/// Goose has a database; it imports a document by a command of its own, and gives it an id that is not known before. The command
/// that goes on names the session by its title.
fn in_goose(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let id = format!("carried-{}", session.uuid.get(..13)?);
    let file = carried_folder(session.environment)?.join(imported::GOOSE).join(format!("{id}.json"));
    let mut placement = placed(id.clone(), file, &["session", "--resume", "--name", &id]);
    placement.prepare = Some(vec!["session".into(), "import".into(), placement.file.clone().into()]);
    placement.written_title = Some(id);
    Some(placement)
}

/// Cline starts an empty session, silently, if the facts beside the messages have no provider and no model. It goes on with the
/// provider and the model that it was used with last.
fn in_cline(session: &NewSession<'_>) -> Option<SuccessorPlace> {
    let home = session.folder("cline")?;
    let id = session.uuid;
    let folder = home.join("sessions").join(id);
    let file = folder.join(format!("{id}.messages.json"));
    let (cwd, time) = (session.cwd.to_string_lossy(), session.time());
    let facts = json!({
        "version": 1, "session_id": id, "source": "cli", "pid": 0, "started_at": time, "ended_at": time, "status": "completed",
        "interactive": true, "provider": "cline", "model": "unknown", "cwd": cwd, "workspace_root": cwd,
        "enable_tools": true, "enable_spawn": true, "enable_teams": true, "messages_path": file.to_string_lossy(),
    });
    let mut placement = placed(id.to_owned(), file, &["--id", id]);
    placement.beside = vec![(folder.join(format!("{id}.json")), facts.to_string())];
    placement.folder = Some((folder, home));
    Some(placement)
}

/// The id of the copy of a session in another agent: the same for the same source, agent and number.
pub fn new_id(source: &str, agent: &str, number: u32) -> String {
    let digest = hex(&Sha256::digest(format!("{source}\n{agent}\n{number}")));
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    // Version 5: made of a name. Qwen Code takes versions 1 to 5 only.
    format!("{}-{}-5{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The folder for records of carried sessions.
fn carried_folder(environment: &Environment) -> Option<PathBuf> {
    let data = environment.path("XDG_DATA_HOME");
    let data = data.or_else(|| environment.home().map(|home| home.join(".local/share")))?;
    Some(data.join("interlingua").join("carried"))
}

/// The record of a session that was written for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CarriedSession {
    /// The path of the source.
    pub source: PathBuf,
    /// The dialect of the agent.
    pub agent: String,
    /// The id in the agent.
    pub id: String,
    /// The file of the session.
    pub file: PathBuf,
    /// The digest of the file as it was written.
    pub digest: String,
    /// The digest of the file that this one replaces: a killed command may have left it.
    pub earlier_digest: Option<String>,
    /// Files that belong to the session alone.
    pub beside: Vec<PathBuf>,
    /// The index of Kimi CLI with an entry for the session.
    pub index: Option<PathBuf>,
}

/// A session that cannot be placed or removed.
#[derive(Debug)]
#[non_exhaustive]
pub enum CarryError {
    /// The user has no home folder.
    NoHome,
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// A file of the agent's index is no JSON of the known form.
    Index(PathBuf),
    /// The session went on after it was written.
    WentOn(PathBuf),
}

impl fmt::Display for CarryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CarryError::NoHome => f.write_str("there is no home folder"),
            CarryError::File(path, error) => write!(f, "`{}`: {error}", safe::path_name(path)),
            CarryError::Index(path) => {
                write!(f, "`{}` has an unknown form, and is not changed", safe::path_name(path))
            }
            CarryError::WentOn(path) => {
                write!(f, "`{}` has gone on since it was written, and is not changed", safe::path_name(path))
            }
        }
    }
}

impl std::error::Error for CarryError {}

impl CarriedSession {
    /// The record of the session with this id in an agent.
    pub fn find(environment: &Environment, agent: &str, id: &str) -> Option<Self> {
        let bytes = fs::read(record_path(environment, agent, id)?).ok()?;
        Self::parse(&serde_json::from_slice(&bytes).ok()?)
    }

    /// All records.
    pub fn all(environment: &Environment) -> Vec<Self> {
        let Some(folder) = carried_folder(environment) else { return Vec::new() };
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        let parse = |path: PathBuf| Self::parse(&serde_json::from_slice(&fs::read(path).ok()?).ok()?);
        paths.into_iter().filter_map(parse).collect()
    }

    fn parse(record: &Value) -> Option<Self> {
        let text = |name: &str| record[name].as_str().map(str::to_owned);
        let beside = record["beside"].as_array()?.iter();
        Some(Self {
            source: text("source")?.into(),
            agent: text("agent")?,
            id: text("id")?,
            file: text("file")?.into(),
            digest: text("sha256")?,
            earlier_digest: text("earlier_sha256"),
            beside: beside.filter_map(|path| path.as_str()).map(PathBuf::from).collect(),
            index: text("index").map(PathBuf::from),
        })
    }

    /// Whether the file is as it was written.
    pub fn is_unchanged(&self) -> bool {
        let is_ours = |digest: String| digest == self.digest || Some(digest) == self.earlier_digest;
        digests::of_file(&self.file).is_ok_and(is_ours)
    }

    /// Whether the session has gone on in the agent since it was written.
    pub fn has_gone_on(&self, environment: &Environment) -> bool {
        self.file.exists() && !self.is_unchanged()
            || imported::has_gone_on(environment, &self.agent, &self.id, &self.file)
    }

    /// Removes the files of the session, unless it has gone on.
    pub fn remove(&self, environment: &Environment) -> Result<(), CarryError> {
        if self.has_gone_on(environment) {
            return Err(CarryError::WentOn(self.file.clone()));
        }
        for path in std::iter::once(&self.file).chain(&self.beside) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(CarryError::File(path.clone(), error));
                }
                _ => {}
            }
            // Folders of this session alone are empty now; others hold something and stay.
            let mut folders = path.ancestors().skip(1).take(DEEPEST_FOLDER);
            let _ = folders.try_for_each(fs::remove_dir);
        }
        if let Some(index) = &self.index {
            let work_dirs = |dirs: &mut Vec<Value>| {
                dirs.retain(|entry| entry["last_session_id"].as_str() != Some(self.id.as_str()));
            };
            change_index(index, work_dirs)?;
        }
        let record = record_path(environment, &self.agent, &self.id).ok_or(CarryError::NoHome)?;
        fs::remove_file(&record).map_err(|error| CarryError::File(record, error))
    }
}

impl SuccessorPlace {
    /// Puts a written session into its place, with the entries of the agent's index, and records it. `earlier` is the record
    /// of the same session from an earlier time, whose unchanged file is replaced.
    pub fn put(
        &self,
        written: &Path,
        new: &NewSession<'_>,
        (source, agent): (&Path, &Successor),
        earlier: Option<&CarriedSession>,
    ) -> Result<CarriedSession, CarryError> {
        let unread = |error| CarryError::File(written.to_owned(), error);
        let file = earlier.map_or_else(|| self.file.clone(), |earlier| earlier.file.clone());
        let carried = CarriedSession {
            source: source.to_owned(),
            agent: agent.dialect.to_owned(),
            id: self.id.clone(),
            digest: digests::of_file(written).map_err(unread)?,
            earlier_digest: digests::of_file(&file).ok(),
            file,
            beside: self.beside.iter().map(|(path, _)| path.clone()).collect(),
            index: self.index.clone(),
        };
        // The record is written first: a killed command leaves a record without a session, never a session without a record.
        let record = record_path(new.environment, agent.dialect, &self.id).ok_or(CarryError::NoHome)?;
        let facts = json!({
            "source": source.to_string_lossy(), "agent": agent.dialect, "id": self.id,
            "file": carried.file.to_string_lossy(), "sha256": carried.digest,
            "earlier_sha256": carried.earlier_digest,
            "beside": carried.beside.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            "index": self.index.as_ref().map(|path| path.to_string_lossy()),
        });
        write_whole(&record, facts.to_string().as_bytes(), true)?;
        if let Some((folder, home)) = self.folder.as_ref().filter(|(folder, _)| !folder.exists()) {
            self.put_folder(written, folder, home)?;
        } else {
            for (path, content) in &self.beside {
                write_whole(path, content.as_bytes(), earlier.is_some())?;
            }
            copy_whole(written, &carried.file, earlier.is_some())?;
        }
        if let Some(index) = &self.index {
            let cwd = new.cwd.to_string_lossy();
            change_index(index, |dirs| {
                let entry = dirs.iter_mut().find(|entry| entry["path"].as_str() == Some(&*cwd));
                match entry {
                    Some(entry) => entry["last_session_id"] = self.id.as_str().into(),
                    None => dirs.push(json!({"path": cwd, "kaos": "local", "last_session_id": self.id})),
                }
            })?;
        }
        Ok(carried)
    }

    /// Writes the folder of the session under a temporary name in the agent's own folder, and renames it.
    fn put_folder(&self, written: &Path, folder: &Path, home: &Path) -> Result<(), CarryError> {
        let failed = |error| CarryError::File(folder.to_owned(), error);
        fs::create_dir_all(home).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        let made = builder.prefix(TEMPORARY_BEGIN).suffix(TEMPORARY_END).tempdir_in(home).map_err(failed)?;
        let inside = |path: &Path| path.strip_prefix(folder).map(|path| made.path().join(path));
        let outside = |_| failed(io::Error::other("a file of the session is outside its folder"));
        for (path, content) in &self.beside {
            write_whole(&inside(path).map_err(outside)?, content.as_bytes(), false)?;
        }
        copy_whole(written, &inside(&self.file).map_err(outside)?, false)?;
        fs::create_dir_all(folder.parent().unwrap_or(home)).map_err(failed)?;
        // The files in the folder are on disk. A folder that another command has put there meanwhile is not empty, and stays.
        fs::rename(made.path(), folder).map_err(failed)?;
        let _ = made.keep();
        Ok(())
    }
}

/// The folders of a session alone, at most.
const DEEPEST_FOLDER: usize = 3;

fn record_path(environment: &Environment, agent: &str, id: &str) -> Option<PathBuf> {
    Some(carried_folder(environment)?.join(format!("{agent}-{id}.json")))
}

/// Changes the list of directories in the index of Kimi CLI.
fn change_index(path: &Path, change: impl FnOnce(&mut Vec<Value>)) -> Result<(), CarryError> {
    let mut index = match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| CarryError::Index(path.to_owned()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => json!({}),
        Err(error) => return Err(CarryError::File(path.to_owned(), error)),
    };
    let unknown = || CarryError::Index(path.to_owned());
    let members = index.as_object_mut().ok_or_else(unknown)?;
    change(members.entry("work_dirs").or_insert_with(|| json!([])).as_array_mut().ok_or_else(unknown)?);
    write_whole(path, index.to_string().as_bytes(), true)
}

/// Copies a file whole or not at all.
fn copy_whole(from: &Path, to: &Path, replace: bool) -> Result<(), CarryError> {
    let mut source = fs::File::open(from).map_err(|error| CarryError::File(from.to_owned(), error))?;
    make_whole(to, replace, |file| io::copy(&mut source, file).map(drop))
}

/// Writes a file whole or not at all.
fn write_whole(path: &Path, bytes: &[u8], replace: bool) -> Result<(), CarryError> {
    make_whole(path, replace, |file| file.write_all(bytes))
}

/// Makes a file that is whole or not there, readable by the user alone. An existing file is replaced only if the caller says so.
fn make_whole(
    path: &Path,
    replace: bool,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), CarryError> {
    let failed = |error| CarryError::File(path.to_owned(), error);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    let mut file =
        builder.prefix(TEMPORARY_BEGIN).suffix(TEMPORARY_END).tempfile_in(folder).map_err(failed)?;
    write(file.as_file_mut()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    let persisted = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map(drop).map_err(|error| failed(error.error))
}
