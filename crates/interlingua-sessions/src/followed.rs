//! An input that another program still writes: a growing file, or stdin. Reading waits for more bytes until the caller asks
//! for the end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An input that is followed. [`FollowEnd::end`] ends it.
#[derive(Clone, Debug)]
pub struct FollowedInput {
    /// The growing file; `None` for stdin.
    pub(crate) path: Option<PathBuf>,
    /// The messages of the reader, until it is opened.
    messages: Arc<Mutex<Option<Receiver<Message>>>>,
    sender: Sender<Message>,
}

/// Ends an input that is followed, from any thread.
#[derive(Clone, Debug)]
pub struct FollowEnd(Sender<Message>);

impl FollowEnd {
    /// Ends the input: the reader gets the bytes written so far, and then the end.
    pub fn end(&self) {
        // A reader that is gone has ended already.
        let _ = self.0.send(Message::End);
    }
}

#[derive(Debug)]
enum Message {
    Bytes(Vec<u8>),
    Failed(io::Error),
    End,
}

/// How long a reader waits before it looks for new bytes in a file.
const WAIT: Duration = Duration::from_millis(100);
/// The size of a chunk of stdin.
const CHUNK: usize = 64 << 10;
/// How many chunks of stdin wait for the reader.
const WAITING_CHUNKS: usize = 16;

impl FollowedInput {
    /// Follows a file, or stdin if the path is `-`.
    pub fn new(path: &Path) -> (Self, FollowEnd) {
        let (sender, messages) = channel();
        let path = (path != Path::new("-")).then(|| path.to_owned());
        let end = FollowEnd(sender.clone());
        (Self { path, messages: Arc::new(Mutex::new(Some(messages))), sender }, end)
    }

    /// Opens the input. An input is followed by one reader.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read>> {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner).take();
        let messages = messages.ok_or_else(|| io::Error::other("the input is followed already"))?;
        let Some(path) = &self.path else {
            let sender = self.sender.clone();
            let (room, taken) = sync_channel(WAITING_CHUNKS);
            std::thread::Builder::new().name("stdin".to_owned()).spawn(move || read_stdin(&sender, &room))?;
            return Ok(Box::new(FollowedPipe { messages, taken, chunk: Vec::new(), at: 0 }));
        };
        let file = File::open(path)?;
        Ok(Box::new(FollowedFile { path: path.clone(), file, read: 0, messages }))
    }
}

/// Passes chunks of stdin on. `room` has a place for each chunk that the reader has not taken yet.
fn read_stdin(sender: &Sender<Message>, room: &SyncSender<()>) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let message = match io::stdin().read(&mut chunk) {
            Ok(0) => Message::End,
            Ok(read) => Message::Bytes(chunk[..read].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Message::Failed(error),
        };
        let is_last = !matches!(message, Message::Bytes(_));
        if room.send(()).is_err() || sender.send(message).is_err() || is_last {
            return;
        }
    }
}

struct FollowedPipe {
    messages: Receiver<Message>,
    taken: Receiver<()>,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for FollowedPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            match self.messages.recv() {
                Ok(Message::Bytes(chunk)) => {
                    // The chunk is taken, so the thread may read the next one.
                    let _ = self.taken.try_recv();
                    (self.chunk, self.at) = (chunk, 0);
                }
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::End) | Err(_) => return Ok(0),
            }
        }
        let read = (&self.chunk[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

struct FollowedFile {
    path: PathBuf,
    file: File,
    /// The number of bytes read so far.
    read: u64,
    messages: Receiver<Message>,
}

impl Read for FollowedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.file.read(buffer)?;
            if read > 0 {
                self.read += read as u64;
                return Ok(read);
            }
            if self.file.metadata()?.len() < self.read {
                return Err(io::Error::other("the file was cut short while it was followed"));
            }
            if is_replaced(&self.path, &self.file)? {
                return Err(io::Error::other("another file took its place while it was followed"));
            }
            match self.messages.recv_timeout(WAIT) {
                Err(RecvTimeoutError::Timeout) | Ok(Message::Bytes(_) | Message::Failed(_)) => {}
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}

/// Whether the path names another file now.
#[cfg(unix)]
fn is_replaced(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let place = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    match fs::metadata(path) {
        Ok(now) => Ok(place(&now) != place(&file.metadata()?)),
        // A file that was removed may still be written.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the path names another file now: this system has no stable number of a file.
#[cfg(not(unix))]
fn is_replaced(_: &Path, _: &File) -> io::Result<bool> {
    Ok(false)
}
