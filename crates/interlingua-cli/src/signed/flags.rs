//! Flags of the commands for signed records.

use std::path::PathBuf;

use clap::Args;
use interlingua_record::signed::{KeyAlgorithm, REMOVABLE, RedactedPlace, place_of_pointer};

use crate::flags::QuietFlag;

/// Make a key pair for signing records
///
/// Writes the private key to FILE (PEM, PKCS#8; only you can read it) and the public key to FILE.pub, and prints the id of
/// the key. An existing file is never replaced.
#[derive(Debug, Args)]
pub(crate) struct Keygen {
    /// The file of the private key
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The algorithm: `ed25519`, or `es256` (ECDSA on P-256)
    #[arg(long, value_name = "ALGORITHM", default_value = "ed25519", value_parser = algorithm, hide_default_value = true)]
    pub(crate) alg: KeyAlgorithm,
}

/// Sign a record
///
/// Writes a signature file (COSE_Sign1) with two signatures: one over the exact bytes of the record, and one over the tree of
/// its entries, which still holds after `redact`.
#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// The record, a JSON file with one record (`convert --to record`); `-` for stdin
    #[arg(value_name = "RECORD")]
    pub(crate) record: PathBuf,

    /// The private key (PEM, PKCS#8), as made by `keygen`
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// Your name, as verifiers will see it; never the vendor of the model
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) signer: String,

    /// Your certificate and the certificates between it and the authority (PEM), for verifiers with `--trust`
    #[arg(long, value_name = "FILE")]
    pub(crate) chain: Option<PathBuf>,

    /// Leave the record out of the signature file; the verifier needs both files
    #[arg(long)]
    pub(crate) detached: bool,

    /// Sign the SHA-256 digest of the record (COSE hash envelope) instead of its bytes; implies `--detached`. Faster, and the
    /// record is never held in memory; always the case above 64 MiB
    #[arg(long)]
    pub(crate) digest: bool,

    /// Sign only the tree of a record that still grows; implies `--detached`
    #[arg(long)]
    pub(crate) checkpoint: bool,

    /// The signature file of an earlier state of the same record: the new tree continues its tree
    #[arg(long, value_name = "FILE")]
    pub(crate) earlier: Option<PathBuf>,

    /// The address of a SCITT service that speaks SCRAPI: the signature is registered there, and its receipt is added. The
    /// signature is over the digest of the record (`--digest`), or a checkpoint
    #[arg(long, value_name = "URL", value_parser = service)]
    pub(crate) log: Option<String>,

    /// The signature file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}

/// The address of a service.
fn service(text: &str) -> Result<String, String> {
    if super::scrapi::is_address(text) {
        return Ok(text.to_owned());
    }
    Err("an address begins with http:// or https://".to_owned())
}

/// Verify a signature file
///
/// Prints for each signature whether it holds, who signed, and what is covered. Exit code 0 if the file has a signature and
/// all its signatures hold, 3 if one does not hold.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Verify {
    /// The signature file, or the proof
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// FILE is a proof made by `prove`
    #[arg(long, conflicts_with = "record")]
    pub(crate) proof: bool,

    /// The record, if it is not in the signature file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// The public key of the signer (PEM); `--trust` takes its place
    #[arg(long, value_name = "FILE", required_unless_present = "trust", conflicts_with = "trust")]
    pub(crate) key: Option<PathBuf>,

    /// The certificates of the authorities that you trust (PEM): the key is that of the certificate in the signature file
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Option<PathBuf>,

    /// Accept a certificate that is expired now, if it was valid at the time of signing as the signer claims it
    #[arg(long, requires = "trust")]
    pub(crate) accept_expired: bool,

    /// The signature file with the newest state of the record that you have seen: an older state is refused
    #[arg(long, value_name = "FILE")]
    pub(crate) earlier: Option<PathBuf>,

    /// The public key of a transparency log (PEM): the file must have a receipt of this log
    #[arg(long, value_name = "FILE", conflicts_with = "proof")]
    pub(crate) log_key: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page about the result, for readers without knowledge of signatures
    #[arg(long, requires = "output", conflicts_with = "proof")]
    pub(crate) html: bool,

    /// The page to write
    #[arg(short, long, value_name = "FILE", requires = "html")]
    pub(crate) output: Option<PathBuf>,
}

/// Keep an append-only log of signature files
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LogCommand {
    /// Append a signature file to a log, and add the log's receipt to it
    ///
    /// The log is a folder, or the address of a SCITT service that speaks SCRAPI. A service gets the signature file without its
    /// unprotected header, so the file must be a signature over a digest (`sign --digest`) or a checkpoint.
    ///
    /// The log consists of static files (C2SP tlog-tiles), with a checkpoint that the key of the log signs. The receipt is a
    /// COSE receipt in the header 394; `verify --log-key` verifies it without the log.
    Append {
        /// The folder of the log, which is made if it does not exist; or the address of a service (http:// or https://)
        #[arg(value_name = "LOG")]
        log: PathBuf,

        /// The signature file
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// The private key of a log in a folder (PEM, Ed25519)
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,

        /// The name of a log in a folder, such as `example.org/records`
        #[arg(long, value_name = "NAME")]
        origin: Option<String>,

        /// The public key of a service (PEM): a receipt that does not hold is refused
        #[arg(long, value_name = "FILE", conflicts_with = "key")]
        log_key: Option<PathBuf>,

        /// The signature file with the receipt
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,

        #[command(flatten)]
        quiet: QuietFlag,
    },
}

/// Make a proof for a reader who does not get the record
///
/// With ENTRY, the proof shows that this entry is part of the signed record; it discloses the entry and no other entry.
/// With `--earlier`, it shows that the record continues an earlier state of itself; it discloses no entry.
#[derive(Debug, Args)]
pub(crate) struct Prove {
    /// The signature file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The position of the entry in the record, from 0
    #[arg(value_name = "ENTRY", required_unless_present = "earlier", conflicts_with = "earlier")]
    pub(crate) entry: Option<u64>,

    /// The record, if it is not in the signature file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// The public key of the signer (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// The signature file of an earlier state of the record
    #[arg(long, value_name = "FILE")]
    pub(crate) earlier: Option<PathBuf>,

    /// The proof to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Remove content from a signed record; the tree of its entries stays signed
///
/// Writes the record with a mark in place of each removed entry or part, and a signature file with the tree head alone:
/// the signature over the exact bytes no longer applies. Exit code 3 if a copy of a removed text or a secret is still in the
/// record.
#[derive(Debug, Args)]
pub(crate) struct Redact {
    /// The signature file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The record, if it is not in the signature file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// The public key of the signer (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// Remove the entries at these positions, from 0
    #[arg(long, value_name = "N", num_args = 1.., required_unless_present_any = ["path", "rule"])]
    pub(crate) entry: Vec<u64>,

    /// Remove the parts of entries at these JSON pointers, such as `/session/entries/3/output`
    #[arg(long, value_name = "POINTER", num_args = 1.., value_parser = place)]
    pub(crate) path: Vec<RedactedPlace>,

    /// Remove the parts with matches of this rule
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Option<RedactRule>,

    /// A file with rules of your own for `--rule secrets` (TOML)
    #[arg(long, value_name = "FILE", requires = "rule")]
    pub(crate) rules: Option<PathBuf>,

    /// Remove copies of the removed texts as well
    #[arg(long)]
    pub(crate) everywhere: bool,

    /// The record to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The signature file to write (default: the name of the new record with `.cose` added)
    #[arg(long, value_name = "FILE")]
    pub(crate) head: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}

/// A rule for content to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RedactRule {
    /// Credentials that are recognised by their form, or by the name before them
    Secrets,
}

fn place(pointer: &str) -> Result<RedactedPlace, String> {
    place_of_pointer(pointer).ok_or_else(|| {
        format!("a pointer is `/session/entries/N` or names a part of an entry: {}", REMOVABLE.join(", "))
    })
}

fn algorithm(name: &str) -> Result<KeyAlgorithm, String> {
    [KeyAlgorithm::Ed25519, KeyAlgorithm::Es256]
        .into_iter()
        .find(|algorithm| algorithm.name() == name)
        .ok_or_else(|| "the algorithms are `ed25519` and `es256`".to_owned())
}
