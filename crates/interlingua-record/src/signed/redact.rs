//! Redaction of a signed record: entries, or parts of entries, are replaced by their commitments.
//!
//! The result is a record and a tree head. The signature over the exact bytes is left out: it no longer applies, and the
//! digest in it would let a reader test guesses about the removed text. The head holds the salts of all kept parts,
//! and no salt of a removed part.
//!
//! The record is read twice. The first pass compares the tree with the signed root, decides the places and collects the
//! removed texts; the second pass writes the record and looks for copies of these texts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use super::copies::TextSet;
use super::digest::NoPartner;
use super::file::SignatureFile;
use super::head::{RecordSalts, TreeHead};
use super::keys::PublicKey;
use super::leaf::{EntrySalts, commitment, entry_mark, leaf_hash, mark_of_part};
use super::scan::{REMOVABLE, RecordVisitor, ScanFault, ScannedEntry, SourceValue, scan};
use super::tree::EntryTree;
use super::verify::SignatureFault;
use crate::secrets::SecretRules;

/// The places to remove from a record.
#[derive(Default)]
pub struct RedactPlan {
    /// Whole entries, by their position from 0.
    pub entries: BTreeSet<u64>,
    /// Parts of entries: the position and the name of the part, one of [`REMOVABLE`].
    pub parts: BTreeSet<(u64, &'static str)>,
    /// Rules for secrets: each part with a match is removed, or the entry if the match is outside all parts.
    pub secrets: Option<SecretRules>,
    /// Whether copies of removed texts are removed as well.
    pub everywhere: bool,
}

/// A removed entry (`None`), or a removed part of an entry.
pub type RedactedPlace = (u64, Option<&'static str>);

/// The facts of a redaction.
#[derive(Debug, Default)]
pub struct RedactReport {
    /// Removed entries and parts, in their order.
    pub places: BTreeSet<RedactedPlace>,
    /// The number of found secrets of each class.
    pub secrets: BTreeMap<String, u64>,
    /// Classes of secrets outside the entries, where the signed tree head allows no change.
    pub in_frame: BTreeSet<String>,
    /// Places of the plan that the record does not have.
    pub missing: Vec<RedactedPlace>,
    /// Kept places that still hold a removed text.
    pub copies: BTreeSet<RedactedPlace>,
    /// Whether a removed text is in the members outside the entries.
    pub copy_in_frame: bool,
    /// Whether the digest of the source is still in the record, because it has another form than a record writer emits.
    pub source_kept: bool,
}

impl RedactReport {
    /// Adds an entry to the removed places, instead of its parts.
    fn remove_whole(&mut self, entry: &ScannedEntry<'_>) {
        for part in entry.parts {
            self.places.remove(&(entry.index, Some(part.name)));
        }
        self.places.insert((entry.index, None));
    }
}

/// Writes the redacted record, and returns the new signature file. `open` opens the record, once for each pass; it is not
/// called if the signature file holds the record.
pub fn redact(
    file: &[u8],
    key: &PublicKey,
    open: &dyn Fn() -> io::Result<Box<dyn Read>>,
    plan: &RedactPlan,
    out: &mut dyn Write,
) -> Result<(Vec<u8>, RedactReport), SignatureFault> {
    let file = SignatureFile::decode(file)?;
    let mut sign1 = file.head()?.ok_or(SignatureFault::NotAHead)?;
    let head = TreeHead::verify(&sign1, key)?;
    let salts = RecordSalts::from_unprotected(&sign1.unprotected).ok_or(SignatureFault::BadSalts)?;
    let input = || -> Result<Box<dyn Read + '_>, ScanFault> {
        match file.record() {
            Some(payload) => Ok(Box::new(payload)),
            None => open().map(|input| -> Box<dyn Read> { input }).map_err(ScanFault::Io),
        }
    };
    let mut planner = Planner {
        plan,
        salts: salts.clone(),
        tree: EntryTree::default(),
        report: RedactReport::default(),
        texts: TextSet::default(),
        bad_mark: None,
    };
    scan(input()?, &mut planner)?;
    planner.check_root(&head)?;
    let Planner { mut report, texts, .. } = planner;
    report.missing = missing(plan, &report.places);
    let mut redactor = Redactor {
        everywhere: plan.everywhere,
        salts: salts.clone(),
        report,
        texts,
        partial: salts.partial.clone(),
        out,
        written: Ok(()),
    };
    scan(input()?, &mut redactor)?;
    redactor.written.map_err(SignatureFault::Output)?;
    sign1.unprotected = kept_salts(&salts, redactor.partial, &redactor.report, head.size).to_unprotected();
    Ok((sign1.encode(), redactor.report))
}

/// The salts of the kept parts of these entries.
fn kept_salts(
    salts: &RecordSalts,
    mut partial: BTreeMap<u64, EntrySalts>,
    report: &RedactReport,
    entries: u64,
) -> RecordSalts {
    let removed = report.places.iter().filter(|(_, part)| part.is_none()).map(|(entry, _)| *entry);
    let removed: BTreeSet<u64> = removed.collect();
    // The salt of an entry gives the salts of all its parts, so it is hidden if one part is removed.
    let hidden: BTreeSet<u64> = removed.iter().chain(partial.keys()).copied().collect();
    partial.retain(|entry, _| !removed.contains(entry));
    let whole = salts.whole.without(&hidden.into_iter().collect::<Vec<_>>()).of_first(entries);
    RecordSalts { whole, partial }
}

fn missing(plan: &RedactPlan, places: &BTreeSet<RedactedPlace>) -> Vec<RedactedPlace> {
    let entries = plan.entries.iter().map(|entry| (*entry, None));
    let parts = plan.parts.iter().map(|(entry, part)| (*entry, Some(*part)));
    let is_removed = |place: &RedactedPlace| places.contains(place) || places.contains(&(place.0, None));
    entries.chain(parts).filter(|place| !is_removed(place)).collect()
}

/// The first pass.
struct Planner<'p> {
    plan: &'p RedactPlan,
    salts: RecordSalts,
    tree: EntryTree,
    report: RedactReport,
    texts: TextSet,
    bad_mark: Option<u64>,
}

impl Planner<'_> {
    fn check_root(&self, head: &TreeHead) -> Result<(), SignatureFault> {
        if let Some(entry) = self.bad_mark {
            return Err(SignatureFault::BadMark(entry));
        }
        if self.tree.size() != head.size {
            return Err(SignatureFault::OtherSize { signed: head.size, found: self.tree.size() });
        }
        if self.tree.root() == head.root { Ok(()) } else { Err(SignatureFault::OtherRoot) }
    }

    /// Looks for secrets. Returns whether there are any.
    fn has_secret(&mut self, bytes: &[u8]) -> bool {
        let Some(rules) = &self.plan.secrets else { return false };
        let found = rules.find(bytes);
        for secret in &found {
            *self.report.secrets.entry(secret.class.clone()).or_default() += 1;
            self.texts.add(&secret.secret);
        }
        !found.is_empty()
    }

    fn frame(&mut self, bytes: &[u8]) {
        let Some(rules) = &self.plan.secrets else { return };
        self.report.in_frame.extend(rules.find(bytes).into_iter().map(|secret| secret.class));
    }
}

impl RecordVisitor for Planner<'_> {
    fn before(&mut self, bytes: &[u8]) {
        self.frame(bytes);
    }

    fn entry(&mut self, entry: &ScannedEntry<'_>) -> Result<(), ScanFault> {
        let salts = self.salts.of(entry.index);
        match leaf_hash(entry, &salts, &mut NoPartner) {
            Some(leaf) => self.tree.push(leaf),
            None => _ = self.bad_mark.get_or_insert(entry.index),
        }
        let mut is_whole = self.plan.entries.contains(&entry.index);
        let mut from = 0;
        for part in entry.parts {
            is_whole |= self.has_secret(&entry.piece[from..part.range.start]);
            from = part.range.end;
        }
        is_whole |= self.has_secret(&entry.piece[from..]);
        for part in entry.parts {
            let value = &entry.piece[part.range.clone()];
            let is_planned = self.plan.parts.contains(&(entry.index, part.name));
            let is_removed = self.has_secret(value) || is_planned;
            if is_removed {
                self.report.places.insert((entry.index, Some(part.name)));
            }
            // The texts of a part that goes because of a secret are not sought elsewhere; the secret itself is.
            if (is_planned || self.plan.entries.contains(&entry.index)) && part.name != "vendor-ext" {
                self.texts.add_texts(value);
            }
        }
        if is_whole {
            self.report.remove_whole(entry);
        }
        Ok(())
    }

    fn after(&mut self, bytes: &[u8], _: &SourceValue) {
        self.frame(bytes);
    }
}

/// The second pass.
struct Redactor<'p> {
    everywhere: bool,
    salts: RecordSalts,
    report: RedactReport,
    texts: TextSet,
    partial: BTreeMap<u64, EntrySalts>,
    out: &'p mut dyn Write,
    written: io::Result<()>,
}

impl Redactor<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if self.written.is_ok() {
            self.written = self.out.write_all(bytes);
        }
    }

    /// Adds kept places of an entry with copies of removed texts to the copies, or to the removed places.
    fn find_copies(&mut self, entry: &ScannedEntry<'_>) {
        let index = entry.index;
        if self.texts.is_empty() || self.report.places.contains(&(index, None)) {
            return;
        }
        let mut found = Vec::new();
        let mut from = 0;
        let mut in_gap = false;
        for part in entry.parts {
            in_gap |= self.texts.is_in(&entry.piece[from..part.range.start]);
            from = part.range.end;
            let place = (index, Some(part.name));
            if !self.report.places.contains(&place) && self.texts.is_in(&entry.piece[part.range.clone()]) {
                found.push(place);
            }
        }
        in_gap |= self.texts.is_in(&entry.piece[from..]);
        if in_gap {
            found.push((index, None));
        }
        if !self.everywhere {
            self.report.copies.extend(found);
        } else if in_gap {
            self.report.remove_whole(entry);
        } else {
            self.report.places.extend(found);
        }
    }

    fn frame(&mut self, bytes: &[u8]) {
        self.report.copy_in_frame |= self.texts.is_in(bytes);
        self.write(bytes);
    }
}

impl RecordVisitor for Redactor<'_> {
    fn before(&mut self, bytes: &[u8]) {
        self.frame(bytes);
    }

    fn entry(&mut self, entry: &ScannedEntry<'_>) -> Result<(), ScanFault> {
        self.find_copies(entry);
        let salts = self.salts.of(entry.index);
        if self.report.places.contains(&(entry.index, None)) {
            self.write(&entry.piece[..entry.start]);
            // The first pass has computed each leaf, so none is missing here.
            let leaf = leaf_hash(entry, &salts, &mut NoPartner).unwrap_or_default();
            self.write(entry_mark(&leaf).as_bytes());
            return Ok(());
        }
        let is_removed =
            |number: usize| self.report.places.contains(&(entry.index, Some(entry.parts[number].name)));
        let removed: Vec<bool> = (0..entry.parts.len()).map(is_removed).collect();
        if !removed.contains(&true) {
            self.write(entry.piece);
            return Ok(());
        }
        let mut from = 0;
        for (number, part) in entry.parts.iter().enumerate() {
            self.write(&entry.piece[from..part.range.start]);
            from = part.range.end;
            if removed[number] {
                let hash = commitment(entry, number, &salts, &mut NoPartner).unwrap_or_default();
                self.write(mark_of_part(part.name, &hash).as_bytes());
            } else {
                self.write(&entry.piece[part.range.clone()]);
            }
        }
        self.write(&entry.piece[from..]);
        self.partial.insert(entry.index, salts.without(removed.len(), |number| removed[number]));
        Ok(())
    }

    fn after(&mut self, bytes: &[u8], source: &SourceValue) {
        match source {
            // The digest of the source would let a reader test guesses about the removed text.
            SourceValue::At(value) if !self.report.places.is_empty() => {
                self.frame(bytes.get(..value.start).unwrap_or_default());
                self.write(b"null");
                self.frame(bytes.get(value.end..).unwrap_or_default());
            }
            SourceValue::Absent | SourceValue::At(_) => self.frame(bytes),
            SourceValue::Covered => {
                self.report.source_kept = true;
                self.frame(bytes);
            }
        }
    }
}

/// The place of a JSON pointer: an entry, or the removable part of an entry that holds the value. `None` if the pointer
/// names no place that can be removed.
pub fn place_of_pointer(pointer: &str) -> Option<RedactedPlace> {
    let mut names = pointer.strip_prefix("/session/entries/")?.split('/');
    let number = names.next()?;
    // A JSON pointer has no sign and no leading zero.
    let entry = number.parse::<u64>().ok().filter(|entry| entry.to_string() == number)?;
    match names.next() {
        None => Some((entry, None)),
        Some(name) => Some((entry, Some(REMOVABLE.into_iter().find(|part| *part == name)?))),
    }
}
