//! Chat sessions of VS Code in the form of a log of changes: the first line holds the session, and each further line changes
//! it. The changes are applied as VS Code applies them, and the session is read as one document.
//!
//! ```text
//! {"kind":0,"v":{…}}                                   the session
//! {"kind":1,"k":["customTitle"],"v":"…"}               a value is set
//! {"kind":2,"k":["requests",0,"response"],"v":[…],"i":3}   a list is cut at 3 and extended
//! {"kind":3,"k":["inputState"]}                        a value is deleted
//! ```
//!
//! No value is dropped: a value that a change replaces is in the member `superseded` of the document, and a line that
//! cannot be applied is in `unapplied`.

use std::io::{self, Read};

use interlingua::json::escape_into;
use interlingua::tape::{Kind, Limits, TapeBuf, Val};

/// The first bytes of a log of changes.
pub(crate) const BEGINNING: &[u8] = b"{\"kind\":0,\"v\":{";

/// The longest log whose changes are applied. All changes are needed before the document begins, so the session is in memory.
const LONGEST: u64 = 512 << 20;

/// Reads a log of changes to its end and returns the session as a document. A log whose first line holds no list of requests
/// is returned unchanged.
pub(crate) fn apply(mut log: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    log.by_ref().take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        let why = format!("its log of changes has more than {LONGEST} bytes, the limit");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let mut session = ChangedSession::default();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        session.line(number + 1, line);
        if number == 0 && session.state.as_ref().is_none_or(|state| !state.has_requests()) {
            return Ok(bytes);
        }
    }
    Ok(session.finish().into_bytes())
}

/// A session and the values that changes have replaced.
#[derive(Default)]
struct ChangedSession {
    state: Option<Node>,
    /// Replaced values, as JSON.
    superseded: Vec<String>,
    /// Lines that could not be applied, as JSON.
    unapplied: Vec<String>,
    tape: TapeBuf,
}

impl ChangedSession {
    fn line(&mut self, number: usize, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(line);
        let mut tape = std::mem::take(&mut self.tape);
        let applied = match tape.parse(&text, &Limits::default()) {
            Ok(parsed) => Change::of(parsed.root()).is_some_and(|change| self.apply(number, change)),
            Err(_) => false,
        };
        self.tape = tape;
        if !applied {
            // Bytes that are no text are kept as digits.
            let mut kept = format!("{{\"line\":{number},\"raw\":");
            quote(&text, &mut kept);
            if std::str::from_utf8(line).is_err() {
                let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
                kept.push_str(",\"bytes\":");
                quote(&hex.concat(), &mut kept);
            }
            kept.push('}');
            self.unapplied.push(kept);
        }
    }

    /// Applies a change; returns `false` if the path does not exist.
    fn apply(&mut self, number: usize, change: Change<'_>) -> bool {
        let mut old = Vec::new();
        let (path, applied) = match change {
            Change::Begin(state) => {
                old.extend(self.state.replace(Node::of(state)));
                ("[]", true)
            }
            Change::Set(path, value) => (path.text(), self.set(path, Some(Node::of(value)), &mut old)),
            Change::Delete(path) => (path.text(), self.set(path, None, &mut old)),
            Change::Push { path, values, from } => {
                let values = values.into_iter().flat_map(|values| values.elements()).map(Node::of);
                (path.text(), self.push(path, values.collect(), from, &mut old))
            }
        };
        for value in old {
            let mut kept = format!("{{\"line\":{number},\"k\":{path},\"v\":");
            value.write(&mut kept);
            kept.push('}');
            self.superseded.push(kept);
        }
        applied
    }

    /// Sets the value at a path, or deletes it.
    fn set(&mut self, path: Val<'_>, value: Option<Node>, old: &mut Vec<Node>) -> bool {
        let (steps, Some(target)) = split(path) else { return false };
        let Some(parent) = self.at(&steps) else { return false };
        let replaced = match (parent, &target) {
            (Node::Object(members), Step::Name(name)) => {
                let found = members.iter().position(|(known, _)| known == name);
                match (found.and_then(|at| members.get_mut(at).map(|(_, member)| (at, member))), value) {
                    (Some((_, member)), Some(value)) => Some(std::mem::replace(member, value)),
                    (Some((at, _)), None) => Some(members.remove(at).1),
                    (None, Some(value)) => {
                        members.push((name.clone(), value));
                        None
                    }
                    (None, None) => None,
                }
            }
            // A deleted element leaves a gap, which is `null` in JSON.
            (Node::List(list), Step::Index(at)) => {
                let value = value.unwrap_or_else(|| Node::Leaf("null".to_owned()));
                let length = list.len();
                match list.get_mut(*at) {
                    Some(element) => Some(std::mem::replace(element, value)),
                    None if *at == length => {
                        list.push(value);
                        None
                    }
                    None => return false,
                }
            }
            (Node::Leaf(_) | Node::Object(_) | Node::List(_), _) => return false,
        };
        old.extend(replaced);
        true
    }

    /// Cuts the list at a path and extends it.
    fn push(&mut self, path: Val<'_>, values: Vec<Node>, from: Option<usize>, old: &mut Vec<Node>) -> bool {
        let (mut steps, Some(target)) = split(path) else { return false };
        let Some(Node::Object(members)) = self.at(&steps) else {
            steps.push(target);
            return match self.at(&steps) {
                Some(Node::List(list)) => extend(list, values, from, old),
                _ => false,
            };
        };
        let Step::Name(name) = target else { return false };
        match members.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Node::List(list))) => extend(list, values, from, old),
            // The first values create the list.
            Some((_, member @ Node::Leaf(_))) if member.is_null() => {
                *member = Node::List(values);
                true
            }
            None => {
                members.push((name, Node::List(values)));
                true
            }
            Some(_) => false,
        }
    }

    fn at(&mut self, steps: &[Step]) -> Option<&mut Node> {
        let mut node = self.state.as_mut()?;
        for step in steps {
            node = match (node, step) {
                (Node::Object(members), Step::Name(name)) => {
                    &mut members.iter_mut().find(|(known, _)| known == name)?.1
                }
                (Node::List(list), Step::Index(at)) => list.get_mut(*at)?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// The session as a document.
    fn finish(self) -> String {
        let mut document = String::new();
        let state = self.state.unwrap_or_else(|| Node::Object(Vec::new()));
        let is_empty = matches!(&state, Node::Object(members) if members.is_empty());
        state.write(&mut document);
        let mut is_first = is_empty;
        for (name, list) in [("superseded", self.superseded), ("unapplied", self.unapplied)] {
            if !list.is_empty() {
                document.pop();
                document.push_str(if is_first { "" } else { "," });
                document.extend(["\"", name, "\":[", &list.join(","), "]}"]);
                is_first = false;
            }
        }
        document.push('\n');
        document
    }
}

fn extend(list: &mut Vec<Node>, values: Vec<Node>, from: Option<usize>, old: &mut Vec<Node>) -> bool {
    match from {
        Some(from) if from > list.len() => return false,
        Some(from) => old.extend(list.drain(from..)),
        None => {}
    }
    list.extend(values);
    true
}

/// One line of the log.
#[derive(Clone, Copy)]
enum Change<'t> {
    Begin(Val<'t>),
    Set(Val<'t>, Val<'t>),
    Push { path: Val<'t>, values: Option<Val<'t>>, from: Option<usize> },
    Delete(Val<'t>),
}

impl<'t> Change<'t> {
    fn of(line: Val<'t>) -> Option<Self> {
        let [kind, path, value, from] = line.get_all(["kind", "k", "v", "i"]);
        let path = path.filter(|path| path.kind() == Kind::Array);
        match (kind?.u64()?, path, value) {
            (0, _, Some(state)) if state.kind() == Kind::Object => Some(Change::Begin(state)),
            (1, Some(path), Some(value)) => Some(Change::Set(path, value)),
            (1 | 3, Some(path), None) => Some(Change::Delete(path)),
            (2, Some(path), values) => {
                let is_list = values.is_none_or(|values| values.kind() == Kind::Array);
                let from = from.map(|from| usize::try_from(from.u64()?).ok());
                match from {
                    Some(None) => None,
                    from => is_list.then_some(Change::Push { path, values, from: from.flatten() }),
                }
            }
            _ => None,
        }
    }
}

/// A step of a path.
#[derive(Clone, PartialEq, Eq)]
enum Step {
    /// The name of a member, escaped as in the log.
    Name(String),
    Index(usize),
}

/// The steps to the parent of a path, and the last step.
fn split(path: Val<'_>) -> (Vec<Step>, Option<Step>) {
    let mut steps: Vec<Step> = Vec::new();
    for step in path.elements() {
        match (step.str(), step.u64().and_then(|at| usize::try_from(at).ok())) {
            (Some(name), _) => steps.push(Step::Name(name.as_escaped().to_owned())),
            (None, Some(at)) => steps.push(Step::Index(at)),
            (None, None) => return (Vec::new(), None),
        }
    }
    let last = steps.pop();
    (steps, last)
}

/// A JSON value whose leaves keep their spelling.
enum Node {
    Leaf(String),
    List(Vec<Node>),
    /// The names are escaped.
    Object(Vec<(String, Node)>),
}

impl Node {
    fn of(value: Val<'_>) -> Self {
        match value.kind() {
            Kind::Array => Node::List(value.elements().map(Node::of).collect()),
            Kind::Object => {
                let members =
                    value.members().map(|(name, value)| (name.as_escaped().to_owned(), Node::of(value)));
                Node::Object(members.collect())
            }
            _ => Node::Leaf(value.text().to_owned()),
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Node::Leaf(text) if text == "null")
    }

    fn has_requests(&self) -> bool {
        let Node::Object(members) = self else { return false };
        members.iter().any(|(name, value)| name == "requests" && matches!(value, Node::List(_)))
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Leaf(text) => out.push_str(text),
            Node::List(list) => {
                out.push('[');
                for (at, value) in list.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    value.write(out);
                }
                out.push(']');
            }
            Node::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { ",\"" } else { "\"" });
                    out.push_str(name);
                    out.push_str("\":");
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn quote(plain: &str, out: &mut String) {
    out.push('"');
    escape_into(plain, out);
    out.push('"');
}
