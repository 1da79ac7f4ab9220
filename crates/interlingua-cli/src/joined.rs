//! Joined sessions: `convert --join` makes one record of the files of a session, its subagents and forks. Converting a
//! joined record separates it into files again.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlingua::dialects::ours::record;
use interlingua::graph::{
    self, CallMentions, Joiner, Kinship, KinshipReader, Link, NestedSession, SplitPart, Splitter,
};
use interlingua::json::Output;
use interlingua::model::Usage;

use crate::convert::{
    Converted, RunAccount, convert_file, further_file, output_directory, report_file, report_place, tell,
};
use crate::error::CommandError;
use crate::flags::Convert;
use crate::jobs;
use crate::outputs::{self, PrivateFolder, Sink, Taken};
use crate::show::safe;
use crate::sources::{self, FoundFile, FoundFiles};
use crate::summary::Summary;
use crate::talk::Talk;

/// A session separated from a joined record.
#[derive(Clone, Debug)]
pub(crate) struct SeparatedInput {
    /// The joined record.
    pub(crate) record: PathBuf,
    /// The name of the session's source file without its extension; empty for the first session.
    pub(crate) file: String,
    /// The number of the session in the record, because file names may repeat.
    pub(crate) number: usize,
    folder: Arc<PrivateFolder>,
}

impl SeparatedInput {
    /// The name used in messages.
    pub(crate) fn name(&self) -> String {
        match self.file.as_str() {
            "" => safe::path_name(&self.record),
            file => format!("{}, {}", safe::path_name(&self.record), safe::path_name(file)),
        }
    }

    pub(crate) fn open(&self) -> io::Result<File> {
        File::open(numbered(&self.folder, self.number))
    }
}

fn numbered(folder: &PrivateFolder, number: usize) -> PathBuf {
    folder.path().join(number.to_string())
}

/// Whether a file is a record that holds joined sessions.
pub(crate) fn is_joined(path: &Path) -> bool {
    // A pipe can be read only once, so it is not scanned.
    if !path.is_file() {
        return false;
    }
    let scan = || -> io::Result<bool> {
        let mut file = File::open(path)?;
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

fn read_full(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
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
                let path = numbered(self.folder, number);
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
    let mut file = BufReader::with_capacity(CHUNK, File::open(path)?);
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

/// Writes one record for the files of each session.
pub(crate) fn join(
    inputs: &[PathBuf],
    output: &Path,
    into_directory: bool,
    args: &Convert,
    talk: &Talk,
) -> Result<Summary, CommandError> {
    if args.target().name != record::DIALECT.name {
        return Err(CommandError::JoinsRecords(args.target()));
    }
    let folders = into_directory.then(|| output_directory(output, args)).transpose()?.unwrap_or_default();
    let FoundFiles { files, skipped, failed, .. } = sources::find(inputs, into_directory.then_some(output));
    let read: Vec<&Path> = files.iter().filter_map(|file| file.input.path()).collect();
    let written: Vec<&Path> =
        (!into_directory).then_some(output).into_iter().chain(report_place(args)).collect();
    outputs::check_places(&written, &read)?;
    let folder = PrivateFolder::new().map_err(|error| CommandError::Write(std::env::temp_dir(), error))?;
    let numbers: Vec<usize> = (0..files.len()).collect();
    let to_record =
        |number: usize, told: Vec<(String, Usage)>| -> Result<(Converted, Kinship), CommandError> {
            let path = numbered(&folder, number);
            let converted = convert_file(&files[number].input, &path, told, args)?;
            let mut reader = KinshipReader::default();
            read_all(&path, &mut |bytes| reader.push(bytes))
                .map_err(|error| CommandError::Read(converted.name.clone(), error))?;
            Ok((converted, reader.finish()))
        };
    let mut account = RunAccount::begin(args)?;
    account.summary = Summary { skipped, failed, ..Summary::default() };
    let mut family = Family::new(&folder, &files);
    let work = |number: &usize| to_record(*number, Vec::new());
    jobs::each(&numbers, &args.bulk, work, |number, result| match result {
        Ok((converted, facts)) => family.add(*number, converted, facts),
        Err(error) => account.summary.leave_out(&files[*number], error),
    });
    family.link()?;
    // Usage that a parent record counts for its subagents' responses is not counted again in their own records.
    for member in 0..family.members.len() {
        let told = family.told_by_parent(member);
        if !told.is_empty() {
            let (converted, facts) = to_record(family.members[member].number, told)?;
            (family.members[member].converted, family.members[member].facts) = (converted, facts);
        }
    }
    let roots: Vec<usize> =
        (0..family.members.len()).filter(|member| family.links[*member].is_none()).collect();
    if let (false, [_, _, ..]) = (into_directory, &roots[..]) {
        return Err(CommandError::SeveralSessions(roots.len()));
    }
    let taken = Taken::new(&files, report_file(args));
    for root in roots {
        let path = if into_directory {
            let base = &files[family.members[root].number].base;
            let path = taken.claim(output, base, args.target().name, record_framing());
            if let Some(parent) = path.parent() {
                folders.make(parent)?;
            }
            path
        } else {
            output.to_owned()
        };
        let mut sink = Sink::file(&path, files[family.members[root].number].input.path())?;
        family.write(root, &mut sink)?;
        let (member, mut number) = (&family.members[root], 1);
        if record::has_several(&member.converted.report) {
            // No session was joined to this record, and a file holds one record.
            let base = &files[member.number].base;
            let mut next = || {
                number += 1;
                let further = if into_directory {
                    taken.claim(output, base, args.target().name, record_framing())
                } else {
                    outputs::further(output, number)
                };
                further_file(&further, files[member.number].input.path())
            };
            sink.finish_apart(&mut next)?;
        } else {
            sink.finish()?;
        }
        family.outputs.insert(root, path);
    }
    family.finish().iter().for_each(|converted| account.add(converted));
    tell(&account.summary, talk);
    account.end()
}

fn record_framing() -> interlingua::framing::Framing {
    record::DIALECT.roles[0].framing
}

/// All records of the run and the links between them.
struct Family<'f> {
    folder: &'f PrivateFolder,
    files: &'f [FoundFile],
    members: Vec<FamilyMember>,
    links: Vec<Option<Link>>,
    outputs: HashMap<usize, PathBuf>,
}

/// One record, in a temporary file.
struct FamilyMember {
    number: usize,
    converted: Converted,
    facts: Kinship,
}

/// The deepest nesting of sessions in a record; deeper sessions follow after the parent.
const MOST_NESTED: usize = 6;

impl<'f> Family<'f> {
    fn new(folder: &'f PrivateFolder, files: &'f [FoundFile]) -> Self {
        Self { folder, files, members: Vec::new(), links: Vec::new(), outputs: HashMap::new() }
    }

    fn add(&mut self, number: usize, converted: Converted, facts: Kinship) {
        self.members.push(FamilyMember { number, converted, facts });
    }

    fn path(&self, member: usize) -> PathBuf {
        numbered(self.folder, self.members[member].number)
    }

    fn read(&self, member: usize, push: &mut dyn FnMut(&[u8])) -> Result<(), CommandError> {
        let path = self.path(member);
        read_all(&path, push).map_err(|error| CommandError::Read(safe::path_name(&path), error))
    }

    /// Links each record to its parent record and to the tool call that started it.
    fn link(&mut self) -> Result<(), CommandError> {
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
    fn told_by_parent(&self, member: usize) -> Vec<(String, Usage)> {
        let Some(link) = &self.links[member] else { return Vec::new() };
        let told = &self.members[link.parent].facts.responses;
        let own = &self.members[member].facts.responses;
        own.keys().filter_map(|id| Some((id.clone(), *told.get(id)?))).collect()
    }

    /// Writes a record with all sessions that belong to it.
    fn write(&self, root: usize, sink: &mut Sink) -> Result<(), CommandError> {
        let mut following = Vec::new();
        self.write_joined(root, 0, &mut following, sink)?;
        let mut at = 0;
        while let Some(member) = following.get(at).copied() {
            sink.write(b"\n");
            self.read(member, &mut |bytes| sink.write(bytes))?;
            at += 1;
        }
        sink.take_error()
    }

    /// Writes a record with the sessions nested in its calls; all remaining sessions are added to `following`.
    fn write_joined(
        &self,
        member: usize,
        depth: usize,
        following: &mut Vec<usize>,
        out: &mut dyn Output,
    ) -> Result<(), CommandError> {
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
                    entries.push(graph::following_entry(link, &self.file_name(child)));
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
    ) -> Result<String, CommandError> {
        let mut record = Vec::new();
        self.write_joined(child, depth + 1, following, &mut record)?;
        let mut nested = NestedSession::of(&self.members[link.parent].facts);
        nested.push(&record);
        Ok(nested.finish(link, &self.file_name(child)))
    }

    fn file_name(&self, member: usize) -> String {
        let base = &self.files[self.members[member].number].base;
        base.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The result for each file.
    fn finish(self) -> Vec<Converted> {
        let Self { members, links, outputs, .. } = self;
        let root_of = |mut member: usize| {
            while let Some(link) = &links[member] {
                member = link.parent;
            }
            member
        };
        let roots: Vec<usize> = (0..members.len()).map(root_of).collect();
        let with_output = |(member, root): (FamilyMember, usize)| Converted {
            output: outputs.get(&root).cloned(),
            ..member.converted
        };
        members.into_iter().zip(roots).map(with_output).collect()
    }
}
