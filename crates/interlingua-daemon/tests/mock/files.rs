//! Files, and the models of agents.

use bytes::Bytes;
use http::Method;
use interlingua_daemon::{ApiBody, ApiRequest};
use serde_json::{Value, json};

use crate::support::Host;

/// A daemon that may use one folder, with a file, a folder and links.
async fn host() -> Host {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir_all(root.join("inner")).unwrap();
    std::fs::write(root.join("inner/a.txt"), "text of a").unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path().join("secret"), root.join("out")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("missing"), root.join("dangling")).unwrap();
        std::os::unix::fs::symlink(folder.path(), root.join("up")).unwrap();
        std::os::unix::fs::symlink(root.join("inner"), root.join("alias")).unwrap();
    }
    let real = root.canonicalize().unwrap();
    let daemon = crate::support::open_with(&folder, |settings| settings.roots.push(real)).await;
    Host { daemon, folder }
}

/// The status of a request, and the kind of its problem.
async fn status(host: &Host, method: Method, path: &str) -> (u16, String) {
    let (status, body) = host.call(method, path, None).await;
    let kind = body["type"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default();
    (status, kind.to_owned())
}

async fn write(host: &Host, path: &str, bytes: &'static [u8]) -> (u16, Value) {
    let mut request = ApiRequest::new(Method::PUT, format!("/v1/fs/file?path={path}"));
    request.body = Bytes::from_static(bytes);
    host.ask(request).await
}

async fn read(host: &Host, path: &str) -> Bytes {
    let answer = host.daemon.answer(ApiRequest::new(Method::GET, format!("/v1/fs/file?path={path}"))).await;
    assert_eq!((answer.status, answer.content_type), (200, Some("application/octet-stream")));
    let ApiBody::Whole(body) = answer.body else { panic!("a stream") };
    body
}

#[tokio::test]
async fn list_73_files_are_read_written_moved_and_deleted() {
    let host = host().await;
    let (_, entries) = host.get("/v1/fs/entries?path=inner").await;
    assert_eq!(entries[0]["name"], "a.txt");
    assert_eq!((&entries[0]["entryType"], &entries[0]["size"]), (&json!("file"), &json!(9)));
    assert_eq!(read(&host, "inner/a.txt").await, "text of a");
    let (status_of, written) = write(&host, "new/folder/b%20c.bin", b"\0\xff").await;
    assert_eq!((status_of, &written["bytesWritten"]), (200, &json!(2)));
    assert_eq!(&read(&host, "new/folder/b+c.bin").await[..], b"\0\xff");
    let (_, stat) = host.get("/v1/fs/stat?path=new/folder").await;
    assert_eq!(stat["entryType"], "directory");
    let (code, moved) =
        host.post("/v1/fs/move", json!({ "from": "new/folder/b c.bin", "to": "b.bin" })).await;
    assert_eq!(code, 200, "{moved}");
    let onto = json!({ "from": "b.bin", "to": "inner/a.txt" });
    assert_eq!(host.post("/v1/fs/move", onto.clone()).await.0, 409);
    let mut over = onto;
    over["overwrite"] = true.into();
    assert_eq!(host.post("/v1/fs/move", over).await.0, 200);
    assert_eq!(&read(&host, "inner/a.txt").await[..], b"\0\xff");
    assert_eq!(host.call(Method::POST, "/v1/fs/mkdir?path=x/y/z", None).await.0, 200);
    assert_eq!(status(&host, Method::DELETE, "/v1/fs/entry?path=x").await, (409, "entry_exists".to_owned()));
    assert_eq!(status(&host, Method::DELETE, "/v1/fs/entry?path=x&recursive=true").await.0, 200);
    assert_eq!(status(&host, Method::GET, "/v1/fs/stat?path=x").await, (404, "not_found".to_owned()));
    let root = host.folder.path().join("root");
    host.create_with("s", json!({ "directory": root.join("inner") })).await;
    let (code, stat) = host.get("/v1/fs/stat?path=a.txt&session_id=s").await;
    assert_eq!((code, &stat["size"]), (200, &json!(2)));
    assert_eq!(status(&host, Method::GET, "/v1/fs/stat?path=a.txt&session_id=none").await.0, 404);
}

#[tokio::test]
async fn list_71_73_files_outside_the_allowed_folders_are_refused() {
    let host = host().await;
    let outside = host.folder.path().join("secret");
    for path in ["..", "../secret", "inner/../../secret", "inner%2F..%2F..%2Fsecret", "", "a%00b"] {
        for (method, route) in [
            (Method::GET, "file"),
            (Method::GET, "stat"),
            (Method::GET, "entries"),
            (Method::DELETE, "entry"),
        ] {
            let asked = format!("/v1/fs/{route}?path={path}");
            assert_eq!(status(&host, method, &asked).await, (400, "invalid_request".to_owned()), "{asked}");
        }
        assert_eq!(write(&host, path, b"x").await.0, 400, "{path}");
    }
    let mut refused = vec!["/etc/passwd".to_owned(), outside.to_str().unwrap().to_owned()];
    if cfg!(unix) {
        refused.extend(["out", "up/secret", "dangling", "dangling/x"].map(str::to_owned));
    }
    for path in &refused {
        let asked = format!("/v1/fs/file?path={path}");
        assert_eq!(status(&host, Method::GET, &asked).await, (403, "permission_denied".to_owned()), "{path}");
        assert_eq!(write(&host, path, b"x").await.0, 403, "{path}");
    }
    assert_eq!(std::fs::read(&outside).unwrap(), b"secret");
    assert!(!host.folder.path().join("missing").exists());
    assert_eq!(status(&host, Method::GET, "/v1/fs/file").await.0, 400);
    assert_eq!(status(&host, Method::GET, "/v1/fs/file?path=none").await.0, 404);
    let root = host.folder.path().join("root");
    let asked = format!("/v1/fs/entry?recursive=true&path={}", root.display());
    assert_eq!(status(&host, Method::DELETE, &asked).await.0, 403, "the folder itself stays");
    for (from, to) in [("inner", "/tmp/elsewhere"), ("../secret", "inner/s"), ("inner", "up/inner")] {
        let code = host.post("/v1/fs/move", json!({ "from": from, "to": to })).await.0;
        assert!(code == 400 || code == 403, "{from} to {to}: {code}");
    }
    // The deletion of a link deletes the link.
    #[cfg(unix)]
    {
        assert_eq!(status(&host, Method::DELETE, "/v1/fs/entry?path=alias&recursive=true").await.0, 200);
        assert_eq!(status(&host, Method::DELETE, "/v1/fs/entry?path=out").await.0, 200);
        assert!(root.join("inner/a.txt").exists() && outside.exists());
    }
    let open = Host::new().await;
    let asked = "/v1/fs/entries?path=/tmp";
    assert_eq!(status(&open, Method::GET, asked).await, (403, "permission_denied".to_owned()));
}

#[tokio::test]
async fn models_are_those_of_the_agents_vendor() {
    let host = Host::new().await;
    let (_, mock) = host.get("/v1/agents/mock/models").await;
    assert_eq!(mock, json!({ "models": [{ "id": "mock-model" }], "defaultModel": "mock-model" }));
    for (agent, start) in [("claude", "claude"), ("gemini", "gem"), ("kimi", "")] {
        let (_, list) = host.get(&format!("/v1/agents/{agent}/models")).await;
        let models = list["models"].as_array().unwrap();
        assert!(!models.is_empty(), "{agent}");
        assert!(models.iter().all(|model| model["id"].as_str().unwrap().starts_with(start)), "{list}");
    }
    let (_, many) = host.get("/v1/agents/opencode/models").await;
    assert_eq!(many, json!({ "models": [] }));
    assert_eq!(host.get("/v1/agents/nobody/models").await.0, 400);
}
