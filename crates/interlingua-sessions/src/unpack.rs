//! Compressed input: gzip and zstd, detected by their first bytes regardless of the file name, and unpacked chunk by
//! chunk. Memory use is the window of the format (32 KiB for gzip, at most [`WINDOW`] for zstd), independent of the
//! unpacked size. A record in CBOR, compressed or not, is read as its JSON text, a log of changes as the document that the
//! changes give ([`crate::changes`]), and a chat history of Aider as the documents of its sessions.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use interlingua_record::cbor::{RecordJson, is_cbor_record};
use interlingua_report::render::number;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::changes;
use crate::stores::aider;

/// The largest supported zstd window: the default limit of the `zstd` command.
const WINDOW: u64 = 128 << 20;

/// The default limit for the unpacked size of one input.
pub const MOST_UNPACKED: u64 = 1 << 30;

/// The compression of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packing {
    /// gzip, also of several members.
    Gzip,
    /// zstd, also of several frames.
    Zstd,
}

impl Packing {
    /// Detects the compression by the first bytes.
    fn of(first: &[u8]) -> Option<Self> {
        match first {
            // The third byte is the compression method; gzip defines only one.
            [0x1f, 0x8b, 0x08, ..] | [0x1f, 0x8b] => Some(Packing::Gzip),
            // The second pattern is a skippable frame, which may precede any other frame.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Packing::Zstd),
            _ => None,
        }
    }

    /// The name of the format, which is that of its program, too.
    pub const fn word(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }
}

/// The name of the file inside a compressed file: `x.jsonl` of `x.jsonl.gz`.
pub(crate) fn inner_name(path: &Path) -> PathBuf {
    let packed = path.extension().and_then(|extension| extension.to_str());
    match packed.map(str::to_ascii_lowercase).as_deref() {
        Some("gz" | "gzip" | "zst" | "zstd") => path.with_extension(""),
        _ => path.to_owned(),
    }
}

/// An input, unpacked if it is compressed.
pub(crate) struct Unpacked {
    content: PackedContent,
    /// How many unpacked bytes were returned.
    given: u64,
    /// The limit of unpacked bytes.
    limit: u64,
    /// Bytes that were read to look for CBOR.
    ahead: Cursor<Vec<u8>>,
    /// The JSON text of a record in CBOR.
    record: Option<Box<RecordJson<File>>>,
    /// Whether the bytes are documents that the input gives: a log of changes, or a chat history.
    is_applied: bool,
}

enum PackedContent {
    Plain(InputBytes),
    /// `None` at the end of the input.
    Gzip(Option<Box<GzDecoder<PackedSource>>>),
    Zstd(Box<ZstdFrames>),
}

impl Unpacked {
    /// `limit` is the maximum number of bytes that compressed input may unpack to.
    pub(crate) fn new(mut input: Box<dyn Read>, limit: u64) -> io::Result<Self> {
        let mut first = Vec::new();
        input.by_ref().take(4).read_to_end(&mut first)?;
        let packing = Packing::of(&first);
        let source = Cursor::new(first).chain(input);
        let packed =
            |source| PackedSource { source: BufReader::with_capacity(CHUNK, source), taken: 0, over: false };
        let content = match packing {
            None => PackedContent::Plain(source),
            Some(Packing::Gzip) => PackedContent::Gzip(Some(Box::new(GzDecoder::new(packed(source))))),
            Some(Packing::Zstd) => PackedContent::Zstd(Box::new(ZstdFrames::new(packed(source)))),
        };
        let mut unpacked =
            Self { content, given: 0, limit, ahead: Cursor::default(), record: None, is_applied: false };
        unpacked.transcode()?;
        Ok(unpacked)
    }

    /// Looks for a record in CBOR. The JSON text begins with members that are at the end of the CBOR, so the record is
    /// copied to a temporary file without a name and read twice.
    fn transcode(&mut self) -> io::Result<()> {
        let mut first = Vec::new();
        self.by_ref().take(1).read_to_end(&mut first)?;
        // No text in UTF-8 begins with a byte of this range, so a text from a pipe is not read any further here.
        if matches!(first.first(), Some(0xa0..=0xbf | 0xd8..=0xdb)) {
            self.by_ref().take(31).read_to_end(&mut first)?;
        }
        if is_cbor_record(&first) {
            let mut file = tempfile::tempfile()?;
            file.write_all(&first)?;
            io::copy(self, &mut file)?;
            file.rewind()?;
            self.record = Some(Box::new(RecordJson::in_order(file)?));
        } else if self.begins_with(changes::BEGINNING, &mut first)? {
            let document = changes::apply(Cursor::new(first).chain(&mut *self))?;
            self.ahead = Cursor::new(document);
            self.is_applied = true;
        } else if self.begins_with_history(&mut first)? {
            let documents = aider::documents(Cursor::new(first).chain(&mut *self))?;
            self.ahead = Cursor::new(documents);
            self.is_applied = true;
        } else {
            self.ahead = Cursor::new(first);
        }
        Ok(())
    }

    /// Whether the input begins with a session of Aider.
    fn begins_with_history(&mut self, first: &mut Vec<u8>) -> io::Result<bool> {
        for beginning in aider::BEGINNINGS {
            if self.begins_with(beginning, first)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the input begins with these bytes. Reads no byte after a difference, because a pipe may have no more.
    fn begins_with(&mut self, beginning: &[u8], first: &mut Vec<u8>) -> io::Result<bool> {
        while beginning.starts_with(first) && first.len() < beginning.len() {
            if self.by_ref().take(1).read_to_end(first)? == 0 {
                return Ok(false);
            }
        }
        Ok(first.starts_with(beginning))
    }

    /// Whether the size of the file is not the size of the text: the input is compressed, a record in CBOR, a log of changes,
    /// or a chat history.
    pub(crate) const fn is_changed(&self) -> bool {
        self.packing().is_some() || self.record.is_some() || self.is_applied
    }

    pub(crate) const fn packing(&self) -> Option<Packing> {
        match self.content {
            PackedContent::Plain(_) => None,
            PackedContent::Gzip(_) => Some(Packing::Gzip),
            PackedContent::Zstd(_) => Some(Packing::Zstd),
        }
    }

    /// The error with the position at which unpacking failed.
    fn damaged(&self, packing: Packing, cause: io::Error) -> io::Error {
        let source = match &self.content {
            PackedContent::Gzip(Some(member)) => member.get_ref(),
            PackedContent::Zstd(frames) => &frames.source,
            PackedContent::Plain(_) | PackedContent::Gzip(None) => return cause,
        };
        let what = if self.given > self.limit {
            UnpackDamage::TooMuch(self.limit)
        } else if source.over {
            UnpackDamage::CutOff
        } else {
            UnpackDamage::Other(cause.to_string())
        };
        io::Error::other(UnpackError { packing, what, at: source.taken, given: self.given })
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Some(record) = &mut self.record {
            return record.read(buffer);
        }
        let ahead = self.ahead.read(buffer)?;
        if ahead > 0 {
            return Ok(ahead);
        }
        let read = match &mut self.content {
            PackedContent::Plain(source) => return source.read(buffer),
            PackedContent::Gzip(member) => {
                read_members(member, buffer).map_err(|error| (Packing::Gzip, error))
            }
            PackedContent::Zstd(frames) => frames.read(buffer).map_err(|error| (Packing::Zstd, error)),
        };
        match read {
            Ok(read) => {
                self.given += read as u64;
                match self.packing() {
                    Some(packing) if self.given > self.limit => {
                        Err(self.damaged(packing, io::ErrorKind::FileTooLarge.into()))
                    }
                    _ => Ok(read),
                }
            }
            Err((_, error)) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err((packing, error)) => Err(self.damaged(packing, error)),
        }
    }
}

/// Reads all gzip members in sequence: `cat a.gz b.gz` yields the content of both.
fn read_members(current: &mut Option<Box<GzDecoder<PackedSource>>>, buffer: &mut [u8]) -> io::Result<usize> {
    while let Some(member) = current {
        let read = member.read(buffer)?;
        if read > 0 {
            return Ok(read);
        }
        let Some(member) = current.take() else { break };
        let mut source = member.into_inner();
        // Block devices and archives pad with zeros.
        loop {
            let next = source.fill_buf()?;
            match next.iter().position(|byte| *byte != 0) {
                Some(0) => break,
                None if next.is_empty() => return Ok(0),
                zeros => {
                    let zeros = zeros.unwrap_or(next.len());
                    source.consume(zeros);
                }
            }
        }
        *current = Some(Box::new(GzDecoder::new(source)));
    }
    Ok(0)
}

/// Reads all zstd frames in sequence and ignores skippable frames.
struct ZstdFrames {
    source: PackedSource,
    frame: FrameDecoder,
    in_frame: bool,
}

impl ZstdFrames {
    fn new(source: PackedSource) -> Self {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(WINDOW);
        Self { source, frame, in_frame: false }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { source, frame, in_frame } = self;
        loop {
            if *in_frame {
                while frame.can_collect() == 0 && !frame.is_finished() {
                    frame
                        .decode_blocks(&mut *source, BlockDecodingStrategy::UptoBlocks(1))
                        .map_err(io::Error::other)?;
                }
                if frame.can_collect() > 0 {
                    return frame.read(buffer);
                }
                let (said, is) = (frame.get_checksum_from_data(), frame.get_calculated_checksum());
                if said.is_some() && said != is {
                    return Err(io::Error::other("its checksum is wrong"));
                }
                *in_frame = false;
            }
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            match frame.reset(&mut *source) {
                Ok(()) => *in_frame = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(FrameDecoderError::WindowSizeTooBig { .. }) => {
                    return Err(io::Error::other("it needs more than 128 MiB of memory"));
                }
                Err(FrameDecoderError::DictNotProvided { .. }) => {
                    return Err(io::Error::other("it needs a dictionary"));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

type InputBytes = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

/// Compressed bytes with a counter.
struct PackedSource {
    source: BufReader<InputBytes>,
    taken: u64,
    /// A read was attempted beyond the end.
    over: bool,
}

/// How much compressed input is read at a time.
const CHUNK: usize = 64 << 10;

impl BufRead for PackedSource {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let next = self.source.fill_buf()?;
        self.over = next.is_empty();
        Ok(next)
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount as u64;
        self.source.consume(amount);
    }
}

impl Read for PackedSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.taken += read as u64;
        self.over = read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

/// Compressed input that cannot be unpacked any further.
#[derive(Debug)]
#[non_exhaustive]
pub struct UnpackError {
    /// The compression.
    pub packing: Packing,
    /// The damage.
    pub what: UnpackDamage,
    /// The number of compressed bytes that were read.
    pub at: u64,
    /// The number of bytes that were unpacked.
    pub given: u64,
}

/// The damage of compressed input.
#[derive(Debug)]
#[non_exhaustive]
pub enum UnpackDamage {
    /// The input ends too early.
    CutOff,
    /// The unpacked size exceeds this limit.
    TooMuch(u64),
    /// Another error, with the message of the decoder.
    Other(String),
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, what, at, given } = self;
        let (at, given) = (number(*at), number(*given));
        match what {
            UnpackDamage::CutOff => {
                write!(f, "its {} data is cut off at byte {at}, {given} bytes unpacked", packing.word())
            }
            UnpackDamage::TooMuch(limit) => {
                let (word, limit) = (packing.word(), number(*limit));
                write!(f, "its {word} data unpacks to more than {limit} bytes, the limit, at byte {at}")
            }
            UnpackDamage::Other(cause) => {
                let word = packing.word();
                write!(f, "its {word} data cannot be unpacked at byte {at}, {given} bytes unpacked: {cause}")
            }
        }
    }
}

impl Error for UnpackError {}
