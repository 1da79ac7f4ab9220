//! Keys, signatures, proofs and redaction, tested through the command.

use crate::support;
use crate::support::Dir;

/// A folder with a key pair, a record of three messages and its signatures.
fn signed_dir(test: &str) -> Dir {
    let dir = Dir::new(test);
    dir.write("log.jsonl", support::log(3));
    for command in [
        "convert -q log.jsonl --to record -o record.json",
        "keygen ann.key",
        "sign record.json --key ann.key --signer Ann -o attached.cose",
        "sign -q record.json --key ann.key --signer Ann --detached -o detached.cose",
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
    }
    dir
}

fn text(dir: &Dir, name: &str) -> String {
    String::from_utf8_lossy(&dir.read(name)).into_owned()
}

#[test]
fn a_key_pair_is_private_never_replaced_and_never_printed() {
    let dir = Dir::new("keygen");
    for algorithm in ["ed25519", "es256"] {
        let ran = dir.run(&format!("keygen {algorithm}.key --alg {algorithm}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stdout().trim_end().len(), 64);
        let private = text(&dir, &format!("{algorithm}.key"));
        assert!(private.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        assert!(text(&dir, &format!("{algorithm}.key.pub")).starts_with("-----BEGIN PUBLIC KEY-----\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let path = dir.path().join(format!("{algorithm}.key"));
            let mode = std::fs::metadata(path).expect("the key exists").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let again = dir.run(&format!("keygen {algorithm}.key"));
        assert_eq!(again.code, Some(2));
        assert_eq!(text(&dir, &format!("{algorithm}.key")), private);
        // A damaged private key, and a private key in place of a public one: no line of the key is in a message.
        let body = private.lines().nth(1).expect("a key has a second line");
        dir.write("damaged.key", private.replace("-----END", "-----"));
        dir.write("cut.key", private.replacen(&body[8..16], "", 1));
        dir.write("record.json", "{}");
        for command in [
            "sign record.json --key damaged.key --signer x -o out.cose".to_owned(),
            "sign record.json --key cut.key --signer x -o out.cose".to_owned(),
            format!("verify record.json --key {algorithm}.key"),
            format!("sign record.json --key {algorithm}.key --signer x -o out.cose"),
        ] {
            let ran = dir.run(&command);
            assert_eq!(ran.code, Some(1), "{command}");
            let printed = format!("{}{}", ran.stdout(), ran.stderr);
            assert!(!printed.contains(&body[16..32]), "{command}: {printed}");
        }
    }
    // A public key that exists is not replaced either, and no private key is left beside it.
    dir.write("other.key.pub", "mine");
    assert_eq!(dir.run("keygen other.key").code, Some(2));
    assert_eq!(text(&dir, "other.key.pub"), "mine");
    assert!(!dir.path().join("other.key").exists());
}

#[test]
fn both_signatures_are_reported_with_signer_key_and_cover() {
    let dir = signed_dir("sign-verify");
    for command in [
        "verify attached.cose --key ann.key.pub",
        "verify detached.cose --record record.json --key ann.key.pub",
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let size = dir.read("record.json").len();
        for words in [
            ": valid\n",
            "  signature over the exact bytes: holds\n",
            "signed under the name `Ann` for the session `s` at 20",
            &format!("covers all {size} bytes of the record, SHA-256 "),
            "  signature over the tree of entries: holds\n",
            "covers 3 entries and the members around them, root ",
        ] {
            assert!(ran.stdout().contains(words), "{words}: {}", ran.stdout());
        }
    }
}

#[test]
fn a_changed_record_fails_with_code_3_and_no_unverified_value() {
    let dir = signed_dir("changed-record");
    dir.write("changed.json", text(&dir, "record.json").replace("hi 1", "hi 2"));
    let ran = dir.run("verify detached.cose --record changed.json --key ann.key.pub");
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.stdout().contains("exact bytes: does not hold: the bytes of the record are not the signed bytes")
    );
    assert!(
        ran.stdout().contains("tree of entries: does not hold: the entries do not lead to the signed root")
    );
    assert!(!ran.stdout().contains("Ann"), "{}", ran.stdout());
    let ran = dir.run("verify detached.cose --record changed.json --key ann.key.pub --json");
    let json: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("the report is JSON");
    assert_eq!((&json["valid"], &json["bytes"]["status"]), (&false.into(), &"fails".into()));
    assert!(json["bytes"].get("signer").is_none() && json["tree"].get("signer").is_none());
    for (command, reason) in [
        ("verify attached.cose --record record.json --key ann.key.pub", "a second record was given"),
        ("verify detached.cose --key ann.key.pub", "the record was not given"),
        ("verify record.json --key ann.key.pub", "the file is JSON"),
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(3), "{command}");
        assert!(ran.stdout().contains(reason), "{command}: {}", ran.stdout());
    }
    assert_eq!(dir.run("verify nothing.cose --key ann.key.pub").code, Some(1));
    assert_eq!(dir.run("verify attached.cose").code, Some(2));
}

#[test]
fn a_record_is_not_overwritten_by_its_signature() {
    let dir = signed_dir("over-input");
    assert_eq!(dir.run("sign record.json --key ann.key --signer x -o record.json").code, Some(2));
    assert_eq!(dir.run("sign record.json --key ann.key --signer x -o ann.key").code, Some(2));
}

#[test]
fn an_entry_is_proved_without_the_others() {
    let dir = signed_dir("prove");
    let ran = dir.run("prove attached.cose 1 --key ann.key.pub -o entry.proof");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = dir.run("verify entry.proof --proof --key ann.key.pub");
    assert_eq!(ran.code, Some(0), "{}", ran.stdout());
    assert!(ran.stdout().contains("entry 1 is part of the signed record of 3 entries"));
    assert!(ran.stdout().contains("hi 1") && !ran.stdout().contains("hi 0"));
    assert!(!text(&dir, "entry.proof").contains("hi 0"));
    let ran = dir.run("verify attached.cose --proof --key ann.key.pub");
    assert_eq!((ran.code, ran.stdout().contains("not a proof")), (Some(3), true));
    assert_eq!(dir.run("prove attached.cose 3 --key ann.key.pub -o no.proof").code, Some(1));
    assert_eq!(dir.run("prove attached.cose --key ann.key.pub -o no.proof").code, Some(2));
}

#[test]
fn checkpoints_of_a_growing_record_continue_each_other() {
    let dir = Dir::new("checkpoints");
    for (entries, name) in [(2, "old"), (5, "new")] {
        dir.write(&format!("{name}.jsonl"), support::log(entries));
        assert_eq!(dir.run(&format!("convert -q {name}.jsonl --to record -o {name}.json")).code, Some(0));
    }
    for (command, code) in [
        ("keygen ann.key", 0),
        ("sign -q old.json --key ann.key --signer Ann --checkpoint -o old.cose", 0),
        ("sign -q new.json --key ann.key --signer Ann --detached --earlier old.cose -o new.cose", 0),
        ("sign -q old.json --key ann.key --signer Ann --earlier new.cose -o no.cose", 1),
        ("verify new.cose --record new.json --key ann.key.pub --earlier old.cose", 0),
        ("verify old.cose --record old.json --key ann.key.pub --earlier new.cose", 3),
        ("prove new.cose --record new.json --key ann.key.pub --earlier old.cose -o both.proof", 0),
        ("verify both.proof --proof --key ann.key.pub", 0),
        ("verify both.proof --proof --key ann.key.pub --json", 0),
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(code), "{command}: {}{}", ran.stdout(), ran.stderr);
    }
}

#[test]
fn a_redacted_record_keeps_its_tree_head_and_shows_its_gaps() {
    let dir = signed_dir("redact");
    let ran = dir.run(
        "redact attached.cose --key ann.key.pub --entry 0 2 --path /session/entries/1/content -o red.json",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("removed 2 entries, and 1 parts of other entries"), "{}", ran.stderr);
    for file in ["red.json", "red.json.cose"] {
        for gone in ["hi 0", "hi 1", "hi 2"] {
            assert!(!text(&dir, file).contains(gone), "{file}: {gone}");
        }
    }
    let ran = dir.run("verify red.json.cose --record red.json --key ann.key.pub");
    assert_eq!(ran.code, Some(0), "{}", ran.stdout());
    assert!(ran.stdout().contains("exact bytes: none"), "{}", ran.stdout());
    assert!(ran.stdout().contains("entry 0, entry 1 `content`, entry 2"), "{}", ran.stdout());
    let ran = dir.run("redact attached.cose --key ann.key.pub --entry 9 -o no.json");
    assert_eq!(ran.code, Some(1));
    assert!(!dir.path().join("no.json").exists());
    assert_eq!(dir.run("redact attached.cose --key ann.key.pub --path /id -o no.json").code, Some(2));
    assert_eq!(dir.run("redact attached.cose --key ann.key.pub -o no.json").code, Some(2));
}

#[test]
fn secrets_are_removed_by_built_in_and_own_rules() {
    let dir = Dir::new("secrets");
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let log =
        support::log(3).replace("hi 1", &format!("key {secret}")).replace("hi 2", "id acme_0123456789abcdef");
    dir.write("log.jsonl", log);
    dir.write(
        "rules.toml",
        "[[rule]]\nclass = \"acme\"\nbeginning = \"acme_\"\ncharacters = \"hex\"\nleast = 16\n",
    );
    dir.write("bad.toml", "[[rule]]\nclass = 1\n");
    for command in [
        "convert -q log.jsonl --to record -o record.json",
        "keygen ann.key",
        "sign -q record.json --key ann.key --signer Ann -o r.cose",
    ] {
        assert_eq!(dir.run(command).code, Some(0), "{command}");
    }
    let ran = dir.run("redact r.cose --key ann.key.pub --rule secrets --rules rules.toml -o red.json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("entry 1 `content`, entry 2 `content`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("secrets of the class acme: 1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("secrets of the class github-token: 1"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(&secret) && !text(&dir, "red.json").contains(&secret));
    assert!(text(&dir, "red.json").contains("hi 0"));
    assert_eq!(
        dir.run("redact r.cose --key ann.key.pub --rule secrets --rules bad.toml -o no.json").code,
        Some(1)
    );
}

#[test]
fn the_page_names_signer_clock_cover_and_gaps_and_escapes_all_of_it() {
    let dir = Dir::new("verify-html");
    dir.write("log.jsonl", support::log(3));
    for command in [
        "convert -q log.jsonl --to record -o record.json",
        "keygen ann.key",
        "sign -q record.json --key ann.key --signer <script>alert(1)</script>&\"' -o r.cose",
        "verify r.cose --key ann.key.pub --html -o whole.html",
        "redact -q r.cose --key ann.key.pub --entry 1 --path /session/entries/2/vendor-ext -o red.json",
        "verify red.json.cose --record red.json --key ann.key.pub --html -o red.html",
        "sign -q record.json --checkpoint --key ann.key --signer Ann -o head.cose",
        "verify head.cose --record record.json --key ann.key.pub --html -o head.html",
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(0), "{command}: {}{}", ran.stdout(), ran.stderr);
    }
    let whole = text(&dir, "whole.html");
    for words in [
        "Valid. All signatures of the file hold: nothing was changed or removed after signing.",
        "<code>r.cose</code>, the signature file: ",
        "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;",
        "by the clock of the signer, which nobody else confirms",
        "Each of the 3 entries of the session <code>s</code>",
        "Nothing: every entry is as it was when it was signed.",
        "default-src 'none'",
    ] {
        assert!(whole.contains(words), "{words}: {whole}");
    }
    let red = text(&dir, "red.html");
    assert!(
        red.contains("Valid. Content was removed after signing") && red.contains("<li>entry 1</li>"),
        "{red}"
    );
    assert!(red.contains("1 of 3 entries, and 1 parts of other entries, were removed"), "{red}");
    assert!(red.contains("entry 2: the original line of the log (<code>vendor-ext</code>)"), "{red}");
    assert!(red.contains("Of the removed content, a hash is covered."), "{red}");
    // The reader can compare the files with those that were verified.
    let bytes = dir.read("red.json");
    let (size, digest) = interlingua_record::signed::digest_of(bytes.as_slice()).expect("bytes are readable");
    let digest = interlingua_record::signed::hex(&digest);
    let record = format!("<code>red.json</code>, the record: {size} bytes, digest <code>{digest}</code>");
    assert!(red.contains(&record), "{red}");
    // Only a signature over the bytes covers the digest of the log.
    assert!(text(&dir, "head.html").contains("Not covered: the member <code>source</code>"));
    assert!(!whole.contains("Not covered"), "{whole}");
    // A changed record: the page names the fault, and no value that no signature covers.
    dir.write("changed.json", text(&dir, "red.json").replace("hi 0", "hi 9"));
    let ran = dir.run("verify red.json.cose --record changed.json --key ann.key.pub --html -o bad.html");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let bad = text(&dir, "bad.html");
    assert!(
        bad.contains("Not valid.") && bad.contains("the entries do not lead to the signed root"),
        "{bad}"
    );
    assert!(!bad.contains("alert(1)"), "{bad}");
    for page in [&whole, &red, &bad] {
        assert!(!page.contains("<script"), "{page}");
    }
    assert_eq!(dir.run("verify r.cose --key ann.key.pub --html").code, Some(2));
    assert_eq!(dir.run("verify r.cose --key ann.key.pub --html -o r.cose").code, Some(2));
}

#[test]
fn a_logged_file_has_a_receipt_that_verifies_without_the_log() {
    let dir = signed_dir("log-append");
    for (command, code) in [
        ("keygen log.key", 0),
        ("keygen other.key", 0),
        ("log append log attached.cose --key log.key --origin example.org/log -o one.cose", 0),
        ("log append log attached.cose --key log.key --origin example.org/log -o two.cose", 0),
        ("log append log attached.cose --key other.key --origin example.org/log -o no.cose", 1),
        ("log append log record.json --key log.key --origin example.org/log -o no.cose", 1),
        ("verify two.cose --key ann.key.pub --log-key log.key.pub", 0),
        ("verify two.cose --key ann.key.pub --log-key other.key.pub", 3),
        ("verify attached.cose --key ann.key.pub --log-key log.key.pub", 3),
        ("verify two.cose --key ann.key.pub", 0),
        ("verify two.cose --key ann.key.pub --log-key log.key.pub --html -o page.html", 0),
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(code), "{command}: {}{}", ran.stdout(), ran.stderr);
    }
    let ran = dir.run("verify two.cose --key ann.key.pub --log-key log.key.pub");
    assert!(ran.stdout().contains("number 1 of 2 in the log `example.org/log` at 20"), "{}", ran.stdout());
    let ran = dir.run("verify two.cose --key ann.key.pub --log-key log.key.pub --json");
    let json: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("the report is JSON");
    assert_eq!((&json["valid"], &json["receipts"][0]["index"]), (&true.into(), &1.into()));
    assert!(
        text(&dir, "page.html").contains("Registered in the log <b>example.org/log</b> as number 1 on 20")
    );
}

#[test]
fn a_certificate_is_accepted_with_a_trust_store_and_a_digest_is_signed() {
    let dir = signed_dir("certificates");
    let openssl = |args: &str| {
        let ran =
            std::process::Command::new("openssl").args(args.split(' ')).current_dir(dir.path()).output();
        let ran = ran.expect("openssl runs");
        assert!(ran.status.success(), "{args}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    dir.write("ext.cnf", "basicConstraints=CA:FALSE\n");
    openssl("genpkey -algorithm ed25519 -out root.key");
    openssl("req -x509 -new -key root.key -subj /CN=Root -days 30 -out root.pem");
    openssl("req -new -key ann.key -subj /CN=Ann -out ann.csr");
    openssl(
        "x509 -req -in ann.csr -CA root.pem -CAkey root.key -CAcreateserial -extfile ext.cnf -days 30 -out ann.pem",
    );
    openssl("genpkey -algorithm ed25519 -out wrong.key");
    openssl("req -x509 -new -key wrong.key -subj /CN=Wrong -days 30 -out wrong.pem");
    for (command, code, words) in [
        ("sign record.json --key ann.key --signer Ann --chain ann.pem --digest -o c.cose", 0, ""),
        ("sign -q record.json --key ann.key --signer Ann --chain wrong.pem -o no.cose", 1, ""),
        (
            "verify c.cose --record record.json --trust root.pem",
            0,
            "certificate: `CN=Ann`, certified by `CN=Root`",
        ),
        ("verify c.cose --record record.json --trust root.pem --json", 0, r#""subject":"CN=Ann""#),
        ("verify c.cose --record record.json --trust wrong.pem", 3, "no certificate of the trust store"),
        ("verify detached.cose --record record.json --trust root.pem", 3, "no certificate chain"),
        ("verify c.cose --record record.json --trust root.pem --key ann.key.pub", 2, ""),
        ("verify c.cose --record record.json --trust record.json", 1, ""),
        ("verify c.cose --record record.json --trust root.pem --html -o page.html", 0, ""),
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(code), "{command}: {}{}", ran.stdout(), ran.stderr);
        assert!(ran.stdout().contains(words), "{command}: {}", ran.stdout());
    }
    assert!(text(&dir, "page.html").contains("certifies the key as that of <b>CN=Ann</b>"));
}

#[test]
fn show_marks_what_is_signed_removed_or_unverified() {
    let dir = signed_dir("marks");
    let unsigned = dir.run("show record.json");
    assert!(unsigned.stdout().contains("signature  not verified"), "{}", unsigned.stdout());
    let log = dir.run("show log.jsonl");
    assert!(!log.stdout().contains("signature"), "{}", log.stdout());
    for file in ["attached.cose", "detached.cose"] {
        let shown =
            dir.run(&format!("show record.json --signature {file} --key ann.key.pub")).stdout().to_owned();
        assert!(shown.contains("signature  the exact bytes are signed by Ann"), "{file}: {shown}");
        assert!(shown.contains("signature  the tree of 3 entries is signed by Ann"), "{file}: {shown}");
    }
    let ran = dir.run("redact attached.cose --key ann.key.pub --entry 1 --everywhere -o redacted.json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let command = "show redacted.json --signature redacted.json.cose --key ann.key.pub";
    let shown = dir.run(command).stdout().to_owned();
    assert!(shown.contains("redacted: content was removed here"), "{shown}");
    assert!(shown.contains("removed, with a signed hash in their place: entry 1"), "{shown}");
    let page = dir.run(&format!("{command} --html")).stdout().to_owned();
    assert!(page.contains("content was removed here") && page.contains("signed by Ann"), "{page}");
    // Another record beside the signature is never shown as signed.
    dir.write("forged.json", text(&dir, "record.json").replacen("\"id\":", "\"id\" :", 1));
    let forged = dir.run("show forged.json --signature attached.cose --key ann.key.pub").stdout().to_owned();
    assert!(forged.contains("signature  NOT VALID over the bytes"), "{forged}");
    assert!(!forged.contains("bytes are signed by"), "{forged}");
    assert_eq!(dir.run("show log.jsonl --signature attached.cose --key ann.key.pub").code, Some(2));
}
