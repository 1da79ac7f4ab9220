//! Structural mutations: valid JSON documents that no program wrote. Values get another type or another place, JSON
//! becomes text and text JSON, members are duplicated, reordered or get an escaped name.

use interlingua::tape::{Kind, Limits, TapeBuf, Val};

use super::damage::Dice;

/// A JSON value with the original spelling of leaves and names.
#[derive(Clone)]
enum Tree {
    Leaf(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// The values of a file, used by mutations.
pub struct Restructured {
    /// Lines, or one document. Text that is not JSON is kept unchanged.
    lines: Vec<Result<Tree, Vec<u8>>>,
    /// Values with their member names.
    pool: Vec<(String, Tree)>,
}

/// The maximum size of the pool; a larger pool would be copied more often than used.
const POOL: usize = 4000;

impl Restructured {
    pub fn new(bytes: &[u8]) -> Self {
        let whole = tree_of(bytes).map(|tree| vec![Ok(tree)]);
        let lines = whole.unwrap_or_else(|| {
            let lines = bytes.split(|byte| *byte == b'\n');
            lines.map(|line| tree_of(line).ok_or_else(|| line.to_vec())).collect()
        });
        let mut pool = Vec::new();
        for tree in lines.iter().flatten() {
            gather("", tree, &mut pool);
        }
        Self { lines, pool }
    }

    /// The file with about every second line mutated, and the number of mutated lines.
    pub fn mutation(&self, dice: &mut Dice) -> (Vec<u8>, usize) {
        let mut lines = Vec::new();
        let mut mutated = 0;
        for line in &self.lines {
            let tree = match line {
                Ok(tree) if self.lines.len() == 1 || dice.below(2) == 0 => tree,
                Ok(tree) => {
                    lines.push(text(tree).into_bytes());
                    continue;
                }
                Err(bytes) => {
                    lines.push(bytes.clone());
                    continue;
                }
            };
            let mut tree = tree.clone();
            // A document is as long as many lines, so it gets more mutations.
            let times = 1 + dice.below(3) + if self.lines.len() == 1 { size(&tree) / 60 } else { 0 };
            for _ in 0..times {
                let at = dice.below(size(&tree));
                self.change(&mut tree, &mut { at }, "", dice);
            }
            mutated += times.div_ceil(3);
            lines.push(text(&tree).into_bytes());
            if dice.below(40) == 0 {
                lines.push(lines.last().cloned().unwrap_or_default());
            }
        }
        (lines.join(&b'\n'), mutated)
    }

    /// Changes the value with that number, in document order.
    fn change(&self, tree: &mut Tree, at: &mut usize, name: &str, dice: &mut Dice) -> bool {
        if *at == 0 {
            self.change_here(tree, name, dice);
            return true;
        }
        *at -= 1;
        match tree {
            Tree::Leaf(_) => false,
            Tree::List(elements) => elements.iter_mut().any(|element| self.change(element, at, name, dice)),
            Tree::Object(members) => {
                members.iter_mut().any(|(name, member)| self.change(member, at, &name.clone(), dice))
            }
        }
    }

    fn change_here(&self, tree: &mut Tree, name: &str, dice: &mut Dice) {
        const VALUES: &[&str] = &[
            "null",
            "true",
            "false",
            "0",
            "7",
            "-1.5e3",
            "\"\"",
            "\"~\"",
            "\"~~\"",
            "\"\\u007e\"",
            "\"x\"",
            "[]",
            "{}",
            "[null]",
            "\"{}\"",
            "\"[]\"",
            "\"{\\\"a\\\": 1}\"",
            "\"null\"",
            "\"\\ud800\"",
            "{\"type\":\"text\"}",
            "[{\"type\":\"text\",\"text\":\"x\"}]",
            "[\"x\",\"~\"]",
            "{\"text\":\"x\"}",
            "1e999",
            "\"\\/\"",
            "\"unknown\"",
            "\"unparsed\"",
            "\"system\"",
        ];
        match (dice.below(9), &mut *tree) {
            (0, _) => {
                let value = VALUES[dice.below(VALUES.len())];
                *tree = tree_of(value.as_bytes()).unwrap_or(Tree::Leaf("null".to_owned()));
            }
            (1, Tree::Leaf(leaf)) if leaf.starts_with('"') => {
                let plain: String = serde_json::from_str(leaf).unwrap_or_default();
                *tree = tree_of(plain.as_bytes()).unwrap_or(Tree::List(vec![tree.clone()]));
            }
            (1, _) => *tree = Tree::Leaf(serde_json::Value::String(text(tree)).to_string()),
            (2, _) => *tree = Tree::List(vec![tree.clone(); 1 + dice.below(2)]),
            (3, _) => {
                let name = &self.pool[dice.below(self.pool.len())].0;
                *tree = Tree::Object(vec![(name.clone(), tree.clone())]);
            }
            (4 | 5, Tree::Object(members)) if !members.is_empty() => {
                let (one, other) = (dice.below(members.len()), dice.below(members.len()));
                match dice.below(6) {
                    0 => members.swap(one, other),
                    1 => members.insert(other, members[one].clone()),
                    2 => _ = members.remove(one),
                    3 => members.push((members[one].0.clone(), self.value(&members[one].0, dice))),
                    4 => members[one].0 = escaped(&members[one].0),
                    _ => members.insert(other, self.pool[dice.below(self.pool.len())].clone()),
                }
            }
            (4 | 5, Tree::List(elements)) if !elements.is_empty() => {
                let (one, other) = (dice.below(elements.len()), dice.below(elements.len()));
                match dice.below(5) {
                    0 => elements.swap(one, other),
                    1 => elements.insert(other, elements[one].clone()),
                    2 => _ = elements.remove(one),
                    3 => elements.insert(other, self.value(name, dice)),
                    _ => elements.reverse(),
                }
            }
            (6, _) => *tree = self.pool[dice.below(self.pool.len())].1.clone(),
            _ => *tree = self.value(name, dice),
        }
    }

    /// A value of a member with that name somewhere in the file.
    fn value(&self, name: &str, dice: &mut Dice) -> Tree {
        let same: Vec<&Tree> =
            self.pool.iter().filter(|(known, _)| known == name).map(|(_, tree)| tree).collect();
        same.get(dice.below(same.len())).map_or(Tree::Leaf("null".to_owned()), |tree| (*tree).clone())
    }
}

/// The same name, with its first letter as an escape.
fn escaped(name: &str) -> String {
    match name.bytes().next() {
        Some(first) if first.is_ascii_alphanumeric() => format!("\\u00{first:02x}{}", &name[1..]),
        _ => name.to_owned(),
    }
}

fn gather(name: &str, tree: &Tree, pool: &mut Vec<(String, Tree)>) {
    if pool.len() < POOL {
        pool.push((name.to_owned(), tree.clone()));
    }
    match tree {
        Tree::Leaf(_) => {}
        Tree::List(elements) => elements.iter().for_each(|element| gather(name, element, pool)),
        Tree::Object(members) => members.iter().for_each(|(name, member)| gather(name, member, pool)),
    }
}

fn size(tree: &Tree) -> usize {
    1 + match tree {
        Tree::Leaf(_) => 0,
        Tree::List(elements) => elements.iter().map(size).sum(),
        Tree::Object(members) => members.iter().map(|(_, member)| size(member)).sum(),
    }
}

fn tree_of(bytes: &[u8]) -> Option<Tree> {
    let text = std::str::from_utf8(bytes).ok()?;
    TapeBuf::default().parse(text, &Limits::default()).ok().map(|tape| tree_at(tape.root()))
}

fn tree_at(val: Val<'_>) -> Tree {
    match val.kind() {
        Kind::Object => Tree::Object(
            val.members().map(|(name, member)| (name.as_escaped().to_owned(), tree_at(member))).collect(),
        ),
        Kind::Array => Tree::List(val.elements().map(tree_at).collect()),
        Kind::Null | Kind::Bool | Kind::Number | Kind::String => Tree::Leaf(val.text().to_owned()),
    }
}

fn text(tree: &Tree) -> String {
    match tree {
        Tree::Leaf(leaf) => leaf.clone(),
        Tree::List(elements) => format!("[{}]", elements.iter().map(text).collect::<Vec<_>>().join(",")),
        Tree::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(name, member)| format!("\"{name}\":{}", text(member))).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}
