//! Content blocks in the form of Anthropic's API: text, image, thinking, call and result, each an object with a `type`.
//!
//! The API and the programs of Anthropic use the blocks unchanged; logs of other agents use them with member names of
//! their own. `read` turns blocks of the API into events, `items` starts the items of blocks with
//! other names, and `write` turns gathered items into blocks of a log.

mod items;
mod read;
mod write;

pub(crate) use items::{is_content, shape_by, start_call, start_reasoning};
pub(crate) use read::{
    CACHE, Extent, ResultDetail, call, carried, citation, open_block, read_block, read_content,
    read_result_block, shape, take_opaque,
};
pub(crate) use write::{
    CallNames, blocks_of, call_block, joined_texts, only_text, text_block, thinking_blocks,
};
