//! Recorded calls: receipts, and a process that is killed.

use std::path::{Path, PathBuf};

use interlingua_store::{ListFilter, StorePlace};

use crate::support::{DIALECTS, TestGateway, request};

const SCRIPT: &str = "[[turn]]\ntext = \"answered\"";

fn place(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.db"));
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    path
}

fn config(path: &Path) -> String {
    let mut config = format!("[store]\nplace = '{}'\n", path.display());
    for dialect in DIALECTS {
        config += &format!(
            "[backend.to-{dialect}]\ndialect = \"{dialect}\"\nscript = \"s\"\n[[route]]\nmodel = \"to-{dialect}\"\nbackend = \"to-{dialect}\"\n"
        );
    }
    config
        + "[[client]]\nname = \"one\"\nkey = { value = \"k1\" }\n[[client]]\nname = \"two\"\nkey = { value = \"k2\" }\n"
}

#[test]
fn every_call_has_a_receipt_before_its_answer_ends() {
    let path = place("receipts");
    let gateway = TestGateway::with(&config(&path), SCRIPT);
    let mut ids = Vec::new();
    for client in DIALECTS {
        for (backend, stream) in DIALECTS.into_iter().zip([false, true].into_iter().cycle()) {
            let (post, mut body) = request(client, &format!("to-{backend}"), stream, 0);
            body["unknown_member"] = serde_json::json!(1);
            let head = format!("POST {post} HTTP/1.1\r\nauthorization: Bearer k1");
            let answer = gateway.request(&head, &body.to_string());
            assert_eq!(answer.status, 200, "{client} {backend}: {}", answer.body);
            let id =
                answer.head.split_once("x-interlingua-call: ").unwrap().1.lines().next().unwrap().to_owned();
            let receipt = |key: &str| {
                gateway.request(&format!("GET /v1/receipts/{id} HTTP/1.1\r\nauthorization: Bearer {key}"), "")
            };
            let found = receipt("k1");
            assert_eq!(found.status, 200, "{client} {backend}: {}", found.body);
            assert_eq!(receipt("k2").status, 404, "the receipt is that of another client");
            assert_eq!(receipt("k3").status, 401);
            // The digests are those of the bodies that the client sent and got.
            let files = [("request", body.to_string().into_bytes()), ("returned", answer.body.into_bytes())];
            let findings = interlingua_record::contract::verify(&found.body, &files);
            assert!(findings.is_empty(), "{client} {backend}: {findings:?}");
            if client != backend {
                assert!(found.body.contains("/unknown_member"), "{client} {backend}: {}", found.body);
            }
            ids.push(id);
        }
    }
    // Another connection sees the rows while the gateway runs, as it would after a kill.
    let place: StorePlace = path.to_str().unwrap().parse().unwrap();
    let mut store = interlingua_store::open(&place).unwrap();
    let rows = store.list(&ListFilter::default()).unwrap();
    let mut stored: Vec<String> = rows.into_iter().map(|row| row.id).collect();
    stored.sort();
    ids.sort();
    assert_eq!(stored, ids);
}
