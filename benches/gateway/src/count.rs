//! The instructions of a call in user space, counted by callgrind: the difference of two runs with few and with many calls,
//! so that the start of the gateway does not count. The count does not depend on the load of the machine.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use crate::BenchResult;
use crate::load::{ClientApi, Load, LoadEnd};
use crate::process::{Gateway, Recording};

/// The connections of a run.
const CONNECTIONS: usize = 4;

/// The calls of each connection in the two runs.
const FEW: usize = 50;
const MANY: usize = 250;

/// The calls that are counted: a name, the clients, the model that selects the backend, whether the answer is a stream, and
/// whether calls are recorded.
const ROWS: [(&str, ClientApi, &str, bool, Recording); 6] = [
    ("messages-to-chat", ClientApi::Messages, "same", false, Recording::Off),
    ("chat-to-anthropic", ClientApi::Chat, "other", false, Recording::Off),
    ("chat-copied", ClientApi::Chat, "same", false, Recording::Off),
    ("chat-to-anthropic-recorded", ClientApi::Chat, "other", false, Recording::On),
    ("messages-to-chat-stream", ClientApi::Messages, "same", true, Recording::Off),
    ("chat-copied-stream", ClientApi::Chat, "same", true, Recording::Off),
];

/// Prints the instructions of each kind of call. The profiles of the longer runs are written to `folder`, if given.
pub(crate) fn run(program: &Path, backend: SocketAddr, folder: Option<&Path>) -> BenchResult<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| call | instructions |\n|---|---:|")?;
    for (name, api, model, is_stream, recording) in ROWS {
        let count = |calls: usize, keep: Option<&Path>| {
            let gateway = Gateway::start_counted(program, backend, recording)?;
            let load =
                Load { api, address: gateway.address, model, is_stream, connections: CONNECTIONS, size: 0 };
            load.run(LoadEnd::Calls(calls))?;
            gateway.instructions(keep)
        };
        let keep = folder.map(|folder| folder.join(format!("{name}.callgrind")));
        let more = count(MANY, keep.as_deref())?.saturating_sub(count(FEW, None)?);
        writeln!(out, "| {name} | {} |", more / ((MANY - FEW) * CONNECTIONS) as u64)?;
        out.flush()?;
    }
    Ok(())
}
