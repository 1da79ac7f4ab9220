//! Bulk input: compressed files, directories, patterns, and parallel jobs.

use std::io::Write as _;

use crate::support::Dir;
use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

const LOG: &str = r#"{"type":"user","uuid":"a","sessionId":"s","message":{"role":"user","content":"hi"},"new":{"x":[1]}}
"#;
const OTHER: &str = r#"{"type":"user","uuid":"b","parentUuid":"a","sessionId":"s","message":{"role":"user","content":"ho"}}
"#;

fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes.as_ref()).expect("memory takes everything");
    packer.finish().expect("memory takes everything")
}

fn zstd(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    compress_to_vec(bytes.as_ref(), CompressionLevel::Fastest)
}

/// A zstd frame that decoders skip.
fn skippable(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("short");
    [&[0x53, 0x2a, 0x4d, 0x18], &length.to_le_bytes()[..], bytes].concat()
}

/// A log that is larger than the first read and does not compress to almost nothing.
fn long_log() -> String {
    let mut log = LOG.to_owned();
    let mut state = 1_u64;
    while log.len() < 1 << 20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        log.push_str(&OTHER.replace("ho", &format!("{state:x}")));
    }
    log
}

#[test]
fn compressed_input_is_told_by_its_bytes_and_named_as_its_content() {
    let dir = Dir::new("compressed");
    let log = [LOG, OTHER].concat();
    dir.write("in/plain.jsonl", &log)
        .write("in/a.jsonl.gz", gzip(&log))
        .write("in/b.jsonl.ZST", zstd(&log))
        // The extension is missing or wrong.
        .write("in/c.jsonl", gzip(&log))
        .write("in/d.jsonl.gz", &log)
        .write("in/e", zstd(&log));
    dir.run("convert in --to record -o out")
        .expect(0, "6 files of claude-code (log) became record (log): 12 messages; nothing was lost\nconverted 6 files; 72 leaves: 66 mapped, 6 kept, 0 lost\n");
    let plain = dir.read("out/plain.record.json");
    for name in ["a", "b", "c", "d", "e"] {
        assert!(dir.read(&format!("out/{name}.record.json")) == plain, "{name}");
    }
    // Next to files with the same stem, an output keeps the extension in its name.
    dir.write("in/a.jsonl", &log).write("in/a.json", &log);
    dir.run("convert in --to record -o more -q").expect(0, "");
    let names: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("more/a")).collect();
    assert_eq!(names, ["more/a.jsonl.gz.record.json", "more/a.jsonl.record.json", "more/a.record.json"]);

    let ran = dir.run_with("convert --to record -q", &gzip(&log));
    assert_eq!((ran.stdout, ran.code), (plain, Some(0)));
    let ran = dir.run("check in/a.jsonl.gz");
    assert!(ran.stdout().starts_with("in/a.jsonl.gz: claude-code (log), detected by"), "{}", ran.stdout());
}

#[test]
fn an_input_without_an_id_is_named_after_the_content_of_the_file() {
    let dir = Dir::new("packed_stem");
    let log = LOG.replace(r#""sessionId":"s","#, r#""parentUuid":null,"#);
    dir.write("one.jsonl.gz", gzip(&log));
    let ran = dir.run("convert one.jsonl.gz --to record -q");
    assert!(ran.stdout().ends_with("\"id\":\"one\"}\n"), "{}", ran.stdout());
}

#[test]
fn several_members_and_frames_are_one_input() {
    let dir = Dir::new("members");
    let log = long_log();
    let (one, two) = log.split_at(300_001);
    dir.write("x.jsonl", &log)
        .write("x.gz", [gzip(one), gzip(""), gzip(two)].concat())
        .write("padded.gz", [gzip(one), gzip(two), vec![0; 100_000]].concat())
        .write("x.zst", [skippable(b"about this"), zstd(one), skippable(b""), zstd(two)].concat());
    let plain = dir.run("convert -q x.jsonl --to record --from claude-code").stdout;
    for name in ["x.gz", "padded.gz", "x.zst"] {
        let ran = dir.run(&format!("convert -q {name} --to record"));
        assert_eq!((ran.stderr.as_str(), ran.code), ("", Some(0)), "{name}");
        assert!(ran.stdout == plain, "{name}");
    }
}

#[test]
fn damaged_packing_says_where_and_leaves_nothing_half_written() {
    let dir = Dir::new("damaged_packing");
    let log = long_log();
    for (name, whole) in [("x.gz", gzip(&log)), ("x.zst", zstd(&log))] {
        let word = if name == "x.gz" { "gzip" } else { "zstd" };
        // Cut inside the header, the content and the checksum.
        for cut in [7, 1000, whole.len() / 2, whole.len() - 1] {
            dir.write(name, &whole[..cut]);
            for command in
                ["convert -q --to record -o out.json", "convert -q --to record -o out/", "check -q"]
            {
                let ran = dir.run(&format!("{command} {name}"));
                assert_eq!((ran.stdout(), ran.code), ("", Some(1)), "{cut}");
                let said = format!("error: cannot read `{name}`: its {word} data is cut off at byte ");
                assert!(ran.stderr.starts_with(&said), "{cut}: {}", ran.stderr);
                let hint =
                    format!("\nhint: it was probably copied or written only in part; `{word} -t` tests");
                assert!(ran.stderr.contains(&hint), "{}", ran.stderr);
            }
        }
        // Flip bits at many positions: each run ends with an error or with the unchanged content, never with a panic or
        // silence.
        for at in (4..whole.len()).step_by(whole.len() / 60) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            dir.write(name, &bytes);
            let ran = dir.run(&format!("convert -q {name} --to record -o out.json"));
            match ran.code {
                Some(1) => assert!(ran.stderr.contains(&format!("its {word} data ")), "{at}: {}", ran.stderr),
                // The time and the operating system in gzip's header may change.
                Some(0) => assert!(at < 10, "{at}"),
                other => panic!("{at}: {other:?} {}", ran.stderr),
            }
            let _ = std::fs::remove_file(format!("{}/damaged_packing/out.json", env!("CARGO_TARGET_TMPDIR")));
        }
        let garbage = [whole.clone(), b"garbage".to_vec()].concat();
        dir.write(name, garbage);
        assert_eq!(dir.run(&format!("convert -q {name} --to record -o out.json")).code, Some(1));
    }
    assert_eq!(dir.files(), ["x.gz", "x.zst"]);

    dir.write("y.gz", &gzip(LOG)[..60]);
    dir.run("convert y.gz --to record").expect(
        1,
        "error: cannot read `y.gz`: its gzip data is cut off at byte 60, 28 bytes unpacked\n\
         hint: it was probably copied or written only in part; `gzip -t` tests another copy\n",
    );
    let mut wrong = gzip(LOG);
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    dir.write("y.gz", wrong);
    dir.run("convert y.gz --to record").expect(
        1,
        "error: cannot read `y.gz`: its gzip data cannot be unpacked at byte 102, 100 bytes unpacked: \
         corrupt gzip stream does not have a matching checksum\n\
         hint: `gzip -t` tests it; `gzip -dc` shows what is left of it\n",
    );
    // In a directory, the remaining files are still converted.
    dir.write("in/a.jsonl", LOG).write("in/b.gz", &gzip(LOG)[..60]).write("in/c.jsonl", LOG);
    dir.run("convert in --to record -o out").expect(
        1,
        "2 files of claude-code (log) became record (log): 2 messages; nothing was lost
converted 2 files, failed 1; 12 leaves: 10 mapped, 2 kept, 0 lost
error: cannot read `in/b.gz`: its gzip data is cut off at byte 60, 28 bytes unpacked
hint: it was probably copied or written only in part; `gzip -t` tests another copy
",
    );
}

/// Input that unpacks to a thousand times its size is unpacked chunk by chunk.
#[test]
#[cfg(target_os = "linux")]
fn a_bomb_takes_no_memory() {
    use std::process::Command;
    let dir = Dir::new("bomb");
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    let start = OTHER.replace("ho\"}}\n", "");
    packer.write_all([LOG, &start].concat().as_bytes()).expect("memory takes everything");
    let megabyte = vec![b'a'; 1 << 20];
    for _ in 0..512 {
        packer.write_all(&megabyte).expect("memory takes everything");
    }
    packer.write_all(b"\"}}\n").expect("memory takes everything");
    let bomb = packer.finish().expect("memory takes everything");
    assert!(bomb.len() < 1 << 20);
    dir.write("bomb.gz", bomb);
    for command in ["check", "convert --to record -o /dev/null"] {
        let limited = format!(
            "ulimit -v 131072; exec {} {command} bomb.gz --max-frame 1MiB",
            env!("CARGO_BIN_EXE_interlingua")
        );
        let output = Command::new("sh")
            .args(["-c", &limited])
            .current_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/bomb"))
            .output()
            .expect("the command starts");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("line 2: too large to read (too-large)"), "{said}");
        assert_eq!(output.status.code(), Some(if command == "check" { 3 } else { 0 }), "{said}");
    }
}

#[test]
fn patterns_in_quotes_are_expanded() {
    let dir = Dir::new("patterns");
    dir.write("logs/a.jsonl", LOG)
        .write("logs/2026/b.jsonl", LOG)
        .write("logs/2026/c.jsonl.gz", gzip(LOG))
        .write("logs/2026/notes.txt", "hello\n")
        .write("odd[1].jsonl", LOG);
    dir.run("convert logs/**/*.jsonl --to record -o out -q").expect(0, "");
    dir.run("convert logs/*/* --to record -o two").expect(
        0,
        "2 files of claude-code (log) became record (log): 2 messages; nothing was lost
skipped logs/2026/notes.txt: no dialect recognises it
converted 2 files, skipped 1; 12 leaves: 10 mapped, 2 kept, 0 lost
",
    );
    // A matching directory is walked, and no file is read twice.
    dir.run("convert logs/** logs/*.jsonl logs/a.jsonl --to record -o three -q").expect(0, "");
    let outputs: Vec<String> = dir.files().into_iter().filter(|file| file.contains(".record.")).collect();
    assert_eq!(
        outputs,
        [
            "out/2026/b.record.json",
            "out/a.record.json",
            "three/2026/b.record.json",
            "three/2026/c.record.json",
            "three/a.record.json",
            "two/2026/b.record.json",
            "two/2026/c.record.json",
        ]
    );
    let ran = dir.run("check logs/**/*.jsonl* -v");
    let names: Vec<&str> =
        ran.stdout().lines().filter_map(|line| line.split_once(": claude")).map(|(name, _)| name).collect();
    assert_eq!(names, ["logs/2026/b.jsonl", "logs/2026/c.jsonl.gz", "logs/a.jsonl"]);
    // An existing file is not treated as a pattern, whatever its name.
    assert_eq!(dir.run("check odd[1].jsonl").code, Some(0));

    let hint = "hint: `*` and `?` stay within a name, `**` goes through directories, `[ab]` is one of them\n";
    dir.run("check nowhere/*.jsonl").expect(1, &format!("error: nothing matches `nowhere/*.jsonl`\n{hint}"));
    dir.run("convert logs/[a --to record -o out")
        .expect(2, &format!("error: `logs/[a` is no pattern: character 6: invalid range pattern\n{hint}"));
    dir.run("convert logs/*.jsonl --to record").expect(
        2,
        "error: several inputs need a directory to write to\nhint: name one with `-o DIR`; it is made if need be\n",
    );
}

#[test]
fn a_directory_is_checked_as_a_whole() {
    let dir = Dir::new("check_directory");
    dir.write("in/a.jsonl", LOG)
        .write("in/deep/b.jsonl.gz", gzip([LOG, "{\n"].concat()))
        .write("in/notes.txt", "hello\n");
    let ran = dir.run("check in");
    assert_eq!(ran.stderr, "skipped in/notes.txt: no dialect recognises it\n");
    assert!(ran.stdout().contains("not sound: 2 lines") && ran.stdout().ends_with("1 sound, 1 not sound\n"));
    assert_eq!(ran.code, Some(3));
    let ran = dir.run("check in --json -q");
    assert!(
        ran.stdout().ends_with(concat!(
            r#""skipped":[{"input":"in/notes.txt","error":"no dialect recognises `in/notes.txt`","#,
            r#""hint":"name the dialect with `--from`; `interlingua dialects` lists them"}]}"#,
            "\n"
        )),
        "{}",
        ran.stdout()
    );
    dir.write("none/notes.txt", "hello\n");
    assert_eq!(dir.run("check none").code, Some(1));
}

#[test]
fn the_report_does_not_depend_on_how_many_work_on_it() {
    let dir = Dir::new("jobs");
    for number in 0..40 {
        // Long and short files, sound and damaged files, so that jobs overtake each other.
        let lines = if number % 7 == 0 { 20_000 } else { 1 };
        let torn = if number % 5 == 0 { &OTHER[..30] } else { "" };
        let log = [LOG.repeat(lines).as_str(), torn].concat();
        match number % 3 {
            0 => dir.write(&format!("in/{number}.jsonl"), log),
            1 => dir.write(&format!("in/{number}.jsonl.gz"), gzip(log)),
            _ => dir.write(&format!("in/{number}.zst"), zstd(log)),
        };
    }
    dir.write("in/cut.gz", &gzip(LOG)[..40]).write("in/empty", "");
    let run = |jobs: usize| {
        let _ = std::fs::remove_dir_all(format!("{}/jobs/out", env!("CARGO_TARGET_TMPDIR")));
        let ran = dir.run(&format!("convert in --to record -o out --report report.json -v --jobs {jobs}"));
        assert_eq!(ran.code, Some(1));
        let check = dir.run(&format!("check in -j {jobs}"));
        (ran.stderr, dir.read("report.json"), dir.files(), check.stdout)
    };
    let alone = run(1);
    assert!(alone.0.contains("converted 40 files, skipped 1, failed 1;"), "{}", alone.0);
    for jobs in [2, 7, 64] {
        assert!(run(jobs) == alone, "{jobs}");
    }
    dir.run("convert in --to record -o out --jobs 0").expect(
        2,
        "error: invalid value `0` for `--jobs <N>`: expected 1 to 1024\n\
         hint: `interlingua --help` lists the commands, `interlingua COMMAND --help` their flags\n",
    );
}

/// A number added to an output name never yields the name of another output.
#[test]
fn names_of_outputs_do_not_depend_on_who_comes_first() {
    let dir = Dir::new("numbered");
    dir.write("in/1.jsonl", LOG).write("in/1-2.jsonl", LOG).write("in/1.record.json", LOG);
    dir.run("convert in --to record -o in -q").expect(0, "");
    let all = ["in/1-2.jsonl", "in/1-2.record.json", "in/1-3.record.json", "in/1.jsonl", "in/1.record.json"];
    assert_eq!(dir.files(), [&all[..], &["in/1.record.record.json"]].concat());
}

/// The reports of all files together exceed the memory limit of the command.
#[cfg(unix)]
#[test]
fn memory_does_not_grow_with_the_number_of_files() {
    let dir = Dir::new("bulk_memory");
    let many = std::env::var_os("INTERLINGUA_FULL").is_some();
    let (files, members) = if many { (100_000, 20) } else { (2_000, 600) };
    let odd: Vec<String> = (0..members).map(|member| format!("\"odd member {member}\":{member},")).collect();
    let log = LOG.replacen('{', &format!("{{{}", odd.concat()), 1);
    for file in 0..files {
        dir.write(&format!("in/{}/{file}.jsonl", file / 1000), &log);
    }
    let ran = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -v 131072; exec \"$0\" convert in --to codex -o out --report report.json --jobs 2",
        ])
        .arg(env!("CARGO_BIN_EXE_interlingua"))
        // Address space reserved for threads counts toward the limit, too.
        .env("MALLOC_ARENA_MAX", "1")
        .current_dir(dir.path())
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains(&format!("\nconverted {} files; ", grouped(files))), "{said}");
    let report = dir.read("report.json");
    assert_eq!(report.windows(9).filter(|bytes| bytes == b"{\"input\":").count(), files);
}

/// `1,234`
fn grouped(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}
