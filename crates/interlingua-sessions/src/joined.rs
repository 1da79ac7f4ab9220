//! Joined sessions: `convert --join` makes one record of the files of a session, its subagents and forks. Converting a
//! joined record separates it into files again.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlingua::graph::{
    self, CallMentions, Joiner, Kinship, KinshipReader, Link, NestedSession, SplitPart, Splitter,
};
use interlingua::json::Output;
use interlingua::model::Usage;
use interlingua_record::cbor::{RecordJson, is_cbor_record};
use interlingua_report::safe;

use crate::{PrivateFolder, SourceError};

/// A session separated from a joined record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeparatedInput {
    /// The joined record.
    pub record: PathBuf,
    /// The name of the session's source file without its extension; empty for the first session.
    pub file: String,
    /// The number of the session in the record, because file names may repeat.
    pub number: usize,
    folder: Arc<PrivateFolder>,
}

impl SeparatedInput {
    /// The name used in messages.
    pub fn name(&self) -> String {
        match self.file.as_str() {
            "" => safe::path_name(&self.record),
            file => format!("{}, {}", safe::path_name(&self.record), safe::path_name(file)),
        }
    }

    /// Opens the record of this session.
    pub fn open(&self) -> io::Result<File> {
        File::open(self.folder.numbered(self.number))
    }
}

/// Whether a file is a record that holds joined sessions.
pub fn is_joined(path: &Path) -> bool {
    // A pipe can be read only once, so it is not scanned.
    if !path.is_file() {
        return false;
    }
    let scan = || -> io::Result<bool> {
        let mut file = open_record(path)?;
        let mut buffer = vec![0; CHUNK];
        let mut filled = read_full(&mut file, &mut buffer[..BEGIN])?;
        let begin = String::from_utf8_lossy(&buffer[..filled]).into_owned();
        if !begin.trim_start().starts_with('{') || !begin.contains("\"version\"") {
            return Ok(false);
        }
        loop {
            let read = file.read(&mut buffer[filled..])?;
            if contains(&buffer[..filled + read], graph::JOINED.as_bytes()) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
            // The name may cross the boundary of two chunks.
            let keep = (filled + read).min(graph::JOINED.len());
            buffer.copy_within(filled + read - keep..filled + read, 0);
            filled = keep;
        }
    };
    // The name may also occur in the text of a conversation; then the splitter finds no joined session.
    let is_found = || {
        let mut splitter = Splitter::default();
        read_all(path, &mut |bytes| splitter.push(bytes, &mut |_| {}))?;
        splitter.finish(&mut |_| {});
        io::Result::Ok(splitter.has_found())
    };
    // Read errors are reported when the file is opened for conversion.
    scan().is_ok_and(|named| named && is_found().unwrap_or(false))
}

/// How much of a file is read to check whether it can be a record.
const BEGIN: usize = 4096;
/// Bytes read per chunk.
const CHUNK: usize = 1 << 20;

fn read_full(file: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Opens a record; the text of a record in CBOR is its JSON text.
fn open_record(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = File::open(path)?;
    let mut beginning = Vec::new();
    file.by_ref().take(32).read_to_end(&mut beginning)?;
    file.rewind()?;
    Ok(if is_cbor_record(&beginning) { Box::new(RecordJson::in_order(file)?) } else { Box::new(file) })
}

fn contains(bytes: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find(bytes, name).is_some()
}

/// Separates a joined record into its sessions.
pub(crate) fn separate(record: &Path) -> io::Result<Vec<SeparatedInput>> {
    let folder = Arc::new(PrivateFolder::new()?);
    let mut files = vec![String::new()];
    let mut following = HashMap::new();
    let mut parts = PartFiles { folder: &folder, open: HashMap::new(), begun: HashSet::new() };
    let mut failed = None;
    let mut splitter = Splitter::default();
    let mut each = |part: SplitPart<'_>| {
        let (number, bytes) = match part {
            SplitPart::First(bytes) => (0, bytes),
            SplitPart::Nested { file, record } => {
                files.push(file.to_owned());
                (files.len() - 1, record.as_bytes())
            }
            SplitPart::Following { number, file, bytes } => {
                let number = *following.entry(number).or_insert_with(|| {
                    files.push(file.to_owned());
                    files.len() - 1
                });
                (number, bytes)
            }
        };
        if let Err(error) = parts.write(number, bytes) {
            failed.get_or_insert(error);
        }
    };
    read_all(record, &mut |bytes| splitter.push(bytes, &mut each))?;
    splitter.finish(&mut each);
    parts.close()?;
    if let Some(error) = failed {
        return Err(error);
    }
    let input = |(number, file)| SeparatedInput {
        record: record.to_owned(),
        file,
        number,
        folder: Arc::clone(&folder),
    };
    Ok(files.into_iter().enumerate().map(input).collect())
}

/// The files that a joined record is separated into. At most `MOST_OPEN` of them are open at once.
struct PartFiles<'f> {
    folder: &'f PrivateFolder,
    open: HashMap<usize, io::BufWriter<File>>,
    begun: HashSet<usize>,
}

impl PartFiles<'_> {
    fn write(&mut self, number: usize, bytes: &[u8]) -> io::Result<()> {
        if self.open.len() >= MOST_OPEN && !self.open.contains_key(&number) {
            self.close()?;
        }
        let file = match self.open.entry(number) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(place) => {
                let path = self.folder.numbered(number);
                let file = if self.begun.insert(number) {
                    File::create_new(path)?
                } else {
                    OpenOptions::new().append(true).open(path)?
                };
                place.insert(io::BufWriter::new(file))
            }
        };
        io::Write::write_all(file, bytes)
    }

    fn close(&mut self) -> io::Result<()> {
        for (_, file) in self.open.drain() {
            file.into_inner().map_err(io::IntoInnerError::into_error)?;
        }
        Ok(())
    }
}

/// How many separated files are open at once.
const MOST_OPEN: usize = 16;

fn read_all(path: &Path, push: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut file = BufReader::with_capacity(CHUNK, open_record(path)?);
    loop {
        let bytes = io::BufRead::fill_buf(&mut file)?;
        if bytes.is_empty() {
            return Ok(());
        }
        push(bytes);
        let read = bytes.len();
        io::BufRead::consume(&mut file, read);
    }
}

/// The session, the parents and the calls of the record in a file.
pub fn kinship(record: &Path) -> io::Result<Kinship> {
    let mut reader = KinshipReader::default();
    read_all(record, &mut |bytes| reader.push(bytes))?;
    Ok(reader.finish())
}

/// Records of several sessions and the links between them. Members are numbered in the order of [`Family::add`].
#[derive(Debug, Default)]
pub struct Family {
    members: Vec<FamilyMember>,
    links: Vec<Option<Link>>,
}

/// One record, in a temporary file.
#[derive(Debug)]
struct FamilyMember {
    record: PathBuf,
    /// The name of the source file, without its extension.
    file: String,
    facts: Kinship,
}

/// The deepest nesting of sessions in a record; deeper sessions follow after the parent.
const MOST_NESTED: usize = 6;

impl Family {
    /// Adds the record in a file. `file` is the name of its source file without the extension.
    pub fn add(&mut self, record: PathBuf, file: String, facts: Kinship) {
        self.members.push(FamilyMember { record, file, facts });
    }

    /// Replaces the facts of a member whose record was written anew.
    pub fn replace(&mut self, member: usize, facts: Kinship) {
        self.members[member].facts = facts;
    }

    /// The members without a parent.
    pub fn roots(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|member| self.links[*member].is_none()).collect()
    }

    /// The root above a member.
    pub fn root_of(&self, mut member: usize) -> usize {
        while let Some(link) = &self.links[member] {
            member = link.parent;
        }
        member
    }

    fn read(&self, member: usize, push: &mut dyn FnMut(&[u8])) -> Result<(), SourceError> {
        let path = &self.members[member].record;
        read_all(path, push).map_err(|error| SourceError::Read(safe::path_name(path), error))
    }

    /// Links each record to its parent record and to the tool call that started it.
    pub fn link(&mut self) -> Result<(), SourceError> {
        let facts: Vec<Kinship> = self.members.iter().map(|member| member.facts.clone()).collect();
        self.links = graph::links(&facts);
        for parent in 0..self.members.len() {
            let unknown = |link: &&mut Link| link.parent == parent && link.call.is_none();
            let wanted: Vec<String> =
                self.links.iter_mut().flatten().filter(unknown).map(|link| link.name.clone()).collect();
            if wanted.is_empty() {
                continue;
            }
            let mut mentions = CallMentions::new(wanted);
            self.read(parent, &mut |bytes| mentions.push(bytes))?;
            let found = mentions.finish();
            for link in self.links.iter_mut().flatten().filter(|link| link.parent == parent) {
                link.call = link.call.take().or_else(|| found.get(&link.name).cloned());
            }
        }
        Ok(())
    }

    /// Usage that the parent record counts for responses of this member.
    pub fn told_by_parent(&self, member: usize) -> Vec<(String, Usage)> {
        let Some(link) = &self.links[member] else { return Vec::new() };
        let told = &self.members[link.parent].facts.responses;
        let own = &self.members[member].facts.responses;
        own.keys().filter_map(|id| Some((id.clone(), *told.get(id)?))).collect()
    }

    /// Writes a record with all sessions that belong to it.
    pub fn write(&self, root: usize, out: &mut dyn Output) -> Result<(), SourceError> {
        let mut following = Vec::new();
        self.write_joined(root, 0, &mut following, out)?;
        let mut at = 0;
        while let Some(member) = following.get(at).copied() {
            out.write(b"\n");
            self.read(member, &mut |bytes| out.write(bytes))?;
            at += 1;
        }
        Ok(())
    }

    /// Writes a record with the sessions nested in its calls; all remaining sessions are added to `following`.
    fn write_joined(
        &self,
        member: usize,
        depth: usize,
        following: &mut Vec<usize>,
        out: &mut dyn Output,
    ) -> Result<(), SourceError> {
        let mut failed = None;
        let mut waiting: Vec<usize> = (0..self.members.len())
            .filter(|child| self.links[*child].as_ref().is_some_and(|link| link.parent == member))
            .collect();
        let mut joiner = Joiner::default();
        let (waiting, following) =
            (std::cell::RefCell::new(&mut waiting), std::cell::RefCell::new(following));
        let mut sessions = |call: &str| {
            let mut texts = Vec::new();
            waiting.borrow_mut().retain(|child| {
                let here = self.links[*child].as_ref().filter(|link| link.call.as_deref() == Some(call));
                let fits = depth < MOST_NESTED && self.members[*child].facts.size.fits_in_a_call();
                let Some(link) = here.filter(|_| fits) else { return true };
                match self.nested(*child, link, depth, &mut following.borrow_mut()) {
                    Ok(text) => texts.push(text),
                    Err(error) => _ = failed.get_or_insert(error),
                }
                false
            });
            (!texts.is_empty()).then(|| texts.join(","))
        };
        self.read(member, &mut |bytes| joiner.push(bytes, &mut sessions, out))?;
        let mut last = || {
            following.borrow_mut().append(&mut waiting.borrow_mut());
            let mut entries = Vec::new();
            if depth > 0 {
                return entries;
            }
            // A following session may have children, which are appended to the list as well.
            let mut at = 0;
            while let Some(child) = {
                let list = following.borrow();
                list.get(at).copied()
            } {
                if let Some(link) = &self.links[child] {
                    entries.push(graph::following_entry(link, &self.members[child].file));
                }
                let own = (0..self.members.len())
                    .filter(|inner| self.links[*inner].as_ref().is_some_and(|link| link.parent == child));
                following.borrow_mut().extend(own);
                at += 1;
            }
            entries
        };
        joiner.finish(&mut sessions, &mut last, out);
        failed.map_or(Ok(()), Err)
    }

    fn nested(
        &self,
        child: usize,
        link: &Link,
        depth: usize,
        following: &mut Vec<usize>,
    ) -> Result<String, SourceError> {
        let mut record = Vec::new();
        self.write_joined(child, depth + 1, following, &mut record)?;
        let mut nested = NestedSession::of(&self.members[link.parent].facts);
        nested.push(&record);
        Ok(nested.finish(link, &self.members[child].file))
    }
}
