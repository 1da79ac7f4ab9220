//! `show`: complete outputs for every log in the repository, and malicious logs.
//!
//! `INTERLINGUA_BLESS=1 cargo test --package interlingua-cli --test cli show::` updates the goldens; read the diff.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Dir;
use interlingua::dialects::{DIALECTS, Dialect, Plane};
use pulldown_cmark::{Event, Options, Parser, Tag};

const HOSTILE: &str = include_str!("../fixtures/hostile.jsonl");
const FORMS: [(&str, &str); 3] = [("", "txt"), (" --markdown", "md"), (" --html", "html")];

/// Every log in the repository: dialect, name, file.
fn logs() -> Vec<(&'static str, String, PathBuf)> {
    fixtures(|dialect| dialect.plane == Plane::Log)
}

fn fixtures(of: impl Fn(&Dialect) -> bool) -> Vec<(&'static str, String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures");
    let mut found = Vec::new();
    for dialect in DIALECTS.iter().filter(|dialect| of(dialect)) {
        let mut open = vec![root.join(dialect.folder())];
        while let Some(dir) = open.pop() {
            for entry in
                fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.to_string_lossy()))
            {
                let path = entry.expect("a directory can be listed").path();
                let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                    let version = dir.file_name().expect("it has a name").to_string_lossy().into_owned();
                    found.push((
                        dialect.name,
                        format!("{version}-{}", name.trim_end_matches(".jsonl")),
                        path,
                    ));
                }
            }
        }
    }
    found.sort();
    found
}

/// The page without its style and script, which are separate files.
fn without_assets(page: &str) -> String {
    let cut = |page: &str, tag: &str| {
        let (before, rest) = page.split_once(&format!("<{tag}>")).expect("a page has one");
        let (_, after) = rest.rsplit_once(&format!("</{tag}>")).expect("it ends");
        format!("{before}<{tag}></{tag}>{after}")
    };
    let page = cut(&cut(page, "style"), "script");
    let (before, rest) = page.split_once("script-src ").expect("a page has a policy");
    let (_, after) = rest.split_once(" img-src").expect("it allows pictures");
    format!("{before}img-src{after}")
}

#[test]
fn every_log_of_the_repository_is_shown_as_before() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/show");
    let bless = std::env::var_os("INTERLINGUA_BLESS").is_some();
    let dir = Dir::new("show_goldens");
    // Universal events support every field.
    let shown = fixtures(|dialect| dialect.plane == Plane::Log || dialect.name == "universal");
    let mut cases: Vec<(String, String, Vec<u8>)> = shown
        .into_iter()
        .map(|(dialect, name, path)| (dialect.to_owned(), name, fs::read(path).expect("a log can be read")))
        .collect();
    cases.push(("hostile".to_owned(), "log".to_owned(), HOSTILE.into()));
    let mut wrong = String::new();
    for (dialect, name, bytes) in cases {
        dir.write("log.jsonl", &bytes);
        for (flags, extension) in FORMS {
            let ran = dir.run(&format!("show log.jsonl{flags}"));
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{dialect}/{name}");
            let shown =
                if extension == "html" { without_assets(ran.stdout()) } else { ran.stdout().to_owned() };
            let path = golden.join(format!("{dialect}-{name}.{extension}"));
            if bless {
                fs::create_dir_all(&golden).expect("a directory can be made");
                fs::write(&path, &shown).expect("a golden can be written");
            } else if fs::read_to_string(&path).ok().as_ref() != Some(&shown) {
                let _ = writeln!(wrong, "{}", path.to_string_lossy());
            }
        }
    }
    assert!(wrong.is_empty(), "differs (bless, then read the difference):\n{wrong}");
}

/// The stories of the sessions in a file, without titles, facts and turn numbers: the turns of a file are numbered
/// across its sessions.
fn stories(shown: &str) -> Vec<String> {
    let mut sessions: Vec<Vec<String>> = vec![Vec::new()];
    for line in shown.lines() {
        if line.starts_with("── another session") {
            let story = sessions.last_mut().expect("there is a first session");
            while story.pop().is_some_and(|line| line.is_empty()) {}
            while story.pop().is_some_and(|line| !line.is_empty()) {}
            sessions.push(Vec::new());
            continue;
        }
        let rule = line.strip_prefix("── turn ").map(|rule| rule.trim_start_matches(|c| !"─".contains(c)));
        let line = rule.map_or(line.to_owned(), |rule| format!("turn{}", rule.trim_start_matches('─')));
        // A record gives the session's initial facts only at its end, which adds entries. OpenCode's storage names a
        // session after its first documents, its record before them.
        if line.contains("· now: ") || line.contains("↺ another session") {
            continue;
        }
        let line = line.split(" to entry ").next().unwrap_or_default();
        let line = line.split(" from entry ").next().unwrap_or_default();
        sessions.last_mut().expect("there is a first session").push(line.to_owned());
    }
    sessions.iter().map(|story| story.join("\n").trim().to_owned()).collect()
}

#[test]
fn a_record_tells_the_same_story_as_its_log() {
    for (dialect, name, path) in logs() {
        let dir = Dir::new("show_records");
        dir.write("s.jsonl", fs::read(path).expect("a log can be read"));
        dir.run("convert s.jsonl --to record -o s.json -q").expect(0, "");
        // Facts of the session are above the first rule; the list of hidden entries is below the last empty line.
        let shown = |file: &str| {
            let shown = dir.run(&format!("show {file} --width 90")).stdout().to_owned();
            let (_, story) = shown.split_once("\n── ").unwrap_or(("", ""));
            let (story, _) = story.rsplit_once("\n\n").unwrap_or((story, ""));
            stories(&format!("── {story}"))
        };
        // A source of several sessions becomes several records: `s.json`, `s-2.json` and so on.
        let mut records = vec!["s.json".to_owned()];
        records.extend(
            (2..).map(|number| format!("s-{number}.json")).take_while(|file| dir.files().contains(file)),
        );
        let told: Vec<String> = records.iter().flat_map(|file| shown(file)).collect();
        assert_eq!(told, shown("s.jsonl"), "{dialect}/{name}");
    }
}

#[test]
fn no_control_character_reaches_the_reader() {
    let dir = Dir::new("show_control");
    dir.write("x.jsonl", HOSTILE);
    for (flags, _) in FORMS {
        for full in ["", " --full"] {
            let ran = dir.run(&format!("show x.jsonl{flags}{full}"));
            assert_eq!(ran.code, Some(0));
            let bad = |c: &char| {
                c.is_control() && *c != '\n' && *c != '\t'
                    || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
                    || matches!(
                        c,
                        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{200b}' | '\u{e0000}'..='\u{e007f}'
                    )
            };
            assert_eq!(ran.stdout().chars().find(bad), None, "{flags}{full}");
        }
    }
}

#[test]
fn colours_are_the_only_sequences_and_only_where_they_were_forced() {
    let dir = Dir::new("show_colour");
    dir.write("x.jsonl", HOSTILE);
    let shown = dir.run_where("show x.jsonl", b"", &[("CLICOLOR_FORCE", "1")]);
    let mut rest = shown.stdout();
    assert!(rest.contains('\u{1b}'), "colour was asked for");
    while let Some((_, after)) = rest.split_once('\u{1b}') {
        let end = after.find(|c: char| !matches!(c, '[' | ';' | '0'..='9')).expect("a sequence ends");
        assert!(after.starts_with('[') && after[end..].starts_with('m'), "{:?}", &after[..=end]);
        rest = &after[end..];
    }
    let plain = dir.run_where("show x.jsonl -o x.txt -q", b"", &[("CLICOLOR_FORCE", "1")]);
    plain.expect(0, "");
    assert!(!dir.read("x.txt").contains(&0x1b), "a file has no colours");
}

#[test]
fn a_page_has_no_markup_but_its_own() {
    let dir = Dir::new("show_markup");
    dir.write("x.jsonl", HOSTILE);
    for full in ["", " --full"] {
        let page = dir.run(&format!("show x.jsonl --html{full}"));
        let page = without_assets(page.stdout());
        #[rustfmt::skip]
        let known = [
            "!doctype", "html", "head", "meta", "title", "style", "body", "a", "header", "div", "label", "input", "output",
            "button", "nav", "svg", "rect", "main", "h1", "h2", "dl", "dt", "dd", "details", "summary", "span", "p", "b",
            "code", "pre", "del", "ins", "figure", "figcaption", "img", "table", "tr", "th", "td", "strong", "footer", "ul",
            "li", "dialog", "kbd", "form", "script",
        ];
        #[rustfmt::skip]
        let attributes = [
            "lang", "charset", "http-equiv", "content", "name", "class", "href", "id", "for", "type", "placeholder",
            "autocomplete", "spellcheck", "aria-describedby", "aria-label", "disabled", "role", "aria-pressed",
            "aria-haspopup", "aria-labelledby", "viewBox", "preserveAspectRatio", "tabindex", "data-e", "x", "y",
            "width", "height", "open", "data-echo", "loading", "decoding", "src", "alt", "rel", "method", "html",
        ];
        for tag in page.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("a tag ends");
            let tag = tag.trim_start_matches('/').trim_end_matches('/');
            let mut words = tag.splitn(2, ' ');
            let name = words.next().unwrap_or_default();
            assert!(known.contains(&name), "<{tag}>");
            // Outside quotes, a tag contains only attribute names.
            for (number, piece) in words.next().unwrap_or_default().split('"').enumerate() {
                for word in piece.split_whitespace().filter(|_| number % 2 == 0) {
                    let word = word.trim_end_matches('=');
                    assert!(attributes.contains(&word), "`{word}` in <{tag}>");
                }
            }
            if let Some((_, address)) = tag.split_once("href=\"") {
                let sound = ["#", "https://example.com/", "http://127.0.0.1:9/"];
                assert!(sound.iter().any(|start| address.starts_with(start)), "{tag}");
                assert!(address.starts_with('#') || tag.contains("rel=\"noopener noreferrer\""), "{tag}");
            }
            if let Some((_, source)) = tag.split_once("src=\"") {
                assert!(source.starts_with("data:image/png;base64,iVBOR"), "{tag}");
            }
        }
        assert_eq!(page.matches("<img ").count(), 1);
        assert_eq!(page.matches("<script").count(), 1);
    }
}

#[test]
fn in_markdown_content_is_neither_markup_nor_heading() {
    let dir = Dir::new("show_markdown");
    dir.write("x.jsonl", HOSTILE);
    for full in ["", " --full"] {
        let ran = dir.run(&format!("show x.jsonl --markdown{full}"));
        let mut headings = 0;
        for event in Parser::new_ext(ran.stdout(), Options::all()) {
            match event {
                Event::Html(html) | Event::InlineHtml(html) => panic!("{html}"),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    panic!("{dest_url}")
                }
                Event::Start(Tag::Table(_)) => panic!("a table"),
                Event::Start(Tag::Heading { .. }) => headings += 1,
                _ => {}
            }
        }
        // The title and two turns.
        assert_eq!(headings, 3);
    }
}

const LOG: &str = r#"{"type":"user","uuid":"a","sessionId":"s","message":{"role":"user","content":"hi"},"new":{"x":[1]}}
"#;

#[test]
fn input_and_output_are_as_everywhere() {
    let dir = Dir::new("show_places");
    dir.write("x.jsonl", LOG).write("notes.txt", "hello\n").write("empty", "");
    let from_stdin = dir.run_with("show -", LOG.as_bytes());
    assert_eq!((from_stdin.code, from_stdin.stderr.as_str()), (Some(0), ""));
    assert!(from_stdin.stdout().starts_with("hi\nagent      claude-code\n"), "{}", from_stdin.stdout());
    dir.run("show x.jsonl --html -o x.html").expect(
        0,
        "reading x.jsonl as claude-code (log), detected by lines with `uuid`, `parentUuid` or `sessionId` beside `type`\n\
         writing x.html (HTML)\n",
    );
    assert!(dir.read("x.html").starts_with(b"<!doctype html>"));
    assert_eq!(dir.files(), ["empty", "notes.txt", "x.html", "x.jsonl"]);
    dir.run("show x.jsonl -o ./x.jsonl").expect(
        2,
        "error: `./x.jsonl` is the input itself\nhint: write to another file, or to a directory with `-o DIR`\n",
    );
    dir.run("show none.jsonl").expect(
        1,
        "error: cannot read `none.jsonl`: no such file\nhint: is the path right? `-` reads stdin\n",
    );
    dir.run("show notes.txt").expect(
        1,
        "error: no dialect recognises `notes.txt`\n\
         hint: name the dialect with `--from`; `interlingua dialects` lists them\n",
    );
    dir.run("show empty")
        .expect(1, "error: there is nothing in `empty`\nhint: give a file with content, or pipe one in\n");
    dir.run("show notes.txt --from pi").expect(
        1,
        "error: nothing in `notes.txt` can be read as `pi`\n\
         hint: is it really a file of that dialect? `interlingua check` without `--from` says what it looks like\n",
    );
    assert_eq!(dir.run("show x.jsonl --markdown --html").code, Some(2));
    assert_eq!(dir.run("show x.jsonl --width 10").code, Some(2));
}

#[test]
fn lines_are_as_wide_as_asked_for() {
    use unicode_width::UnicodeWidthStr as _;
    let dir = Dir::new("show_width");
    dir.write("x.jsonl", HOSTILE);
    for width in [40, 60, 100] {
        for full in ["", " --full"] {
            let ran = dir.run(&format!("show x.jsonl --width {width}{full}"));
            for line in ran.stdout().lines() {
                assert!(line.width() <= width, "{} of {width}: {line}", line.width());
            }
        }
    }
}

#[test]
fn agents_below_agents_without_end_are_shown() {
    let dir = Dir::new("show_deep");
    let mut record = String::from(
        r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":["#,
    );
    for depth in 0..5000 {
        let _ = write!(
            record,
            r#"{}{{"type":"tool-call","name":"Task","call-id":"c{depth}","input":{{}},"agent":"g{depth}","parent-call":"c{}"}}"#,
            if depth == 0 { "" } else { "," },
            depth - 1
        );
    }
    record.push_str("]}}");
    dir.write("x.json", &record);
    for (flags, _) in FORMS {
        let ran = dir.run(&format!("show x.json{flags}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert_eq!(ran.stdout().matches("Task").count(), 5000);
        // Nested up to a readable depth, and side by side from there on.
        let deepest = ran.stdout().lines().map(|line| line.matches('┃').count()).max();
        assert!(!flags.is_empty() || deepest == Some(8), "{deepest:?}");
    }
}

#[test]
fn a_result_belongs_to_a_call_of_its_own_session() {
    let dir = Dir::new("show_sessions");
    let line = |session: &str, uuid: &str, author: &str, content: &str| {
        format!(
            r#"{{"type":"{author}","uuid":"{session}{uuid}","sessionId":"{session}","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"{author}","content":{content}}}}}"#
        ) + "\n"
    };
    let call = |command: &str| {
        format!(r#"[{{"type":"tool_use","id":"toolu_1","name":"Bash","input":{{"command":"{command}"}}}}]"#)
    };
    let result =
        |text: &str| format!(r#"[{{"type":"tool_result","tool_use_id":"toolu_1","content":"{text}"}}]"#);
    let [a_call, b_call] = ["a", "b"].map(|session| {
        line(session, "1", "user", "\"go\"")
            + &line(session, "2", "assistant", &call(&format!("run_{session}")))
    });
    let [a_result, b_result] =
        ["a", "b"].map(|session| line(session, "3", "user", &result(&format!("from_{session}"))));
    // In every order of the lines, with each session in its own order.
    for log in [
        [&a_call, &b_call, &a_result, &b_result],
        [&a_call, &b_call, &b_result, &a_result],
        [&a_call, &a_result, &b_call, &b_result],
    ] {
        dir.write("x.jsonl", log.map(String::as_str).concat());
        let shown = dir.run("show x.jsonl").stdout().to_owned();
        for session in ["a", "b"] {
            let line = shown.lines().find(|line| line.contains(&format!("run_{session}"))).expect("shown");
            assert!(line.contains(&format!("from_{session}")), "{shown}");
        }
    }
    // A result in another session than the call is not its result.
    dir.write("x.jsonl", format!("{a_call}{b_result}"));
    let shown = dir.run("show x.jsonl").stdout().to_owned();
    let line = shown.lines().find(|line| line.contains("run_a")).expect("shown");
    assert!(line.contains("no result") && shown.contains("from_b"), "{shown}");
}
