//! Certificate chains: a signature is accepted with a trust store, and each unsound chain is refused with its own reason.
//! The certificates are made by the program `openssl`.

#![allow(clippy::unwrap_used, reason = "a test that cannot run has failed")]

mod forge;

use std::path::{Path, PathBuf};
use std::process::Command;

use forge::Parts;
use interlingua_record::signed::{
    CertificateChain, CertifiedKey, ChainFault, ClockSource, PayloadForm, ProofSource, SignSettings,
    SigningKey, TrustStore, prove_entry, sign, verify, verify_proof,
};

const RECORD: &str = r#"{"version":"3.0.0","id":"r1","session":{"session-id":"s1","entries":[{"type":"user","content":"hello"}],"agent-meta":{"model-id":"m","model-provider":"p"}}}"#;

/// A folder with an authority, an intermediate authority and a signer, for one algorithm.
struct Authority(PathBuf);

const EXTENSIONS: &str = "[ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n[signer]\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n[document]\nbasicConstraints=CA:FALSE\nextendedKeyUsage=1.3.6.1.5.5.7.3.36\n[server]\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n";

impl Authority {
    fn new(name: &str, algorithm: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("certificates-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("ext.cnf"), EXTENSIONS).unwrap();
        let authority = Self(folder);
        for name in ["root", "middle", "ann"] {
            let file = format!("{name}.key");
            authority.openssl(&[&["genpkey", "-out", &file], algorithm].concat());
        }
        let root = ["req", "-x509", "-new", "-key", "root.key", "-subj", "/CN=Example Root", "-days", "3650"];
        authority
            .openssl(&[&root[..], &["-config", "req.cnf", "-extensions", "ca", "-out", "root.pem"]].concat());
        authority.issue("middle", "/CN=Example Middle", "root", "ca", "3650");
        authority.issue("ann", "/O=Example/CN=Ann Example", "middle", "signer", "365");
        authority
    }

    fn openssl(&self, args: &[&str]) {
        std::fs::write(self.0.join("req.cnf"), format!("[req]\ndistinguished_name=dn\n[dn]\n{EXTENSIONS}"))
            .unwrap();
        let ran = Command::new("openssl").args(args).current_dir(&self.0).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// Issues `NAME.pem` for `NAME.key`.
    fn issue(&self, name: &str, subject: &str, issuer: &str, kind: &str, days: &str) {
        let (key, request, out) = (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
        self.openssl(&[
            "req", "-new", "-key", &key, "-subj", subject, "-config", "req.cnf", "-out", &request,
        ]);
        let (ca, ca_key) = (format!("{issuer}.pem"), format!("{issuer}.key"));
        let sign = ["x509", "-req", "-in", &request, "-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial"];
        let rest = ["-extfile", "ext.cnf", "-extensions", kind, "-days", days, "-out", &out];
        self.openssl(&[&sign[..], &rest].concat());
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn chain(&self, names: &[&str]) -> CertificateChain {
        let pem: String = names.iter().map(|name| self.read(name)).collect();
        CertificateChain::from_pem(&pem).unwrap()
    }

    fn trust(&self) -> TrustStore {
        TrustStore::from_pem(&self.read("root.pem")).unwrap()
    }

    fn key(&self) -> SigningKey {
        SigningKey::from_pem(&self.read("ann.key")).unwrap()
    }

    fn signed(&self, chain: &CertificateChain, time: u64) -> Vec<u8> {
        let key = self.key();
        let settings = SignSettings {
            key: &key,
            signer: "Ann",
            time,
            chain: Some(chain),
            payload: PayloadForm::Attached,
            checkpoint: false,
            earlier: None,
        };
        sign(RECORD.as_bytes(), &settings)
            .map(|signed| signed.file)
            .map_err(|fault| fault.to_string())
            .unwrap()
    }
}

const ED25519: &[&str] = &["-algorithm", "ed25519"];
const P256: &[&str] = &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

fn refusal(file: &[u8], trust: &TrustStore, now: u64) -> String {
    CertifiedKey::of_file(file, trust, now).unwrap_err().to_string()
}

#[test]
fn a_chain_to_a_trusted_certificate_is_accepted_for_both_algorithms() {
    for (name, algorithm) in [("ed25519", ED25519), ("p256", P256)] {
        let authority = Authority::new(name, algorithm);
        let file = authority.signed(&authority.chain(&["ann.pem", "middle.pem"]), now());
        let found = CertifiedKey::of_file(&file, &authority.trust(), now()).unwrap();
        assert_eq!(found.subject, "O=Example, CN=Ann Example");
        assert_eq!((found.anchor.as_str(), found.now), ("CN=Example Root", None));
        assert_eq!(found.key, authority.key().public());
        assert!(verify(&file, None, &found.key, None).unwrap().is_sound());
        // A proof carries the chain in its signed head.
        let proof = prove_entry(ProofSource { file: &file, record: None, key: &found.key }, 0).unwrap();
        let certified = CertifiedKey::of_file(&proof, &authority.trust(), now()).unwrap();
        assert!(verify_proof(&proof, &certified.key, None).is_ok());
    }
}

#[test]
fn each_unsound_chain_is_refused_with_its_own_reason() {
    let authority = Authority::new("refusals", ED25519);
    let trust = authority.trust();
    let whole = authority.chain(&["ann.pem", "middle.pem"]);
    let file = authority.signed(&whole, now());
    let unknown = "no certificate of the trust store issued the certificate of the signer";
    assert_eq!(refusal(&authority.signed(&authority.chain(&["ann.pem"]), now()), &trust, now()), unknown);
    let other = Authority::new("refusals-other", ED25519);
    // The other authority has the same names and other keys.
    let reason = "a certificate of the chain is not signed by the key of the issuer that it names";
    assert_eq!(refusal(&file, &other.trust(), now()), reason);
    // The claimed time is before the certificate, and the certificate has expired since.
    let early = refusal(&authority.signed(&whole, 1_000_000_000), &trust, now());
    assert!(
        early.starts_with("a certificate of the chain was not valid at the claimed time of signing"),
        "{early}"
    );
    let late = now() + 400 * 86_400;
    let found = CertifiedKey::of_file(&file, &trust, late).unwrap();
    assert!(matches!(found.now, Some(ChainFault::Expired { clock: ClockSource::Verifier, .. })), "{found:?}");
    let backdated = refusal(&authority.signed(&whole, late), &trust, now());
    assert!(
        backdated.starts_with("a certificate of the chain is expired at the claimed time"),
        "{backdated}"
    );
    // Purposes, and the certificate of an authority.
    authority.issue("ann", "/CN=Ann", "root", "server", "365");
    let purpose = refusal(&authority.signed(&authority.chain(&["ann.pem"]), now()), &trust, now());
    assert_eq!(purpose, "the certificate is for other purposes than the signing of documents");
    authority.issue("ann", "/CN=Ann", "root", "document", "365");
    let file = authority.signed(&authority.chain(&["ann.pem"]), now());
    assert_eq!(CertifiedKey::of_file(&file, &trust, now()).unwrap().subject, "CN=Ann");
    authority.issue("ann", "/CN=Ann", "root", "ca", "365");
    let refused = refusal(&authority.signed(&authority.chain(&["ann.pem"]), now()), &trust, now());
    assert_eq!(refused, "the certificate is that of an authority, and not that of a signer");
    // A signature without a chain, and a chain for another key.
    let key = authority.key();
    let settings = SignSettings {
        key: &key,
        signer: "Ann",
        time: now(),
        chain: None,
        payload: PayloadForm::Attached,
        checkpoint: false,
        earlier: None,
    };
    let bare = sign(RECORD.as_bytes(), &settings).unwrap().file;
    assert_eq!(refusal(&bare, &trust, now()), "the signature carries no certificate chain (`x5chain`)");
    let foreign = other.chain(&["ann.pem", "middle.pem"]);
    let refused = sign(RECORD.as_bytes(), &SignSettings { chain: Some(&foreign), ..settings });
    let reason = "the first certificate is for another key than the signing key";
    assert_eq!(refused.err().unwrap().to_string(), reason);
    // The chain of one signature with the head of another signer.
    let theirs = other.signed(&foreign, now());
    let mixed = Parts::of(&file).with_head(|head| *head = Parts::of(&theirs).head());
    assert_eq!(
        refusal(&mixed, &trust, now()),
        "the signed thumbprint (`x5t`) is that of another certificate"
    );
}

#[test]
fn a_damaged_pem_file_is_refused() {
    assert_eq!(CertificateChain::from_pem("x"), Err(ChainFault::NoPem));
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_eq!(TrustStore::from_pem(damaged).err(), Some(ChainFault::Damaged));
    assert_eq!(CertificateChain::from_pem(damaged).unwrap().key(), Err(ChainFault::Damaged));
    assert_eq!(CertificateChain::from_pem(&damaged.repeat(11)), Err(ChainFault::TooLong));
    assert_eq!(CertificateChain::from_pem("-----BEGIN CERTIFICATE-----\nAA"), Err(ChainFault::Damaged));
}
