//! Items of a turn: each starts, may grow in pieces, and is repeated as a whole at its end. A tool is one native item and
//! becomes two items, the call and its result.

use std::collections::VecDeque;

use super::messages::{prompt_part, prompt_text};
use super::requests::Requests;
use super::session::{Threads, number};
use super::tools::OpenTool;
use crate::dialects::openai::live_items::{RepeatedMembers, StreamedTexts, TextSort};
use crate::model::{Author, Field, ItemId, ItemKind, ItemTail, Notice, Origin, Part, Shape, Status};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Kind, Val};

/// The open items of all threads.
#[derive(Default)]
pub(super) struct Items {
    /// By the ids of thread and item.
    open: Remembered<OpenItem>,
    /// The key of the current item, kept for its memory.
    key: String,
    /// Prompts of the client that the server has not repeated yet.
    prompts: VecDeque<String>,
    /// The last text of the assistant, as JSON, which the end of the turn repeats.
    last_text: String,
}

/// An open item.
enum OpenItem {
    /// A message, reasoning, a plan or a notice.
    Texts {
        item: ItemId,
        sort: TextSort,
        texts: StreamedTexts,
        began: RepeatedMembers,
    },
    Tool(OpenTool),
    /// The server's repetition of a prompt that the client's own line holds.
    Echo,
    Compaction,
}

/// The most prompts without an echo that are remembered.
const MOST_PROMPTS: usize = 64;

impl Items {
    /// Reads a prompt of the client.
    pub(super) fn prompted(&mut self, params: Val<'_>, out: &mut EventSink<'_>) {
        let Some(input) = params.get("input") else { return };
        if self.prompts.len() == MOST_PROMPTS {
            self.prompts.pop_front();
        }
        self.prompts.push_back(prompt_text(input));
        let mut head = out.head(ItemKind::Message, Author::User);
        head.shape = Shape::List;
        let item = out.start(head);
        prompt_parts(input, item, out);
        out.complete(item);
    }

    /// Reads `item/started`.
    pub(super) fn started(
        &mut self,
        params: Val<'_>,
        threads: &mut Threads,
        out: &mut EventSink<'_>,
    ) -> bool {
        let Some(item) = params.get("item").filter(|item| item.has_str("id")) else { return false };
        threads.is_main(params, out);
        let open = self.start(params, item, threads, out);
        self.insert(params, item.str_or_empty("id"), open, out);
        true
    }

    /// Reads `item/completed`. An item without a start, such as an item of a resumed turn, starts here.
    pub(super) fn completed(
        &mut self,
        params: Val<'_>,
        item: Val<'_>,
        threads: &mut Threads,
        out: &mut EventSink<'_>,
    ) -> bool {
        threads.is_main(params, out);
        self.set_key(params, item.str_or_empty("id"));
        let open = self.open.remove(&self.key);
        let is_new = open.is_none();
        let open = open.unwrap_or_else(|| self.start(params, item, threads, out));
        // The start decides that an item is a command.
        if !is_new && item.str_or_empty("type") != "commandExecution" {
            item.note_str("type", Field::Structure);
        }
        match open {
            OpenItem::Texts { item: id, sort, mut texts, began } => {
                began.claim(item);
                self.whole_texts(item, id, sort, &mut texts, out);
                out.complete(id);
            }
            OpenItem::Tool(tool) => tool.completed(params, item, threads, out),
            OpenItem::Echo | OpenItem::Compaction => {}
        }
        true
    }

    /// Reads a piece of an item. Returns whether the method is known and the item is open.
    pub(super) fn piece(
        &mut self,
        method: &str,
        params: Val<'_>,
        threads: &mut Threads,
        requests: &mut Requests,
        out: &mut EventSink<'_>,
    ) -> bool {
        let (sort, index) = match method {
            "item/agentMessage/delta" => (TextSort::Message, None),
            "item/plan/delta" => (TextSort::Notice, None),
            "item/reasoning/summaryTextDelta" => (TextSort::Summary, params.get("summaryIndex")),
            "item/reasoning/textDelta" => (TextSort::Reasoning, params.get("contentIndex")),
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => (TextSort::Output, None),
            _ => return false,
        };
        let Some(delta) = params.get("delta").filter(|delta| delta.str().is_some()) else { return false };
        threads.is_main(params, out);
        self.set_key(params, params.str_or_empty("itemId"));
        let index = index.and_then(|index| index.u64()).unwrap_or(0);
        match self.open.get_mut(&self.key) {
            Some(OpenItem::Texts { item, texts, .. }) if sort != TextSort::Output => {
                texts.piece(*item, sort, index, delta, out);
                true
            }
            Some(OpenItem::Tool(tool)) if sort == TextSort::Output => {
                requests.runs(params.str_or_empty("itemId"), out);
                tool.piece(params, delta, out);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Forgets an item that another event represents.
    pub(super) fn forget(&mut self, params: Val<'_>, item: Val<'_>) {
        self.set_key(params, item.str_or_empty("id"));
        self.open.remove(&self.key);
    }

    /// Ends a turn of a thread: no text of the turn continues. Commands may run on in the background, unless the turn was
    /// cut off.
    pub(super) fn turn_ended(&mut self, thread: &str, is_cut: bool, out: &mut EventSink<'_>) {
        let open: Vec<_> = self.open.take_all_named().collect();
        for (key, item) in open {
            let is_here = key.split_once(SEPARATOR).is_some_and(|(of, _)| of == thread);
            match item {
                OpenItem::Texts { item, .. } if is_here => {
                    out.end(ItemTail::new(item, Status::Interrupted));
                }
                OpenItem::Tool(tool) if is_here && is_cut => tool.interrupted(out),
                OpenItem::Echo | OpenItem::Compaction if is_here => {}
                other => drop(self.open.insert(&key, other)),
            }
        }
    }

    /// Claims the last text of the assistant, which the end of the turn repeats.
    pub(super) fn repeat_last_text(&mut self, turn: Val<'_>) {
        for item in turn.get("items").into_iter().flat_map(|items| items.elements()) {
            if let Some(text) = item.get("text").filter(|text| text.text() == self.last_text) {
                text.note(Field::MessageText);
            }
        }
        self.last_text.clear();
    }

    fn insert(&mut self, params: Val<'_>, id: &str, open: OpenItem, out: &mut EventSink<'_>) {
        self.set_key(params, id);
        let again = self.open.remove(&self.key);
        let forgotten = self.open.insert(&self.key, open);
        for item in again.into_iter().chain(forgotten) {
            match item {
                OpenItem::Texts { item, .. } => out.end(ItemTail::new(item, Status::Interrupted)),
                OpenItem::Tool(tool) => tool.interrupted(out),
                OpenItem::Echo | OpenItem::Compaction => {}
            }
        }
    }

    fn set_key(&mut self, params: Val<'_>, id: &str) {
        self.key.clear();
        self.key.push_str(params.str_or_empty("threadId"));
        self.key.push(SEPARATOR);
        self.key.push_str(id);
    }

    /// Starts an item.
    fn start(
        &mut self,
        params: Val<'_>,
        item: Val<'_>,
        threads: &mut Threads,
        out: &mut EventSink<'_>,
    ) -> OpenItem {
        let kind = item.str_or_empty("type");
        let (kind, author, sort) = match kind {
            "userMessage" => {
                if self.is_echo(item) {
                    return OpenItem::Echo;
                }
                (ItemKind::Message, Author::User, TextSort::Message)
            }
            "hookPrompt" => (ItemKind::Message, Author::User, TextSort::Message),
            "agentMessage" => (ItemKind::Message, Author::Assistant, TextSort::Message),
            "reasoning" => (ItemKind::Reasoning, Author::Assistant, TextSort::Summary),
            "contextCompaction" => {
                item.note_str("type", Field::Structure);
                return OpenItem::Compaction;
            }
            _ => {
                if let Some(tool) = OpenTool::start(params, item, threads, out) {
                    return OpenItem::Tool(tool);
                }
                let event_type = item.note_str("type", Field::NoticeType);
                (ItemKind::Notice(Notice { event_type }), Author::System, TextSort::Notice)
            }
        };
        let is_notice = sort == TextSort::Notice;
        let mut head = out.head(kind, author);
        head.native_id = item.take_str("id", Field::ItemId);
        head.time = number(params, "startedAtMs", Field::ItemTime);
        head.phase = item.take_str("phase", Field::ItemPhase);
        threads.place(&mut head, params);
        let content = item.get("content").filter(|content| content.kind() == Kind::Array);
        if author == Author::User {
            head.shape = Shape::List;
        }
        if item.get("type").is_some_and(|kind| kind.is("hookPrompt")) {
            head.origin = Some(Origin::Harness);
        }
        if !is_notice {
            item.note_str("type", Field::Structure);
        }
        let id = out.start(head);
        if author == Author::User {
            let content = content.or(item.get("fragments"));
            if let Some(content) = content {
                prompt_parts(content, id, out);
            }
        }
        let mut began = RepeatedMembers::of(item, &["id", "phase"]);
        if author == Author::User {
            began.add(item, "content", Field::MessageText);
            began.add(item, "fragments", Field::MessageText);
        }
        OpenItem::Texts { item: id, sort, texts: StreamedTexts::default(), began }
    }

    /// Whether the item repeats a prompt that was read from the client's own line.
    fn is_echo(&mut self, item: Val<'_>) -> bool {
        let Some(content) = item.get("content") else { return false };
        let Some(first) = self.prompts.front() else { return false };
        let is_echo = *first == prompt_text(content);
        if is_echo {
            self.prompts.pop_front();
            item.note_str("type", Field::Structure);
            for part in content.elements() {
                part.note_str("text", Field::MessageText);
            }
        }
        is_echo
    }

    /// Reads the texts of a whole item.
    fn whole_texts(
        &mut self,
        item: Val<'_>,
        id: ItemId,
        sort: TextSort,
        texts: &mut StreamedTexts,
        out: &mut EventSink<'_>,
    ) {
        match item.str_or_empty("type") {
            "reasoning" => {
                for (name, sort) in [("summary", TextSort::Summary), ("content", TextSort::Reasoning)] {
                    let list = item.get(name).into_iter().flat_map(|list| list.elements());
                    for (index, text) in list.enumerate() {
                        texts.whole(id, sort, index as u64, text, out);
                    }
                }
            }
            "userMessage" | "hookPrompt" => {}
            kind => {
                let text = item.get("text").or(item.get("review")).or(item.get("kind"));
                let Some(text) = text else { return };
                if kind == "agentMessage" {
                    text.text().clone_into(&mut self.last_text);
                }
                texts.whole(id, sort, 0, text, out);
            }
        }
    }
}

/// Separates the ids of thread and item in a key. No id contains this control character unescaped.
const SEPARATOR: char = '\u{1}';

/// Emits the parts of a prompt.
fn prompt_parts(content: Val<'_>, item: ItemId, out: &mut EventSink<'_>) {
    for (number, part) in content.elements().enumerate() {
        out.within(part, |out| {
            // A fragment of a hook has no type.
            let text =
                if part.get("type").is_none() { part.take_str("text", Field::MessageText) } else { None };
            if let Some(value) = text.map(Part::Text).or_else(|| prompt_part(part)) {
                out.delta(item, number as u32, value);
            }
        });
    }
}
