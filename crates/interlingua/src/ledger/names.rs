//! The paths of leaves in a frame: a number for each distinct path, found in one walk over the frame. Two paths have
//! the same number only if all their names are equal. The table is bounded, regardless of the names in a frame.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::paths::{Identity, PathNumber};
use super::text_key;
use crate::json::same;
use crate::tape::{Name, Val};

/// The containers around a value, and all paths seen so far. Containers are resolved only on request: most values are
/// mapped and their path is never needed.
#[derive(Debug)]
pub(super) struct Names {
    around: Vec<Container>,
    /// Whether the document is a whole frame, and not a kept line in a frame.
    pub(super) is_frame: bool,
    /// The number of the first value not visited yet.
    next: u32,
    nodes: Vec<PathNode>,
    /// The first node for each parent and name hash.
    by_hash: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    /// Nodes whose parent has an earlier node with the same hash, and nodes with long names, by the key of the name.
    others: HashMap<(u32, u128), u32>,
    /// The total size of all names in bytes.
    bytes: usize,
    /// The last path returned.
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Container {
    /// The number of the value after the container.
    end: u32,
    path: PathNumber,
}

/// One name of a path.
#[derive(Debug)]
struct PathNode {
    parent: u32,
    /// The member name; `None` for an element of a list.
    name: Option<Box<str>>,
    /// The path after the last occurrence of this node: lines of the same form repeat their paths in order.
    next: u32,
}

impl Default for Names {
    fn default() -> Self {
        let document = PathNode { parent: 0, name: None, next: 0 };
        Self {
            around: Vec::new(),
            is_frame: false,
            next: 0,
            nodes: vec![document],
            by_hash: HashMap::default(),
            others: HashMap::default(),
            bytes: 0,
            last: 0,
        }
    }
}

impl Names {
    /// The limits on the number of names and their total size. Names beyond the limits have no path of their own.
    const MOST: usize = 1 << 14;
    const MOST_BYTES: usize = 1 << 20;

    /// Starts a new document.
    pub(super) fn begin(&mut self, root: Val<'_>) {
        self.around.clear();
        self.is_frame = root.number() == 0;
        self.next = root.number();
        self.last = 0;
    }

    /// Advances to a later value of the document and returns its path. Each value is visited at most once.
    #[inline]
    pub(super) fn path_of(&mut self, value: Val<'_>) -> PathNumber {
        let place = value.number();
        while self.next < place {
            self.leave(self.next);
            let passed = value.numbered(self.next);
            let end = passed.number_after();
            if end <= place {
                self.next = end;
            } else {
                let path = self.child(passed);
                self.around.push(Container { end, path });
                self.next += 1;
            }
        }
        self.leave(place);
        self.child(value)
    }

    /// Leaves the containers that end before the value with the given number.
    fn leave(&mut self, next: u32) {
        while self.around.pop_if(|container| container.end <= next).is_some() {}
    }

    /// The path of a value in the innermost container.
    #[inline]
    fn child(&mut self, value: Val<'_>) -> PathNumber {
        // The document itself, regardless of its name in an enclosing document.
        let Some(container) = self.around.last() else { return PathNumber::DOCUMENT };
        let PathNumber(parent) = container.path;
        let (name, frame) = (value.name(), value.frame_text());
        if let Some(guess) = self.nodes.get(self.last as usize).map(|last| last.next)
            && guess != 0
            && let Some(node) = self.nodes.get(guess as usize)
            && node.parent == parent
            && is_named(node, name.bytes(frame))
        {
            self.last = guess;
            return PathNumber(guess);
        }
        self.find(parent, name, name.text(frame))
    }

    #[inline(never)]
    fn find(&mut self, parent: u32, name: Name, text: Option<&str>) -> PathNumber {
        if PathNumber(parent) == PathNumber::OTHERS {
            return PathNumber::OTHERS;
        }
        let new = self.nodes.len() as u32;
        // Distinct pairs have distinct keys.
        let key = (u64::from(parent) << 32 | u64::from(name.hash)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let is_short = text.is_none_or(|text| text.len() <= LONGEST_NAME);
        let first = self.by_hash.get(&key).copied().filter(|_| is_short);
        let known = match first {
            Some(first)
                if self
                    .nodes
                    .get(first as usize)
                    .is_some_and(|node| is_named(node, text.map(str::as_bytes))) =>
            {
                Some(first)
            }
            None if is_short => None,
            // A different name has the same hash. Two names cannot be made to share a text key.
            _ => self.others.get(&(parent, text_key(text.unwrap_or_default()))).copied(),
        };
        let path = match known {
            Some(known) => known,
            None if self.nodes.len() >= Self::MOST || self.bytes >= Self::MOST_BYTES => {
                return PathNumber::OTHERS;
            }
            None => {
                if first.is_none() && is_short {
                    self.by_hash.insert(key, new);
                } else {
                    self.others.insert((parent, text_key(text.unwrap_or_default())), new);
                }
                let name = text.map(|text| shown(text).into());
                self.bytes += text.map_or(0, |text| text.len().min(LONGEST_NAME));
                self.nodes.push(PathNode { parent, name, next: 0 });
                new
            }
        };
        if let Some(last) = self.nodes.get_mut(self.last as usize) {
            last.next = path;
        }
        self.last = path;
        PathNumber(path)
    }

    /// The path for people, built once per distinct path.
    pub(super) fn text_of(&self, PathNumber(path): PathNumber) -> String {
        if path == 0 {
            return "[]".to_owned();
        }
        let mut names = Vec::with_capacity(16);
        let mut at = path;
        while at != 0
            && let Some(node) = self.nodes.get(at as usize)
        {
            names.push(node.name.as_deref());
            at = node.parent;
        }
        let length: usize = names.iter().map(|name| name.map_or(2, |name| name.len() + 1)).sum();
        let mut text = String::with_capacity(length.min(LONGEST_PATH));
        for name in names.into_iter().rev() {
            match name {
                Some(name) => {
                    text.push('/');
                    text.push_str(name);
                }
                None => text.push_str("[]"),
            }
            if text.len() > LONGEST_PATH {
                let end = (0..=LONGEST_PATH).rev().find(|at| text.is_char_boundary(*at));
                text.truncate(end.unwrap_or(0));
                text.push('…');
                break;
            }
        }
        text
    }
}

#[inline]
fn is_named(node: &PathNode, name: Option<&[u8]>) -> bool {
    match (&node.name, name) {
        (Some(own), Some(name)) => same(own.as_bytes(), name),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The part of a name that a path shows.
fn shown(name: &str) -> &str {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let end = (0..=LONGEST_NAME).rev().find(|at| name.is_char_boundary(*at));
    name.get(..end.unwrap_or(0)).unwrap_or(name)
}

/// The maximum length of a path in bytes: names may be long and deep, and a report holds thousands of paths.
const LONGEST_PATH: usize = 1000;
/// Longer names are compared by their keys. The limit is one byte more than a path shows.
const LONGEST_NAME: usize = LONGEST_PATH + 1;
