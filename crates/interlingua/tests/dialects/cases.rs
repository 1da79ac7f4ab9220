//! Cases as data: each file in `tests/cases` holds conversions with their input, output and report, and this runner
//! compares them. `docs/testing.md` describes the form of the files. `INTERLINGUA_BLESS=1` writes the outputs and the
//! reports anew; `INTERLINGUA_CASE=TEXT` runs only the cases with this text in their names.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads its cases, and fails if it cannot"
)]

use std::fmt::Write as _;
use std::path::Path;

use interlingua::dialects::{Dialect, Options};
use interlingua::framing::Framing;
use interlingua::ledger::{Report, Row};
use interlingua::pipe::Pipe;
use interlingua::wire::backends::{Backend, SharedBackend};
use serde_json::{Deserializer, Value};

use crate::sdk_user::folded;
use crate::support::{Outcome, Way, fixture_root};

/// The widest line of JSON that a blessed file has, if the JSON can be cut.
const WIDTH: usize = 116;

/// The mark of an output that is not compared, and of losses and notes that a case leaves out.
const ANY: &str = "...";

#[test]
fn every_case_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let is_blessing = std::env::var_os("INTERLINGUA_BLESS").is_some();
    let (mut faults, mut compared) = (Vec::new(), 0);
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut sections = sections(&text);
        for fault in run(&mut sections, &mut compared) {
            faults.push(format!("{}: {fault}", path.file_name().unwrap().display()));
        }
        if is_blessing {
            std::fs::write(&path, written(&sections)).unwrap();
        }
    }
    assert!(compared > 0, "no case was found");
    let hint = "hint: `INTERLINGUA_BLESS=1 cargo test -p interlingua-tests --test dialects cases` writes the outputs anew";
    assert!(is_blessing || faults.is_empty(), "{}\n{hint}", faults.join("\n\n"));
}

/// A line of a file, with the indented lines and the lines of a report below it.
#[derive(Default)]
struct Section {
    head: String,
    block: String,
    report: Vec<String>,
}

/// The word and the target of a conversion: `to` converts the input, `then` converts the last output.
fn conversion(head: &str) -> Option<(&str, &str)> {
    head.split_once(' ').filter(|(word, _)| matches!(*word, "to" | "then"))
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        let is_report =
            ["report ", "lost ", "note ", "problem ", ANY].iter().any(|word| line.starts_with(word));
        match sections.last_mut() {
            Some(last) if line.starts_with("    ") => {
                writeln!(last.block, "{}", &line[4..]).unwrap();
            }
            Some(last) if is_report => last.report.push(line.to_owned()),
            _ => sections.push(Section { head: line.to_owned(), ..Section::default() }),
        }
    }
    sections
}

fn written(sections: &[Section]) -> String {
    let mut text = String::new();
    for Section { head, block, report } in sections {
        writeln!(text, "{head}").unwrap();
        for line in block.lines() {
            writeln!(text, "    {line}").unwrap();
        }
        for line in report {
            writeln!(text, "{line}").unwrap();
        }
    }
    text
}

/// Runs the conversions of a file, returns the differences and replaces the expectations by the results.
fn run(sections: &mut [Section], compared: &mut usize) -> Vec<String> {
    let mut faults = Vec::new();
    let mut case = String::new();
    let wanted = std::env::var("INTERLINGUA_CASE").unwrap_or_default();
    // The input of the example, and the last output.
    let mut input: Option<(Way, Vec<u8>)> = None;
    let mut last: Option<(Way, Vec<u8>)> = None;
    for section in sections {
        if let Some(name) = section.head.strip_prefix("== ") {
            name.clone_into(&mut case);
        }
        if !case.contains(&wanted) {
            continue;
        }
        if let Some(head) = section.head.strip_prefix("from ") {
            let side = Side::parse(head);
            input = Some((side.way, side.input(&section.block)));
            last = None;
            section.block = canonical(&section.block);
        } else if let Some((word, head)) = conversion(&section.head) {
            let side = Side::parse(head);
            let source = if word == "to" { &input } else { &last };
            let (from, bytes) = source.as_ref().unwrap_or_else(|| panic!("{case}: `{word}` has no input"));
            let Outcome { bytes: output, report } = side.convert(*from, bytes, &case);
            let block = side.block(&section.block, &output);
            let lines = report_lines(&section.report, &report);
            let place = format!("{case}, {head}");
            let reports = (section.report.join("\n"), lines.join("\n"));
            for (expected, got) in [(&canonical(&section.block), &block), (&reports.0, &reports.1)] {
                if expected != got {
                    faults.push(format!("{place}\n{}", difference(expected, got)));
                }
            }
            (section.block, section.report) = (block, lines);
            last = Some((side.way, output));
            *compared += 1;
        } else {
            assert!(
                section.head.is_empty() || section.head.starts_with(['#', '=']),
                "{case}: `{}`",
                section.head
            );
        }
    }
    faults
}

/// The block as a blessed file has it.
fn canonical(block: &str) -> String {
    let line = |expectation: String| match expectation.split_once(" = ") {
        Some((place, value)) => expected_value(place, &documents(value)[0]) + "\n",
        None => expectation + "\n",
    };
    match block {
        _ if block.trim() == ANY => block.to_owned(),
        _ if is_partial(block) => expectations(block).into_iter().map(line).collect(),
        _ => documents(block).iter().map(|document| layout(document, "") + "\n").collect(),
    }
}

/// Whether a block has expectations about parts of an output instead of the whole output.
fn is_partial(block: &str) -> bool {
    block.starts_with('/') || block.starts_with("has ") || block.starts_with("lacks ")
}

/// The lines that only one of two texts has.
fn difference(expected: &str, got: &str) -> String {
    let only = |mark: &'static str, text: &str, other: &str| {
        let lines = text.lines().filter(|line| !other.lines().any(|known| known == *line));
        lines.flat_map(|line| ["  ", mark, " ", line, "\n"]).collect::<String>()
    };
    let found = only("-", expected, got) + &only("+", got, expected);
    if found.is_empty() { format!("  in another order:\n{got}") } else { found }
}

/// The words that a dialect and a role may have after them.
const WORDS: [&str; 8] = ["fixture", "text", "backend", "model", "max-tokens", "raw", "rewritten", "folded"];

/// A dialect and a role, with the words after them.
struct Side<'h> {
    way: Way,
    words: Vec<(&'h str, &'h str)>,
}

impl<'h> Side<'h> {
    fn parse(head: &'h str) -> Self {
        let mut parts = head.split(", ");
        let (dialect, role) =
            parts.next().and_then(|way| way.split_once(' ')).unwrap_or_else(|| panic!("`{head}`"));
        let dialect = Dialect::named(dialect).unwrap_or_else(|| panic!("`{head}`: no such dialect"));
        let spec = dialect.roles.iter().find(|spec| spec.role.word() == role);
        let role = spec.unwrap_or_else(|| panic!("`{head}`: no such role")).role;
        let words: Vec<_> = parts.map(|word| word.split_once(' ').unwrap_or((word, ""))).collect();
        let unknown = words.iter().find(|(word, _)| !WORDS.contains(word));
        assert!(unknown.is_none(), "`{head}`: {unknown:?}");
        Self { way: (dialect, role), words }
    }

    fn word(&self, name: &str) -> Option<&'h str> {
        self.words.iter().find(|(word, _)| *word == name).map(|(_, value)| *value)
    }

    fn framing(&self) -> Framing {
        self.way.0.role(self.way.1).unwrap().framing
    }

    /// The bytes of a source: a fixture, a text, or documents in the framing of the dialect.
    fn input(&self, block: &str) -> Vec<u8> {
        if let Some(name) = self.word("fixture") {
            return std::fs::read(fixture_root(self.way.0).join(name))
                .unwrap_or_else(|_| panic!("no fixture {name}"));
        }
        let documents = documents(block);
        if self.word("text").is_some() {
            return documents[0].as_str().unwrap().into();
        }
        let mut text = String::new();
        for document in &documents {
            let data = document.as_str().map_or_else(|| document.to_string(), str::to_owned);
            let event = document["type"].as_str().filter(|_| self.way.0.name != "gemini");
            match (self.framing(), event) {
                (Framing::Sse | Framing::EventsOrArray, Some(event)) => {
                    write!(text, "event: {event}\ndata: {data}\n\n").unwrap();
                }
                (Framing::Sse | Framing::EventsOrArray, None) => write!(text, "data: {data}\n\n").unwrap(),
                (Framing::Whole, _) => text = data,
                _ => writeln!(text, "{data}").unwrap(),
            }
        }
        text.into_bytes()
    }

    /// Converts to this side, as a whole and in pieces.
    fn convert(&self, from: Way, input: &[u8], case: &str) -> Outcome {
        let mut options = Options::default().with_include_raw(self.word("raw").is_some());
        if let Some(name) = self.word("backend") {
            let backend =
                Backend::named(name, self.way.0.name).unwrap_or_else(|| panic!("no backend {name}"));
            options = options.with_backend(SharedBackend::from(backend));
        }
        options = options.with_model(self.word("model").map(str::to_owned));
        options = options.with_max_tokens(self.word("max-tokens").map(|count| count.parse::<u64>().unwrap()));
        let pipe = || {
            if self.word("rewritten").is_none() {
                return Pipe::new(from, self.way, &options).unwrap();
            }
            let write = self.way.0.role(self.way.1).unwrap().write.as_ref().unwrap();
            Pipe::with_writer_and_support(from, ((write.make)(&options), write.support), &options).unwrap()
        };
        let mut bytes = Vec::new();
        let report = pipe().finish_with(input, &mut bytes);
        assert!(report.adds_up(), "{case}: {report:?}");
        let whole = Outcome { bytes, report };
        let mut pipe = pipe();
        let mut bytes = Vec::new();
        input.chunks(11).for_each(|piece| pipe.push(piece, &mut bytes));
        let pieces = Outcome { report: pipe.finish(&mut bytes), bytes };
        assert!(whole == pieces, "{case}: pieces of 11 bytes have another output");
        whole
    }

    /// The block below this side, with the values of the output.
    fn block(&self, expected: &str, output: &[u8]) -> String {
        let text = std::str::from_utf8(output).unwrap();
        if expected.trim() == ANY {
            return expected.to_owned();
        }
        if self.word("text").is_some() {
            return layout(&Value::from(text), "") + "\n";
        }
        let is_stream = matches!(self.framing(), Framing::Sse | Framing::EventsOrArray);
        let found: Vec<Value> = if self.word("folded").is_some() {
            vec![folded(self.way.0.name, text)]
        } else if is_stream {
            stream_documents(text)
        } else {
            documents(text)
        };
        if !is_partial(expected) {
            return found.iter().map(|document| layout(document, "") + "\n").collect();
        }
        let is_one = self.word("folded").is_some() || self.framing() == Framing::Whole;
        let whole = if is_one { found.into_iter().next().unwrap_or_default() } else { Value::Array(found) };
        expectations(expected).iter().map(|expectation| value_at(expectation, &whole, text) + "\n").collect()
    }
}

fn documents(text: &str) -> Vec<Value> {
    let documents = Deserializer::from_str(text).into_iter();
    documents.map(|document| document.unwrap_or_else(|error| panic!("{error}: {text}"))).collect()
}

/// The documents of a stream; data that is not JSON is a string. An event has the name of the type of its document.
fn stream_documents(text: &str) -> Vec<Value> {
    let mut name = None;
    let mut documents = Vec::new();
    for line in text.lines() {
        if let Some(data) = line.strip_prefix("data: ") {
            let document: Value = serde_json::from_str(data).unwrap_or_else(|_| data.into());
            assert!(name.is_none() || document["type"].as_str() == name, "{name:?}: {document}");
            documents.push(document);
        }
        name = line.strip_prefix("event: ");
    }
    documents
}

/// The expectations about parts of an output. An indented line continues the line before.
fn expectations(block: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in block.lines() {
        match found.last_mut() {
            Some(last) if line.starts_with(' ') => last.push_str(line.trim_start()),
            _ => found.push(line.to_owned()),
        }
    }
    found
}

/// The expectation with the value of the output. `has` and `lacks` stay as they are if they are true.
fn value_at(expectation: &str, whole: &Value, text: &str) -> String {
    let (word, rest) = expectation.split_once(' ').unwrap_or((expectation, ""));
    if matches!(word, "has" | "lacks") {
        let wanted: String = serde_json::from_str(rest).unwrap_or_else(|_| panic!("`{expectation}`"));
        let found = if text.contains(&wanted) { "has" } else { "lacks" };
        return format!("{found} {rest}");
    }
    whole.pointer(word).map_or_else(|| format!("{word} absent"), |found| expected_value(word, found))
}

fn expected_value(place: &str, value: &Value) -> String {
    layout(value, &format!("{place} = "))
}

/// JSON with a space after `,` and `:`. A line that is too wide is cut after a comma.
fn layout(value: &Value, before: &str) -> String {
    let mut text = before.to_owned();
    put(value, 0, &mut text);
    text
}

fn put(value: &Value, indent: usize, text: &mut String) {
    let flat = flat(value);
    if column(text) + flat.chars().count() <= WIDTH {
        text.push_str(&flat);
        return;
    }
    let (open, close, members): (_, _, Vec<(String, &Value)>) = match value {
        Value::Object(members) => {
            let member = |(name, value)| (format!("{}: ", Value::String(String::clone(name))), value);
            ('{', '}', members.iter().map(member).collect())
        }
        Value::Array(elements) => ('[', ']', elements.iter().map(|value| (String::new(), value)).collect()),
        _ => return text.push_str(&flat),
    };
    text.push(open);
    for (number, (name, value)) in members.into_iter().enumerate() {
        let width = name.chars().count() + self::flat(value).chars().count() + 2;
        if number > 0 {
            // A list or an object that fits in no line begins in the line of its name.
            let is_too_wide = indent + 2 + width > WIDTH && (value.is_array() || value.is_object());
            let fits = column(text) + if is_too_wide { name.chars().count() + 40 } else { width } <= WIDTH;
            text.push(',');
            text.push_str(if fits { " " } else { "\n" });
            text.push_str(&" ".repeat(if fits { 0 } else { indent + 2 }));
        }
        text.push_str(&name);
        put(value, indent + 2, text);
    }
    text.push(close);
}

fn column(text: &str) -> usize {
    text.rsplit('\n').next().unwrap_or_default().chars().count()
}

fn flat(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{}: {}", Value::from(name.as_str()), flat(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(flat).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}

/// The report, line by line. After `...`, the lines that the case names and that the report has.
fn report_lines(expected: &[String], report: &Report) -> Vec<String> {
    let Report { framing, leaves, mapped, kept, lost, lost_paths, notes, problems, .. } = report;
    let mut lines = vec![format!("report {leaves} leaves = {mapped} mapped + {kept} kept + {lost} lost")];
    for Row { path, reason, field, count, first, .. } in lost_paths {
        let reason = reason.map(|reason| format!(", {}", reason.word())).unwrap_or_default();
        let field = field.map(|field| format!(", {}", field.word())).unwrap_or_default();
        let place =
            if *framing == Framing::Whole { String::new() } else { format!(", {}", first.name(*framing)) };
        lines.push(format!("lost {count} {path}{reason}{field}{place}"));
    }
    lines.extend(notes.iter().map(|(note, count)| format!("note {count} {note}")));
    for problem in problems {
        lines.push(format!(
            "problem {}, {} {}",
            problem.place.name(*framing),
            problem.code.name(),
            problem.detail
        ));
    }
    if expected.iter().any(|line| line == ANY) {
        lines.retain(|line| expected.contains(line));
        lines.push(ANY.to_owned());
    }
    lines
}
