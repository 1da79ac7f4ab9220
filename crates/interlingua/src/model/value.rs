//! Values of fields: the operations reports and law tests need of each value.

use super::Field;
use crate::json::{Raw, Str};

/// A value of a field.
pub trait Value {
    /// The text the value was read from, if it is text or JSON.
    fn source(&self) -> Option<&str> {
        None
    }

    /// Whether the value is a copy, possibly of an earlier frame.
    fn is_copy(&self) -> bool {
        false
    }

    /// The number of scalars and empty containers in the value.
    fn leaves(&self) -> u64 {
        1
    }

    /// Changes the value to a different legal value of its type: a law test changes every field and looks for the
    /// change.
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

/// A visitor of the fields of an event.
pub type Show<'s> = dyn FnMut(Field, &mut dyn Value) + 's;
