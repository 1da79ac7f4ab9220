//! `convert --join`: one record of the files of each session, its subagents and its forks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use interlingua::dialects::ours::record;
use interlingua::graph::Kinship;
use interlingua::model::Usage;
use interlingua_report::Converted;
use interlingua_sessions::{self as sessions, Family, FoundFile, PrivateFolder};

use crate::convert::{
    RunAccount, RunSummary, convert_file, further_file, output_directory, report_file, report_place, tell,
};
use crate::error::{CommandError, of_sources};
use crate::flags::Convert;
use crate::jobs;
use crate::outputs::{self, Sink, Taken};
use crate::talk::Talk;

/// Makes one record of the files of each session.
pub(crate) fn join(
    inputs: &[PathBuf],
    output: &Path,
    into_directory: bool,
    args: &Convert,
    talk: &Talk,
) -> Result<RunSummary, CommandError> {
    if args.target().name != record::DIALECT.name {
        return Err(CommandError::JoinsRecords(args.target()));
    }
    let folders = into_directory.then(|| output_directory(output, args)).transpose()?.unwrap_or_default();
    let found = sessions::find(inputs, into_directory.then_some(output));
    let (files, skipped, failed) = (found.files, of_sources(found.skipped), of_sources(found.failed));
    let read: Vec<&Path> = files.iter().filter_map(|file| file.input.path()).collect();
    let written: Vec<&Path> =
        (!into_directory).then_some(output).into_iter().chain(report_place(args)).collect();
    outputs::check_places(&written, &read)?;
    let folder = PrivateFolder::new().map_err(|error| CommandError::Write(std::env::temp_dir(), error))?;
    let numbers: Vec<usize> = (0..files.len()).collect();
    let to_record =
        |number: usize, told: Vec<(String, Usage)>| -> Result<(Converted, Kinship), CommandError> {
            let path = folder.numbered(number);
            let converted = convert_file(&files[number].input, &path, told, args)?;
            let facts = sessions::kinship(&path)
                .map_err(|error| CommandError::Read(converted.name.clone(), error))?;
            Ok((converted, facts))
        };
    let mut account = RunAccount::begin(args)?;
    (account.summary.skipped, account.summary.failed) = (skipped, failed);
    let mut family = Family::default();
    // Of each member of the family: its number among the files, and its conversion.
    let mut members: Vec<(usize, Converted)> = Vec::new();
    let work = |number: &usize| to_record(*number, Vec::new());
    jobs::each(&numbers, &args.bulk, work, |number, result| match result {
        Ok((converted, facts)) => {
            family.add(folder.numbered(*number), source_name(&files[*number]), facts);
            members.push((*number, converted));
        }
        Err(error) => account.leave_out(&files[*number], error),
    });
    family.link()?;
    // Usage of a subagent that the parent's record holds is counted in the parent.
    for (member, (number, converted)) in members.iter_mut().enumerate() {
        let told = family.told_by_parent(member);
        if !told.is_empty() {
            let (again, facts) = to_record(*number, told)?;
            *converted = again;
            family.replace(member, facts);
        }
    }
    let roots = family.roots();
    if let (false, [_, _, ..]) = (into_directory, &roots[..]) {
        return Err(CommandError::SeveralSessions(roots.len()));
    }
    let taken = Taken::new(&files, report_file(args));
    let mut written: HashMap<usize, PathBuf> = HashMap::new();
    for root in roots {
        let (source, converted) = (&files[members[root].0], &members[root].1);
        let path = if into_directory {
            let path =
                taken.claim(output, &source.base, args.target().name, args.extension(record_framing()));
            if let Some(parent) = path.parent() {
                folders.make(parent)?;
            }
            path
        } else {
            output.to_owned()
        };
        let mut sink = Sink::file(&path, source.input.path())?.encoded(args.tag())?;
        family.write(root, &mut sink)?;
        sink.take_error()?;
        // A conversion with several records has no joined session, and a file holds one record.
        let mut number = 1;
        let mut next = || {
            number += 1;
            let further = if into_directory {
                taken.claim(output, &source.base, args.target().name, args.extension(record_framing()))
            } else {
                outputs::further(output, number)
            };
            further_file(&further, source.input.path())
        };
        sink.finish_apart(&converted.report.further_sessions, &mut next)?;
        written.insert(root, path);
    }
    for (member, (_, mut converted)) in members.into_iter().enumerate() {
        converted.output = written.get(&family.root_of(member)).cloned();
        account.add(&converted);
    }
    tell(&account.summary, talk);
    account.end()
}

fn record_framing() -> interlingua::framing::Framing {
    record::DIALECT.roles[0].framing
}

/// The name of a source file without its extensions, for the records that its own is joined to.
fn source_name(file: &FoundFile) -> String {
    file.base.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
