//! Dialects with a deliberate mistake, to check that the laws detect it. A mutant is a dialect that wraps the writer,
//! the reader or the support table of a real dialect.

use std::collections::BTreeMap;

use interlingua::dialects::{Dialect, MakeReader, Options, Role, RoleSpec, WriteSpec};
use interlingua::ledger::{Leftover, Reason};
use interlingua::model::{
    Delta, Event, Field, ItemHead, ItemId, ItemKindTag, ItemTail, Support, SupportTable,
};
use interlingua::pipe::{Doc, EventSink, Reader, Writer, WriterOutput};
use interlingua::tape::{Claim, Val};

use super::Way;

/// The change of a mutant writer to each event before the real writer gets it.
pub trait Mutation: Send + 'static {
    /// The dialect and role of the writer.
    const OF: (&'static str, Role);

    /// The changed event, or `None` to drop it.
    fn edit<'a>(memory: &mut Memory, event: Event<'a>) -> Option<Event<'a>>;
}

/// State of a mutant writer.
#[derive(Clone, Default)]
pub struct Memory {
    kinds: BTreeMap<ItemId, ItemKindTag>,
    /// The number of texts in each item.
    pub texts: BTreeMap<ItemId, usize>,
}

impl Memory {
    /// The kind of the item that an event belongs to.
    pub fn of(&self, event: &Event<'_>) -> Option<ItemKindTag> {
        match event {
            Event::ItemStarted(head) => Some(ItemKindTag::item(&head.kind)),
            Event::ItemDelta(Delta { item: id, .. }) | Event::ItemCompleted(ItemTail { id, .. }) => {
                self.kinds.get(id).copied()
            }
            _ => None,
        }
    }
}

/// The dialect with the mutated writer.
pub fn mutant_writer<M: Mutation>() -> Way {
    let way = (Dialect::named(M::OF.0).expect("registered"), M::OF.1);
    let support = write_spec(way).support;
    with(way, None, Some(WriteSpec { make: make::<M>, support }))
}

/// The dialect with that table.
pub fn mutant_table(way: Way, support: SupportTable) -> Way {
    let make = write_spec(way).make;
    with(way, None, Some(WriteSpec { make, support }))
}

/// The dialect with that reader.
pub fn mutant_reader(way: Way, read: MakeReader) -> Way {
    with(way, Some(read), None)
}

pub fn write_spec(way: Way) -> &'static WriteSpec {
    way.0.role(way.1).and_then(|spec| spec.write.as_ref()).expect("a mutant of something that is written")
}

/// A copy of the dialect with one role changed. The copy is leaked, because there are few.
fn with(way: Way, read: Option<MakeReader>, write: Option<WriteSpec>) -> Way {
    let mut changed = (read, write);
    let roles: Vec<RoleSpec> = way
        .0
        .roles
        .iter()
        .map(|spec| {
            let same = spec.write.as_ref().map(|spec| WriteSpec { make: spec.make, support: spec.support });
            let (read, write) = if spec.role == way.1 { std::mem::take(&mut changed) } else { (None, None) };
            RoleSpec {
                role: spec.role,
                framing: spec.framing,
                read: read.or(spec.read),
                write: write.or(same),
            }
        })
        .collect();
    let dialect = Dialect { roles: Box::leak(roles.into_boxed_slice()), ..*way.0 };
    (Box::leak(Box::new(dialect)), way.1)
}

fn make<M: Mutation>(options: &Options) -> Box<dyn Writer> {
    let way = (Dialect::named(M::OF.0).expect("registered"), M::OF.1);
    Box::new(Mutant::<M> {
        inner: (write_spec(way).make)(options),
        memory: Memory::default(),
        mutation: std::marker::PhantomData,
    })
}

struct Mutant<M> {
    inner: Box<dyn Writer>,
    memory: Memory,
    mutation: std::marker::PhantomData<fn() -> M>,
}

impl<M: Mutation> Writer for Mutant<M> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match M::edit(&mut self.memory.clone(), Event::ItemStarted(head.clone())) {
            Some(Event::ItemStarted(head)) => self.inner.takes(&head),
            _ => Ok(()),
        }
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.inner.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.inner.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if let Event::ItemStarted(head) = event {
            self.memory.kinds.insert(head.id, ItemKindTag::item(&head.kind));
        }
        if let Some(event) = M::edit(&mut self.memory, event.clone()) {
            self.inner.event(&event, out);
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.inner.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.inner.finish(out);
    }
}

/// A reader that claims all leaves that the real reader left free, but emits the same events.
pub struct Forgetful(pub Box<dyn Reader>);

impl Reader for Forgetful {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        self.0.document(doc, out);
        claim_free(doc.root);
    }

    fn sentinel(&mut self, text: &str, out: &mut EventSink<'_>) -> bool {
        self.0.sentinel(text, out)
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.0.finish(out);
    }
}

fn claim_free(val: Val<'_>) {
    if val.claimed() != Claim::Free {
        return;
    }
    let mut inside = false;
    for child in val.members().map(|(_, member)| member).chain(val.elements()) {
        inside = true;
        claim_free(child);
    }
    if !inside {
        val.note(Field::MessageText);
    }
}

/// A false support table: every field is exact.
pub const fn boasts(_: Field) -> Support {
    Support::Exactly
}
