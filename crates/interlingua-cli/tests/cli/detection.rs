//! Messages about input with an unclear or unknown dialect. Detection itself is tested in the core.

use std::io::Write as _;

use crate::support::Dir;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Input with the marks of two dialects.
const BOTH: &str = r#"{"model":"m","system":"s","n":1,"messages":[{"role":"user","content":"hi"}]}"#;
/// Input with members that many dialects share.
const WEAK: &str = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
const LOG: &str = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#;

#[test]
fn two_close_candidates_are_a_question() {
    let dir = Dir::new("detection_question");
    dir.write("both.json", BOTH).write("weak.json", WEAK);
    let question = concat!(
        "error: cannot tell what `both.json` is: it could be `openai-chat` or `anthropic`\n",
        "hint: say which with `--from openai-chat` or `--from anthropic`\n",
    );
    for command in
        ["check both.json", "convert both.json --to gemini", "convert both.json --role request --to gemini"]
    {
        dir.run(command).expect(2, question);
    }
    for dialect in ["openai-chat", "anthropic"] {
        let ran = dir.run(&format!("convert both.json --from {dialect} --to gemini -q"));
        assert_eq!((ran.code, ran.stdout().contains("contents")), (Some(0), true), "{}", ran.stderr);
    }
    dir.run("check weak.json").expect(
        2,
        concat!(
            "error: cannot tell what `weak.json` is: it could be `openai-chat`, and much else\n",
            "hint: say so with `--from openai-chat`\n",
        ),
    );
    assert_eq!(dir.run("check weak.json --from openai-chat").code, Some(0));
}

#[test]
fn a_question_about_one_file_does_not_stop_the_others() {
    let dir = Dir::new("detection_question_of_many");
    dir.write("in/both.json", BOTH).write("in/log.jsonl", LOG);
    let ran = dir.run("convert in --to record -o out -v");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("both.json: it could be `openai-chat` or `anthropic`"), "{}", ran.stderr);
    assert!(dir.files().iter().any(|file| file.starts_with("out/log")), "{:?}", dir.files());
}

#[test]
fn what_cannot_be_a_dialect_is_named() {
    let dir = Dir::new("detection_content");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"only a text\n").expect("packed");
    // An uncompressed archive that contains a log.
    let mut tar = vec![0; 257];
    tar.extend(b"ustar\x0000");
    tar.resize(512, 0);
    tar.extend(format!("\n{}", LOG.repeat(20)).bytes());
    let little: Vec<u8> = LOG.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = LOG.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let wide = |bytes: fn(u32) -> [u8; 4]| {
        LOG.chars().flat_map(|letter| bytes(u32::from(letter))).collect::<Vec<u8>>()
    };
    let marked = [b"\xff\xfe", &little[..]].concat();
    let mcp = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let rows: [(&str, &[u8], &str, &str); 17] = [
        ("text.gz", &gzip.finish().expect("packed"), ", unpacked from gzip\n", "`--from`"),
        ("a.bz2", b"BZh91AY&SY", ": it is packed with bzip2, which is not read\n", "`bunzip2`"),
        ("a.xz", b"\xfd7zXZ\0\0\x04", ": it is packed with xz, which is not read\n", "`unxz`"),
        ("a.zip", b"PK\x03\x04\x14\0", ": it is packed with zip, which is not read\n", "`unzip`"),
        ("a.tar", &tar, ": it is packed with tar, which is not read\n", "`tar -x`"),
        ("marked", &marked, ": it is UTF-16, and everything here is UTF-8\n", "`iconv -f UTF-16 -t UTF-8`"),
        ("little", &little, ": it is UTF-16LE,", "`iconv -f UTF-16LE -t UTF-8`"),
        ("big", &big, ": it is UTF-16BE,", "`iconv -f UTF-16BE -t UTF-8`"),
        ("four", &wide(u32::to_le_bytes), ": it is UTF-32LE,", "`iconv -f UTF-32LE -t UTF-8`"),
        ("four-big", &wide(u32::to_be_bytes), ": it is UTF-32BE,", "`iconv -f UTF-32BE -t UTF-8`"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\x01\x02", ": it is not text\n", "`--from`"),
        ("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0", ": it is not text\n", "`--from`"),
        ("zeros", &[0; 64], ": it is not text\n", "`--from`"),
        (
            "mcp.jsonl",
            mcp,
            ": it is JSON-RPC of another protocol, such as MCP, which is not read\n",
            "on disk",
        ),
        ("code.py", b"import os\nprint({'type': 'user'})\n", "`code.py`\n", "`--from`"),
        ("table.csv", b"type,uuid\nuser,x\n", "`table.csv`\n", "`--from`"),
        ("package.json", br#"{"name":"x","type":"module"}"#, "`package.json`\n", "`--from`"),
    ];
    for (name, bytes, said, hint) in rows {
        dir.write(name, bytes);
        let ran = dir.run(&format!("check {name}"));
        assert_eq!(ran.code, Some(1), "{name}: {}{}", ran.stdout(), ran.stderr);
        assert!(ran.stderr.starts_with(&format!("error: no dialect recognises `{name}`")), "{}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains(hint), "{name}: {}", ran.stderr);
    }
}
