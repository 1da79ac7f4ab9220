//! Values of fields: what a report and a law must be able to do with each.

use super::Field;
use crate::json::{Raw, Str};

/// A value of a field.
pub trait Value {
    /// The text it was read from, if it is text or JSON.
    fn source(&self) -> Option<&str> {
        None
    }

    /// Whether it is a copy, which may be of an earlier frame.
    fn is_copy(&self) -> bool {
        false
    }

    /// Scalars and empty containers in it.
    fn leaves(&self) -> u64 {
        1
    }

    /// Makes it another legal value of its type: a law changes every field and looks for the change.
    fn change(&mut self);
}

impl Value for Str<'_> {
    fn source(&self) -> Option<&str> {
        Some(self.as_escaped())
    }

    fn is_copy(&self) -> bool {
        self.is_owned()
    }

    fn change(&mut self) {
        self.push(&Str::escaped("q"));
    }
}

impl Value for Raw<'_> {
    fn source(&self) -> Option<&str> {
        Some(self.as_str())
    }

    fn is_copy(&self) -> bool {
        self.is_owned()
    }

    fn leaves(&self) -> u64 {
        Raw::leaves(self)
    }

    fn change(&mut self) {
        let json = self.as_str().trim_end();
        let last = json.len() - 1;
        *self = Raw::owned(match json.as_bytes()[last] {
            b'"' => format!("{}q\"", &json[..last]),
            b'}' if json == "{}" => "{\"q\":0}".to_owned(),
            b'}' => format!("{},\"q\":0}}", &json[..last]),
            b']' if json == "[]" => "[0]".to_owned(),
            b']' => format!("{},0]", &json[..last]),
            b'0'..=b'9' => format!("{json}1"),
            _ => "7".to_owned(),
        });
    }
}

impl Value for bool {
    fn change(&mut self) {
        *self = !*self;
    }
}

impl Value for u64 {
    fn change(&mut self) {
        *self += 1;
    }
}

impl Value for i64 {
    fn change(&mut self) {
        *self ^= 1;
    }
}

impl Value for u16 {
    fn change(&mut self) {
        *self ^= 1;
    }
}

/// Whom the fields of an event are shown to.
pub type Show<'s> = dyn FnMut(Field, &mut dyn Value) + 's;
