//! What Google's model APIs speak. All of them say what they say in the same parts.

pub mod gemini;
mod parts;
