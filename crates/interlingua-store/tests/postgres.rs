//! The store in PostgreSQL: the suite of the trait.
//!
//! The tests use the server that `INTERLINGUA_TEST_POSTGRES` names (`postgres://user:password@host/database`; the user
//! may create databases), or start a server if its programs are installed. Without both, the tests print that they were
//! skipped.

#![cfg(feature = "postgres")]
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot run has failed, or prints that it was skipped"
)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use interlingua_store::{
    AgentSessionRow, ExchangeRecorder, RecorderSettings, SessionLog, StoreError, StorePlace, open,
};
use postgres::{Client, NoTls};
use support::exchange;
use support::session_suite::{SESSION_SUITE, VERSION_1, version_1_is_migrated};
use support::suite::SUITE;

#[test]
fn postgresql_passes_the_suite() {
    let Some(server) = Server::find() else { return };
    for (number, (name, test)) in SUITE.into_iter().chain(SESSION_SUITE).enumerate() {
        println!("{name}");
        test(&server.new_database(&format!("suite_{number}")));
    }
    a_newer_schema_is_refused(&server);
    sessions_of_an_earlier_version_are_migrated(&server);
    a_closed_connection_is_opened_again(&server);
    connections_are_encrypted_and_checked(&server);
    passwords_are_not_in_messages();
}

fn connections_are_encrypted_and_checked(server: &Server) {
    let Some(own) = server.own.as_ref().filter(|own| own.has_certificate) else {
        println!("skipped: the server has no certificate of these tests");
        return;
    };
    server.new_database("tls");
    let root = own.folder.path().join("root.pem");
    let base = format!("postgres://test@localhost:{}/{}tls", own.port, server.prefix);
    let place = |words: &str| format!("{base}?{words}").parse::<StorePlace>().expect("a place");
    let mut store = open(&place(&format!("sslmode=verify-full&sslrootcert={}", root.display())))
        .expect("an encrypted store");
    store.append(&[exchange("a", 0)]).expect("stored");
    let encrypted =
        "SELECT COUNT(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND datname = $1";
    let mut admin = server.admin();
    let row = admin.query_one(encrypted, &[&format!("{}tls", server.prefix)]).expect("counted");
    assert_eq!(row.get::<_, i64>(0), 1);
    // No root of the web issued the certificate.
    let error = open(&place("sslmode=require")).err().expect("refused");
    assert!(error.to_string().contains("certificate"), "{error}");
    let mut plain = open(&place("sslmode=disable")).expect("a store in the clear");
    assert_eq!(plain.size().expect("counted").exchanges, 1);
    // A certificate for another name.
    let other = format!("postgres://test@127.0.0.1:{}/{}tls?sslmode=require", own.port, server.prefix);
    let other = format!("{other}&sslrootcert={}", root.display()).parse().expect("a place");
    assert!(open(&other).is_err());
}

fn a_newer_schema_is_refused(server: &Server) {
    let place = server.new_database("newer");
    open(&place).expect("created");
    let mut client = Client::connect(&server.address("newer"), NoTls).expect("connects");
    client.batch_execute("UPDATE interlingua.store_meta SET value = 99").expect("changed");
    assert!(matches!(open(&place), Err(StoreError::Newer(99, 1))));
}

fn sessions_of_an_earlier_version_are_migrated(server: &Server) {
    let place = server.new_database("earlier");
    open(&place).expect("created");
    let mut client = Client::connect(&server.address("earlier"), NoTls).expect("connects");
    let tables = VERSION_1.replace("BYTES", "BYTEA");
    client.batch_execute(&format!("SET search_path TO interlingua; {tables}")).expect("created");
    version_1_is_migrated(&place);
}

/// A server that restarts ends its connections.
fn a_closed_connection_is_opened_again(server: &Server) {
    let place = server.new_database("closed");
    let recorder = ExchangeRecorder::open(RecorderSettings::new(place), |trouble| println!("{trouble}"));
    let recorder = recorder.expect("opens");
    let mut client = Client::connect(&server.address("closed"), NoTls).expect("connects");
    for id in ["a", "b", "c"] {
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        client.query(others, &[]).expect("ended");
        assert!(recorder.record(exchange(id, 0)));
        recorder.flush().wait().expect("stored in the second attempt");
    }
    assert_eq!(recorder.counts().stored, 3);
    assert!(recorder.read(|store| store.get("a")).wait().expect("read").is_some());
    drop(recorder);
    let log = SessionLog::open(&server.new_database("closed_sessions")).expect("opens");
    let mut client = Client::connect(&server.address("closed_sessions"), NoTls).expect("connects");
    for id in ["a", "b", "c"] {
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        client.query(others, &[]).expect("ended");
        assert!(
            log.create(AgentSessionRow::new(id, "mock", "{}")).wait().expect("stored in the second attempt")
        );
        assert!(log.session(id).wait().expect("read in the second attempt").is_some());
    }
}

fn passwords_are_not_in_messages() {
    for address in ["postgres://ann:secret@127.0.0.1:1/none", "postgres://ann:secret@[::1/bad"] {
        let place: StorePlace = address.parse().expect("a place");
        let error = open(&place).err().expect("no server");
        assert!(!format!("{error} {error:?} {place:?}").contains("secret"), "{error:?}");
    }
}

/// A server with databases for tests.
struct Server {
    /// The address with `{database}` for the name of a database.
    template: String,
    prefix: String,
    own: Option<OwnServer>,
}

/// A server that the tests started.
struct OwnServer {
    programs: PathBuf,
    port: u16,
    has_certificate: bool,
    folder: tempfile::TempDir,
}

/// Makes the certificate of a server and of its issuer, if the program `openssl` is there.
fn certify(path: &dyn Fn(&str) -> String) -> bool {
    let openssl = Path::new("openssl");
    if Command::new(openssl).arg("version").output().is_err() {
        return false;
    }
    let [root_key, root, key, certificate] = ["root.key", "root.pem", "server.key", "server.pem"].map(path);
    let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-batch"];
    run(openssl, &[&new[..], &["-subj", "/CN=root", "-keyout", &root_key, "-out", &root]].concat());
    let names = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"];
    let signed =
        ["-subj", "/CN=localhost", "-CA", &root, "-CAkey", &root_key, "-keyout", &key, "-out", &certificate];
    run(openssl, &[&new[..], &signed, &names].concat());
    true
}

impl Server {
    fn find() -> Option<Self> {
        let prefix = format!("interlingua_test_{}_", std::process::id());
        if let Ok(address) = std::env::var("INTERLINGUA_TEST_POSTGRES") {
            let (server, _) = address.rsplit_once('/').expect("an address with a database");
            return Some(Self { template: format!("{server}/{{database}}"), prefix, own: None });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let folders = std::env::split_paths(&path).chain(installed.map(|version| version.path().join("bin")));
        let mut found =
            folders.filter(|folder| ["initdb", "pg_ctl"].iter().all(|name| folder.join(name).exists()));
        let Some(programs) = found.next() else {
            println!(
                "skipped: `INTERLINGUA_TEST_POSTGRES` names no server, and `initdb` and `pg_ctl` are not installed"
            );
            return None;
        };
        Some(Self::start(&programs, prefix))
    }

    fn start(programs: &Path, prefix: String) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        if is_root() {
            std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let path = |name: &str| folder.path().join(name).to_str().expect("a path in UTF-8").to_owned();
        let data = path("data");
        let initdb = programs.join("initdb");
        run(&initdb, &["-D", &data, "-U", "test", "--auth=trust", "--no-sync", "-E", "UTF8"]);
        // The port of a listener that is closed again is free.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let mut options =
            format!("-F -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={data}");
        let has_certificate = certify(&path);
        if has_certificate {
            let (key, certificate) = (path("server.key"), path("server.pem"));
            options = format!("{options} -c ssl=on -c ssl_key_file={key} -c ssl_cert_file={certificate}");
        }
        let log = path("log");
        run(&programs.join("pg_ctl"), &["-D", &data, "-o", &options, "-l", &log, "-w", "start"]);
        let socket = data.replace('/', "%2F");
        let template = format!("postgres://test@{socket}:{port}/{{database}}");
        let own = OwnServer { programs: programs.to_owned(), port, has_certificate, folder };
        Self { template, prefix, own: Some(own) }
    }

    fn address(&self, name: &str) -> String {
        self.template.replace("{database}", &format!("{}{name}", self.prefix))
    }

    fn new_database(&self, name: &str) -> StorePlace {
        let mut client = self.admin();
        client.batch_execute(&format!("CREATE DATABASE {}{name}", self.prefix)).expect("created");
        self.address(name).parse().expect("a place")
    }

    fn admin(&self) -> Client {
        Client::connect(&self.template.replace("{database}", "postgres"), NoTls).expect("connects")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            let data = own.folder.path().join("data");
            let data = data.to_str().expect("a path in UTF-8");
            run(&own.programs.join("pg_ctl"), &["-D", data, "-m", "immediate", "-w", "stop"]);
            return;
        }
        let mut client = self.admin();
        let names = client
            .query("SELECT datname FROM pg_database WHERE datname LIKE $1", &[&format!("{}%", self.prefix)]);
        for row in names.expect("listed") {
            let name: String = row.get(0);
            client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).expect("dropped");
        }
    }
}

/// The user without rights: the server refuses to run as root.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

fn run(program: &Path, arguments: &[&str]) {
    use std::os::unix::process::CommandExt as _;

    let mut command = Command::new(program);
    command.args(arguments).current_dir("/").stdout(std::process::Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    // The server inherits the error output of `pg_ctl`, so only other programs may have a pipe.
    let is_server = program.ends_with("pg_ctl");
    let (is_done, errors) = if is_server {
        (command.status().expect("runs").success(), Vec::new())
    } else {
        let output = command.output().expect("runs");
        (output.status.success(), output.stderr)
    };
    assert!(is_done, "{} {arguments:?}: {}", program.display(), String::from_utf8_lossy(&errors));
}
