//! The stage that gives a written session another id, another working directory and another title: a session that goes on
//! elsewhere belongs to the directory where it goes on, and some agents find a session by its title.

use crate::dialects::Options;
use crate::json::Str;
use crate::ledger::{Leftover, Reason};
use crate::model::{Event, ItemHead, Session};
use crate::pipe::{Writer, WriterOutput};

/// Passes events to the writer of a log, with the id, the directory and the title of the new session.
pub(crate) struct MovedSession {
    writer: Box<dyn Writer>,
    id: Option<Str<'static>>,
    cwd: Option<Str<'static>>,
    title: Option<Str<'static>>,
    /// The writer knows the new values.
    is_told: bool,
}

impl MovedSession {
    /// The writer itself, or this stage before it if the session is to be moved.
    pub(crate) fn before(writer: Box<dyn Writer>, options: &Options) -> Box<dyn Writer> {
        let text = |text: &Option<String>| text.as_deref().map(|text| Str::from_plain(text).into_owned());
        let (id, cwd, title) = (text(&options.session_id), text(&options.cwd), text(&options.title));
        if id.is_none() && cwd.is_none() && title.is_none() {
            return writer;
        }
        Box::new(Self { writer, id, cwd, title, is_told: false })
    }

    fn moved<'a>(&self, session: &Session<'a>) -> Session<'a> {
        let mut moved = session.clone();
        moved.id = self.id.clone().or(moved.id);
        moved.cwd = self.cwd.clone().or(moved.cwd);
        moved.title = self.title.clone().or(moved.title);
        moved
    }
}

impl Writer for MovedSession {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.writer.takes(head)
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.writer.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.writer.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let is_first = !std::mem::replace(&mut self.is_told, true);
        if is_first {
            out.ledger.note("the session was given the id and the directory of the place where it goes on");
            if self.title.is_some() {
                out.ledger.note("the session was given the title by which its agent finds it");
            }
        }
        match event {
            Event::SessionStarted(session) => {
                self.writer.event(&Event::SessionStarted(self.moved(session)), out);
            }
            Event::SessionUpdated(session) => {
                self.writer.event(&Event::SessionUpdated(self.moved(session)), out);
            }
            event => {
                if is_first {
                    let session = self.moved(&Session::default());
                    self.writer.event(&Event::SessionUpdated(session), out);
                }
                self.writer.event(event, out);
            }
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.writer.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.writer.finish(out);
    }
}
