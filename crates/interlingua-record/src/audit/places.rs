//! JSON pointers of findings: the value of a finding inside its frame, and the frame inside its document.

use std::fmt::Write as _;

use interlingua::error::Place;
use interlingua::framing::{FramePart, Framing};
use interlingua::tape::{Kind, Val};

/// The pointer of the first text inside `frame` that equals `text`.
pub(super) fn pointer_of(frame: Val<'_>, text: &str) -> Option<String> {
    let mut pointer = String::new();
    find(frame, text, &mut pointer).then_some(pointer)
}

/// Frames are at most as deep as the tape's limit allows, so the recursion is bounded.
fn find(value: Val<'_>, text: &str, pointer: &mut String) -> bool {
    let length = pointer.len();
    match value.kind() {
        Kind::String => return value.is(text),
        Kind::Object => {
            for (name, member) in value.members() {
                let _ = write!(pointer, "/{}", name.decode().replace('~', "~0").replace('/', "~1"));
                if find(member, text, pointer) {
                    return true;
                }
                pointer.truncate(length);
            }
        }
        Kind::Array => {
            for (number, element) in value.elements().enumerate() {
                let _ = write!(pointer, "/{number}");
                if find(element, text, pointer) {
                    return true;
                }
                pointer.truncate(length);
            }
        }
        _ => {}
    }
    false
}

/// The same place with a pointer from the root of the document, if the frame is an element of the document's list.
pub(super) fn from_document(mut place: Place, framing: Framing) -> Place {
    let (Framing::Documents(path) | Framing::LinesOrDocuments(path, _)) = framing else { return place };
    if let FramePart::Element { index, .. } = place.frame.part {
        let list = path.iter().fold(String::new(), |list, name| list + "/" + name);
        place.pointer = Some(format!("{list}/{index}{}", place.pointer.unwrap_or_default()));
    }
    place
}
