//! `translate` carries out work orders; `receipt` checks and compares receipts.

use std::fs;
use std::path::{Path, PathBuf};

use interlingua::dialects::Role;
use interlingua_record::contract::{self, Digest, WorkOrder};
use interlingua_report::safe;
use interlingua_sessions::places::stdin_file;

use crate::error::{CommandError, Exit};
use crate::flags::{ReceiptCommand, Translate};
use crate::talk::{self, Talk};
use crate::{backends, outputs, receipts};

pub(crate) fn translate(args: &Translate, talk: &Talk) -> Result<Exit, CommandError> {
    let read_too = [&args.response, &args.previous, &args.backends].into_iter().flatten();
    let order_file = if args.order == Path::new("-") { stdin_file() } else { Some(args.order.as_path()) };
    let inputs: Vec<&Path> = read_too.map(PathBuf::as_path).chain(order_file).collect();
    let written: Vec<&Path> =
        [&args.output, &args.receipt].into_iter().flatten().map(PathBuf::as_path).collect();
    outputs::check_places(&written, &inputs)?;
    let name = safe::path_name(&args.order);
    let order = WorkOrder::read(&read_text(&args.order)?)
        .map_err(|error| CommandError::Order(name.clone(), error.to_string()))?;
    let previous = args.previous.as_deref().map(read).transpose()?.map(|bytes| Digest::of(&bytes));
    let own = backends::own(args.backends.as_deref())?;
    let mut done = match order.translate(&own) {
        Ok(done) => done,
        Err(refusal) => {
            write_receipt(args, order_file, &refusal.receipt(&order, previous.as_ref()).to_json())?;
            return Err(CommandError::Refused(refusal));
        }
    };
    let out = match &args.response {
        Some(path) => {
            let body = read(path)?;
            let role = if done.stream { Role::Stream } else { Role::Response };
            let answer = done.answer(&body, role);
            answer.map_err(|error| CommandError::Order(name, error.to_string()))?
        }
        None => done.sent.clone(),
    };
    let receipt = done.receipt(&order, previous.as_ref());
    match &args.output {
        Some(path) => outputs::write_file(path, order_file, &out)?,
        None => _ = talk::data(&out)?,
    }
    write_receipt(args, order_file, &receipt.to_json())?;
    talk.say(&receipts::receipt(&receipt));
    Ok(Exit::Done)
}

fn write_receipt(args: &Translate, order: Option<&Path>, receipt: &str) -> Result<(), CommandError> {
    match &args.receipt {
        Some(path) => outputs::write_file(path, order, receipt.as_bytes()),
        None => Ok(()),
    }
}

pub(crate) fn receipt(command: &ReceiptCommand, talk: &Talk) -> Result<Exit, CommandError> {
    match command {
        ReceiptCommand::Verify { receipt, request, sent, response, returned, previous } => {
            let files = [
                ("request", request),
                ("sent", sent),
                ("response", response),
                ("returned", returned),
                ("previous", previous),
            ];
            let mut known = Vec::new();
            for (name, path) in files {
                if let Some(path) = path {
                    known.push((name, read(path)?));
                }
            }
            let found = contract::verify(&read_text(receipt)?, &known);
            talk::text(&receipts::findings(&safe::path_name(receipt), &found, known.len()))?;
            Ok(if found.is_empty() { Exit::Done } else { Exit::Failed })
        }
        ReceiptCommand::Diff { one, two, quiet: _ } => {
            let changes = contract::diff(&read_text(one)?, &read_text(two)?);
            let changes = changes.ok_or_else(|| {
                CommandError::Order(safe::path_name(one), "one of the two is not JSON".to_owned())
            })?;
            talk::text(&receipts::changes(&changes))?;
            if changes.is_empty() {
                talk.say("both say the same\n");
            }
            Ok(if changes.is_empty() { Exit::Done } else { Exit::Failed })
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let read = || {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)?;
            return Ok(bytes);
        }
        fs::read(path)
    };
    read().map_err(|error| CommandError::Read(safe::path_name(path), error))
}

fn read_text(path: &Path) -> Result<String, CommandError> {
    String::from_utf8(read(path)?).map_err(|_| {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8");
        CommandError::Read(safe::path_name(path), error)
    })
}
