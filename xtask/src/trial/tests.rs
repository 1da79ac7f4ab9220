use std::fs;
use std::path::PathBuf;

use interlingua::dialects::{Plane, RoleSpec, WriteSpec};

use super::*;

/// Tests a path and returns the sums and the output.
fn trying(dialect: &'static Dialect, path: &Path) -> (TrialTally, String) {
    let mut out = Vec::new();
    let tally = try_all(dialect, path, &mut out).expect("a path that is there");
    (tally, String::from_utf8(out).expect("text"))
}

fn named(name: &str) -> &'static Dialect {
    Dialect::named(name).expect("registered")
}

fn fixtures(dialect: &Dialect) -> PathBuf {
    crate::root().join("crates/interlingua/fixtures").join(dialect.folder())
}

/// A separate folder for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("interlingua-try-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("writable");
        Self(path)
    }

    fn with(self, name: &str, bytes: &[u8]) -> Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("writable");
        fs::write(path, bytes).expect("writable");
        self
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const LINE: &[u8] =
    br#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}
"#;

#[test]
fn the_fixtures_of_every_log_dialect_come_back() {
    let logs = DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Log);
    let mut dialects = 0;
    for dialect in logs {
        let (tally, said) = trying(dialect, &fixtures(dialect));
        assert!(tally.tried > 0, "{}: no fixture is recognised\n{said}", dialect.name);
        assert_eq!((tally.different, tally.failed, tally.unbalanced), (0, 0, 0), "{said}");
        assert_eq!(tally.lost, 0, "{said}");
        let writes = dialect.role(Role::Log).is_some_and(|spec| spec.write.is_some());
        assert_eq!(if writes { tally.same } else { tally.uncompared }, tally.tried, "{said}");
        assert!(tally.messages + tally.notices.total() > 0, "{said}");
        dialects += 1;
    }
    assert!(dialects > 0);
}

#[test]
fn what_is_no_log_is_read_and_not_compared() {
    for dialect in DIALECTS.iter().filter(|dialect| matches!(dialect.plane, Plane::Wire | Plane::Live)) {
        let (tally, said) = trying(dialect, &fixtures(dialect));
        assert!(tally.tried > 0, "{said}");
        assert_eq!(tally.uncompared, tally.tried, "{said}");
        assert_eq!((tally.failed, tally.unbalanced), (0, 0), "{said}");
    }
}

#[test]
fn files_of_others_are_skipped_and_counted() {
    let folder = Folder::new("others")
        .with(
            "a/codex.jsonl",
            br#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}"#,
        )
        .with("b/claude.jsonl", LINE)
        .with("empty.jsonl", b"")
        .with("notes.txt", b"hello");
    let (tally, said) = trying(named("claude-code"), &folder.0);
    assert_eq!((tally.tried, tally.same, tally.messages), (1, 1, 1), "{said}");
    let skipped: Vec<_> =
        tally.skipped.by_count().into_iter().map(|(what, row)| (what.as_str(), row.first.as_str())).collect();
    let expected =
        [("codex", "a/codex.jsonl"), ("no dialect", "notes.txt"), ("nothing: it is blank", "empty.jsonl")];
    assert_eq!(skipped, expected);
}

#[test]
fn hostile_files_come_back_or_are_skipped() {
    let mut damaged = LINE.to_vec();
    damaged.extend_from_slice(
        b"{\"type\":\"user\", \xff}\n\0\0\0\n{\"a\":\n\r\n\n\"~\"\n{\"type\":\"user\",\"type\":",
    );
    let deep = [LINE, "[".repeat(100_000).as_bytes()].concat();
    let long = [LINE, b"\"", "x".repeat(sniff::HEAD).as_bytes()].concat();
    let folder = Folder::new("hostile")
        .with("damaged.jsonl", &damaged)
        .with("deep.jsonl", &deep)
        .with("long.jsonl", &long)
        .with("noise", &[0xff, 0, 0x80, b'\n', b'{'])
        .with("brackets.json", "[".repeat(sniff::HEAD * 2).as_bytes());
    let (tally, said) = trying(named("claude-code"), &folder.0);
    assert_eq!((tally.tried, tally.same, tally.failed), (3, 3, 0), "{said}");
    assert_eq!(tally.skipped.total(), 2, "{said}");
    assert_eq!(tally.damaged, 6, "{said}");
    assert!(said.contains("damaged.jsonl: line 2, byte 16: not valid UTF-8 (invalid-utf8)"), "{said}");
}

#[test]
fn a_file_that_is_named_is_tried_whatever_it_looks_like() {
    let folder =
        Folder::new("named").with("empty.jsonl", b"").with("notes.txt", b"hello").with("a.jsonl", LINE);
    for name in ["empty.jsonl", "notes.txt", "a.jsonl"] {
        let (tally, said) = trying(named("codex"), &folder.0.join(name));
        assert_eq!((tally.tried, tally.same), (1, 1), "{said}");
    }
    let (_, said) = trying(named("codex"), &folder.0.join("a.jsonl"));
    assert!(said.contains("looks like `claude-code`"), "{said}");
}

#[test]
fn a_dialect_with_another_ones_writer_does_not_give_files_back() {
    let claude = named("claude-code");
    let [RoleSpec { role, framing, read, .. }] = claude.roles else { panic!("one role") };
    let codex = named("codex").role(Role::Log).and_then(|spec| spec.write.as_ref()).expect("it writes");
    let write = Some(WriteSpec { make: codex.make, support: codex.support });
    let roles = Box::leak(Box::new([RoleSpec { role: *role, framing: *framing, read: *read, write }]));
    let mixed: &Dialect = Box::leak(Box::new(Dialect { roles, ..*claude }));
    let folder = Folder::new("different").with("a.jsonl", LINE);
    let (tally, said) = trying(mixed, &folder.0);
    assert_eq!((tally.tried, tally.different), (1, 1), "{said}");
    let expected = "a.jsonl: comes back otherwise from line 1, byte 3 on\n    was  {\"type\":\"user\"";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_panic_is_the_failure_of_one_file() {
    let claude = named("claude-code");
    let [RoleSpec { role, framing, .. }] = claude.roles else { panic!("one role") };
    let read: Option<interlingua::dialects::MakeReader> = Some(|_| panic!("not today"));
    let roles = Box::leak(Box::new([RoleSpec { role: *role, framing: *framing, read, write: None }]));
    let panics: &Dialect = Box::leak(Box::new(Dialect { roles, ..*claude }));
    let folder = Folder::new("panic").with("a.jsonl", LINE).with("b.jsonl", LINE);
    let (tally, said) = trying(panics, &folder.0);
    assert_eq!((tally.tried, tally.failed), (0, 2), "{said}");
    assert!(said.contains("b.jsonl: the conversion panicked: not today"), "{said}");
}

#[test]
fn a_difference_is_shown_on_both_sides_at_the_character_that_differs() {
    let shown = |was: &str, is: &str| {
        let mut compare = Compare { was: was.as_bytes(), same: 0, is: Vec::new() };
        is.as_bytes().chunks(3).for_each(|piece| compare.write(piece));
        compare.difference().map(|Difference { line, byte, was, is }| (line, byte, was.after, is.after))
    };
    let found = |line, byte, was: &str, is: &str| Some((line, byte, was.to_owned(), is.to_owned()));
    assert_eq!(shown("a\nb", "a\nb"), None);
    assert_eq!(shown("a\nbcd", "a\nbxd"), found(2, 1, "cd", "xd"));
    assert_eq!(shown("a\nb", "a\n"), found(2, 0, "b", ""));
    assert_eq!(shown("a", "ab"), found(1, 1, "", "b"));
    // Both characters begin with the byte c3.
    assert_eq!(shown("xä", "xö"), found(1, 1, "ä", "ö"));
}
