//! `keygen`, `sign`, `verify`, `prove` and `redact`: keys, signatures, proofs and redaction of records.

pub(crate) mod flags;
mod page;
mod scrapi;
mod words;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use interlingua::json::Output;
use interlingua_record::secrets::SecretRules;
use interlingua_record::signed::{
    self, CertificateChain, CertifiedKey, ChainFault, CoseError, KeyError, LogFault, MAX_FILE, PayloadForm,
    ProofSource, PublicKey, ReceiptCheck, RedactPlan, SignSettings, SignatureFault, SigningKey,
    TransparencyLog, TrustStore, hex,
};
use interlingua_report::safe;

use crate::error::{CommandError, Exit};
use crate::outputs::{self, Sink};
use crate::talk::{self, Talk};
use flags::{Keygen, LogCommand, Prove, Redact, RedactRule, Sign, Verify};

/// Makes a key pair.
pub(crate) fn keygen(args: &Keygen) -> Result<Exit, CommandError> {
    let public_file = with_suffix(&args.file, ".pub");
    for file in [&args.file, &public_file] {
        if file.symlink_metadata().is_ok() {
            return Err(CommandError::Exists(file.clone()));
        }
    }
    let pem = SigningKey::generate(args.alg).map_err(|error| key_error(&args.file, error))?;
    let key = SigningKey::from_pem(&pem).map_err(|error| key_error(&args.file, error))?;
    write_new(&args.file, pem.as_bytes(), true)?;
    write_new(&public_file, key.public().to_pem().as_bytes(), false)?;
    talk::text(&format!("{}\n", hex(&key.public().kid())))?;
    Ok(Exit::Done)
}

/// Writes a file that does not exist yet. A private file is readable by its owner only, from its first byte on.
fn write_new(path: &Path, bytes: &[u8], is_private: bool) -> Result<(), CommandError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = is_private;
    let write = || {
        let mut file = options.open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CommandError::Exists(path.to_owned()),
        _ => CommandError::Write(path.to_owned(), error),
    })
}

/// Signs a record.
pub(crate) fn sign(args: &Sign, talk: &Talk) -> Result<Exit, CommandError> {
    let mut read: Vec<&Path> = vec![&args.record, &args.key];
    read.extend(args.earlier.as_deref().into_iter().chain(args.chain.as_deref()));
    outputs::check_places(&[&args.output], &read)?;
    let pem = read_text(&args.key)?;
    let key = SigningKey::from_pem(&pem).map_err(|error| key_error(&args.key, error))?;
    let earlier = args.earlier.as_deref().map(read_file).transpose()?;
    let chain = args
        .chain
        .as_deref()
        .map(|path| CertificateChain::from_pem(&read_text(path)?).map_err(|fault| chain_error(path, &fault)));
    let chain = chain.transpose()?;
    let settings = SignSettings {
        key: &key,
        signer: &args.signer,
        time: now(),
        chain: chain.as_ref(),
        // A service gets the payload, so the payload must not be the record.
        payload: match (args.digest || args.log.is_some(), args.detached || args.checkpoint) {
            (true, _) => PayloadForm::Digest,
            (false, true) => PayloadForm::Detached,
            (false, false) => PayloadForm::Attached,
        },
        checkpoint: args.checkpoint,
        earlier: earlier.as_deref(),
    };
    let record = open(&args.record)?;
    let signed = signed::sign(record, &settings).map_err(|fault| refused(&args.record, &fault))?;
    let file = match &args.log {
        Some(service) => registered(Path::new(service), &args.output, &signed.file, None)?,
        None => signed.file,
    };
    outputs::write_file(&args.output, Some(&args.record), &file)?;
    let mut message = format!(
        "signed {} entries, {} bytes with the key {}\n",
        signed.facts.entries,
        signed.bytes,
        hex(&key.public().kid())
    );
    if signed.by_digest {
        message.push_str("the SHA-256 digest of the record is signed (COSE hash envelope)\n");
    }
    if !signed.has_metadata && !args.checkpoint {
        message.push_str("no trace metadata: the record lacks a time, a session id or a model provider\n");
    }
    if let Some(service) = &args.log {
        for part in ["registered with ", &safe::exact_line(service), "; ", UNVERIFIED, "\n"] {
            message.push_str(part);
        }
    }
    talk.say(&message);
    Ok(Exit::Done)
}

const UNVERIFIED: &str = "`verify --log-key` verifies the receipt";

/// Registers a signature file with a service. Returns the file with the receipt, which is verified if there is a key.
fn registered(
    service: &Path,
    file: &Path,
    bytes: &[u8],
    key: Option<&PublicKey>,
) -> Result<Vec<u8>, CommandError> {
    let name = service.to_string_lossy();
    let statement = signed::statement_of(bytes).map_err(|fault| refused(file, &fault))?;
    let receipt = scrapi::register(&name, statement)
        .map_err(|fault| CommandError::Signature(name.clone().into_owned(), fault.to_string()))?;
    if let Some(key) = key {
        let bare = signed::without_receipts(bytes).map_err(|fault| refused(file, &fault))?;
        let only = signed::add_receipt(&bare, &receipt).map_err(|fault| refused(file, &fault))?;
        let check = signed::verify_receipts(&only, key).map_err(|fault| refused(service, &fault))?;
        if let Some(fault) = check.failing.first() {
            return Err(refused(service, fault));
        }
    }
    signed::add_receipt(bytes, &receipt).map_err(|fault| refused(file, &fault))
}

/// Verifies a signature file or a proof.
pub(crate) fn verify(args: &Verify) -> Result<Exit, CommandError> {
    if let Some(page) = &args.output {
        let read = [&args.record, &args.key, &args.trust, &args.earlier, &args.log_key];
        let mut read: Vec<&Path> = read.into_iter().flatten().map(PathBuf::as_path).collect();
        read.push(&args.file);
        outputs::check_places(&[page], &read)?;
    }
    let file = read_file(&args.file)?;
    let earlier = args.earlier.as_deref().map(read_file).transpose()?;
    let name = safe::path_name(&args.file);
    let certified = match (&args.key, &args.trust) {
        (Some(key), _) => Ok(SignerKey::Given(public_key(key)?)),
        (None, Some(trust)) => {
            let store =
                TrustStore::from_pem(&read_text(trust)?).map_err(|fault| chain_error(trust, &fault))?;
            CertifiedKey::of_file(&file, &store, now()).and_then(|found| match &found.now {
                Some(fault) if !args.accept_expired => Err(fault.clone().into()),
                _ => Ok(SignerKey::Certified(found)),
            })
        }
        // clap requires one of the two.
        (None, None) => Err(SignatureFault::Chain(ChainFault::NoChain)),
    };
    let key = match certified {
        Ok(key) => key,
        Err(fault) => {
            if let Some(page) = &args.output {
                let files = verified_files(&args.file, args.record.as_deref())?;
                let html = page::page(&name, &files, &Err(fault), None, None, now());
                outputs::write_file(page, Some(&args.file), html.as_bytes())?;
                return Ok(Exit::Failed);
            }
            talk::text(&if args.json {
                words::refused_json(&name, &fault)
            } else {
                words::refused(&name, &fault)
            })?;
            return Ok(Exit::Failed);
        }
    };
    if args.proof {
        let result = signed::verify_proof(&file, key.key(), earlier.as_deref());
        talk::text(&if args.json {
            words::proof_json(&name, &result, &key)
        } else {
            words::proof(&name, &result, &key)
        })?;
        return Ok(if result.is_ok() { Exit::Done } else { Exit::Failed });
    }
    let mut record = args.record.as_deref().map(open).transpose()?;
    let record = record.as_mut().map(|record| record as &mut dyn Read);
    let result = signed::verify(&file, record, key.key(), earlier.as_deref());
    let log_key = args.log_key.as_deref().map(public_key).transpose()?;
    let receipts = log_key.and_then(|key| match &result {
        Ok(_) => Some(
            signed::verify_receipts(&file, &key)
                .unwrap_or_else(|fault| ReceiptCheck { holding: Vec::new(), failing: vec![fault] }),
        ),
        Err(_) => None,
    });
    let is_registered = receipts.as_ref().is_none_or(has_receipt);
    if let Some(page) = &args.output {
        let files = verified_files(&args.file, args.record.as_deref())?;
        let html = page::page(&name, &files, &result, Some(&key), receipts.as_ref(), now());
        outputs::write_file(page, Some(&args.file), html.as_bytes())?;
    } else if args.json {
        talk::text(&words::verified_json(&name, &result, &key, receipts.as_ref()))?;
    } else {
        talk::text(&words::verified(&name, &result, &key, receipts.as_ref()))?;
    }
    Ok(match result {
        Ok(verification) if verification.is_sound() && is_registered => Exit::Done,
        Ok(_) | Err(_) => Exit::Failed,
    })
}

/// The signature file, and the record beside it, as files of the page.
fn verified_files(file: &Path, record: Option<&Path>) -> Result<Vec<VerifiedFile>, CommandError> {
    let verified = |path: &Path, role: &'static str| -> Result<VerifiedFile, CommandError> {
        let (size, digest) = signed::digest_of(open(path)?)
            .map_err(|error| CommandError::Read(safe::path_name(path), error))?;
        Ok(VerifiedFile { name: safe::path_name(path), role, size, digest })
    };
    let files = [(Some(file), "the signature file"), (record, "the record")];
    // A pipe cannot be read again.
    let files =
        files.into_iter().filter_map(|(path, role)| Some((path.filter(|path| path.is_file())?, role)));
    files.map(|(path, role)| verified(path, role)).collect()
}

/// A file that the page about a verification names, so that its reader can compare the file.
struct VerifiedFile {
    name: String,
    role: &'static str,
    size: u64,
    digest: signed::Hash,
}

/// The state of the signatures of a record, as lines for people. Only verified values are named.
pub(crate) fn state(file: &Path, record: &Path, key: &Path) -> Result<Vec<String>, CommandError> {
    let (bytes, key) = (read_file(file)?, public_key(key)?);
    let mut opened = open(record)?;
    // An attached signature has its own copy of the record: the shown record must be that one.
    let bytes = signed::detached(&bytes).map_err(|fault| refused(file, &fault))?;
    let result = signed::verify(&bytes, Some(&mut opened), &key, None);
    Ok(words::state(&result))
}

/// Whether a receipt holds with the key of the log, and all receipts that do not hold are those of other logs.
fn has_receipt(check: &ReceiptCheck) -> bool {
    !check.holding.is_empty() && check.failing.iter().all(is_other_log)
}

/// Whether a receipt names another key, so that it is the receipt of another log.
const fn is_other_log(fault: &SignatureFault) -> bool {
    matches!(fault, SignatureFault::Cose(CoseError::OtherKey(_)))
}

/// Appends a signature file to a log.
pub(crate) fn log(command: &LogCommand, talk: &Talk) -> Result<Exit, CommandError> {
    let LogCommand::Append { log, file, key, origin, log_key, output, quiet: _ } = command;
    let read: Vec<&Path> =
        [Some(file), key.as_ref(), log_key.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    outputs::check_places(&[output], &read)?;
    let bytes = read_file(file)?;
    if scrapi::is_address(&log.to_string_lossy()) {
        let key = log_key.as_deref().map(public_key).transpose()?;
        let registered = registered(log, file, &bytes, key.as_ref())?;
        outputs::write_file(output, Some(file), &registered)?;
        let verified = if key.is_some() { "the receipt holds" } else { UNVERIFIED };
        talk.say(&format!("registered with {}; {verified}\n", safe::exact_line(&log.to_string_lossy())));
        return Ok(Exit::Done);
    }
    let (Some(key), Some(origin)) = (key, origin) else {
        let what = "a log in a folder needs `--key` and `--origin`";
        return Err(CommandError::Signature(safe::path_name(log), what.to_owned()));
    };
    let signing = SigningKey::from_pem(&read_text(key)?).map_err(|error| key_error(key, error))?;
    let failed = |fault: &LogFault| match fault {
        LogFault::File(fault) => refused(file, fault),
        other => CommandError::Signature(safe::path_name(log), other.to_string()),
    };
    let mut opened = TransparencyLog::open(log, &signing, origin).map_err(|fault| failed(&fault))?;
    let (registered, place) = opened.append(&bytes, now()).map_err(|fault| failed(&fault))?;
    outputs::write_file(output, Some(file), &registered)?;
    talk.say(&format!("registered as number {} of the log `{}`\n", place.index, safe::exact_line(origin)));
    Ok(Exit::Done)
}

/// Makes a proof.
pub(crate) fn prove(args: &Prove) -> Result<Exit, CommandError> {
    let mut read: Vec<&Path> = vec![&args.file, &args.key];
    read.extend(args.record.iter().chain(&args.earlier).map(PathBuf::as_path));
    outputs::check_places(&[&args.output], &read)?;
    let key = public_key(&args.key)?;
    let file = read_file(&args.file)?;
    let mut record = args.record.as_deref().map(open).transpose()?;
    let record = record.as_mut().map(|record| record as &mut dyn Read);
    let source = ProofSource { file: &file, record, key: &key };
    let proof = match (args.entry, &args.earlier) {
        (Some(entry), _) => signed::prove_entry(source, entry),
        (None, Some(earlier)) => signed::prove_continuation(source, &read_file(earlier)?),
        // clap requires one of the two.
        (None, None) => Err(SignatureFault::NotAProof),
    };
    let proof = proof.map_err(|fault| refused(&args.file, &fault))?;
    outputs::write_file(&args.output, Some(&args.file), &proof)?;
    Ok(Exit::Done)
}

/// Removes content from a signed record.
pub(crate) fn redact(args: &Redact, talk: &Talk) -> Result<Exit, CommandError> {
    let head_file = args.head.clone().unwrap_or_else(|| with_suffix(&args.output, ".cose"));
    let mut read: Vec<&Path> = vec![&args.file, &args.key];
    read.extend(args.record.iter().chain(&args.rules).map(PathBuf::as_path));
    outputs::check_places(&[&args.output, &head_file], &read)?;
    let key = public_key(&args.key)?;
    let file = read_file(&args.file)?;
    let plan = redact_plan(args)?;
    let missing =
        || io::Error::new(io::ErrorKind::NotFound, "the signature is detached, and `--record` is missing");
    let open_record = || -> io::Result<Box<dyn Read>> {
        let path = args.record.as_ref().ok_or_else(missing)?;
        Ok(Box::new(File::open(path)?))
    };
    let source = args.record.as_deref().unwrap_or(&args.file);
    let mut sink = SinkWriter(Sink::file(&args.output, Some(source))?);
    let (head, report) = signed::redact(&file, &key, &open_record, &plan, &mut sink)
        .map_err(|fault| refused(&args.file, &fault))?;
    if let Some((entry, part)) = report.missing.first() {
        let part = part.map(|part| format!(" with a part `{part}`")).unwrap_or_default();
        let what = format!("the record has no entry {entry}{part}; nothing was written");
        return Err(CommandError::Signature(safe::path_name(&args.file), what));
    }
    sink.0.finish()?;
    outputs::write_file(&head_file, Some(source), &head)?;
    talk.say(&words::redacted(&report));
    let rest = words::left_over(&report);
    if rest.is_empty() {
        return Ok(Exit::Done);
    }
    Talk::always(&rest);
    Ok(Exit::Failed)
}

fn redact_plan(args: &Redact) -> Result<RedactPlan, CommandError> {
    let mut plan = RedactPlan { everywhere: args.everywhere, ..RedactPlan::default() };
    plan.entries.extend(&args.entry);
    for (entry, part) in &args.path {
        match part {
            Some(part) => _ = plan.parts.insert((*entry, *part)),
            None => _ = plan.entries.insert(*entry),
        }
    }
    match args.rule {
        Some(RedactRule::Secrets) => {
            let mut rules = SecretRules::built_in();
            if let Some(path) = &args.rules {
                let text = fs::read_to_string(path)
                    .map_err(|error| CommandError::Read(safe::path_name(path), error))?;
                let added = rules.add_toml(&text);
                added.map_err(|error| CommandError::Signature(safe::path_name(path), error.to_string()))?;
            }
            plan.secrets = Some(rules);
        }
        None => {}
    }
    Ok(plan)
}

/// A sink as a writer. Errors of the sink are reported when the sink is finished.
struct SinkWriter(Sink);

impl io::Write for SinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Output::write(&mut self.0, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The key that verifies a file.
enum SignerKey {
    /// The user gave the key.
    Given(PublicKey),
    /// The key is that of a certificate in the file, which leads to a certificate that the user trusts.
    Certified(CertifiedKey),
}

impl SignerKey {
    const fn key(&self) -> &PublicKey {
        match self {
            SignerKey::Given(key) => key,
            SignerKey::Certified(found) => &found.key,
        }
    }
}

fn chain_error(path: &Path, fault: &ChainFault) -> CommandError {
    CommandError::Signature(safe::path_name(path), fault.to_string())
}

fn public_key(path: &Path) -> Result<PublicKey, CommandError> {
    PublicKey::from_pem(&read_text(path)?).map_err(|error| key_error(path, error))
}

fn key_error(path: &Path, error: KeyError) -> CommandError {
    CommandError::Signature(safe::path_name(path), error.to_string())
}

fn refused(path: &Path, fault: &SignatureFault) -> CommandError {
    CommandError::Signature(safe::path_name(path), fault.to_string())
}

fn open(path: &Path) -> Result<Box<dyn Read>, CommandError> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| CommandError::Read(safe::path_name(path), error))?;
    Ok(Box::new(file))
}

/// Reads a signature file, up to its largest size.
fn read_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::Read(safe::path_name(path), error))?;
    if bytes.len() as u64 > MAX_FILE {
        let what = "the file is larger than any signature file (256 MiB)";
        return Err(CommandError::Signature(safe::path_name(path), what.to_owned()));
    }
    Ok(bytes)
}

/// Reads a key file. The message of a failure holds no byte of it.
fn read_text(path: &Path) -> Result<String, CommandError> {
    let bytes = fs::read(path).map_err(|error| CommandError::Read(safe::path_name(path), error))?;
    String::from_utf8(bytes).map_err(|_| key_error(path, KeyError::NoPem("PRIVATE KEY` or `PUBLIC KEY")))
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
