//! `matrix`: the fields each dialect supports, the losses from one dialect to another, and the rules of backends.

use std::fmt::Write as _;

use interlingua::dialects::{DIALECTS, Dialect, Role};
use interlingua::json::Str;
use interlingua::model::{Field, Group, Support};
use interlingua::wire::backends::{Backend, Capabilities, SharedBackend};
use interlingua_report::json::document;
use interlingua_report::render;

use crate::backends;
use crate::error::{CommandError, Exit};
use crate::flags::{Matrix, TableFormat};
use crate::talk;

pub(crate) fn run(args: &Matrix) -> Result<Exit, CommandError> {
    if args.list_backends {
        return print(&backend_table(&backends::own(args.backends.as_deref())?), args.format);
    }
    let table = match (args.from, args.to) {
        (Some(from), Some(to)) => {
            let readable = from.roles.iter().filter(|spec| spec.read.is_some() && is_compared(spec.role));
            let roles: Vec<Role> = readable.map(|spec| spec.role).collect();
            if let Some(role) =
                roles.first().filter(|_| roles.iter().all(|role| to.role_for(*role).is_none()))
            {
                return Err(CommandError::NoTargetRole(to, *role));
            }
            between(from, to, args.format)
        }
        (Some(one), None) => whole(&[one], args.format),
        (None, _) => whole(&model_apis(), args.format),
    };
    if let (true, TableFormat::Text, Some(from), Some(to)) =
        (table.rows.is_empty(), args.format, args.from, args.to)
    {
        return talk::text(&format!("nothing is lost: `{}` has all that `{}` has\n", to.name, from.name))
            .map(|()| Exit::Done);
    }
    print(&table, args.format)
}

/// A table, before it is printed.
struct MatrixTable {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

fn print(table: &MatrixTable, format: TableFormat) -> Result<Exit, CommandError> {
    match format {
        TableFormat::Text => {
            talk::text(&render::table(&table.head, &table.rows))?;
            Ok(Exit::Done)
        }
        TableFormat::Markdown => talk::data(markdown(table).as_bytes()),
        TableFormat::Json => talk::data(json(table).as_bytes()),
    }
}

fn markdown(table: &MatrixTable) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&table.head);
    let _ = writeln!(text, "|{}", "---|".repeat(table.head.len()));
    text.extend(table.rows.iter().map(|row| line(row)));
    text
}

fn json(table: &MatrixTable) -> String {
    document(|json| {
        json.array();
        for row in &table.rows {
            json.object();
            for (name, cell) in table.head.iter().zip(row) {
                json.key(&name.replace(' ', "_")).str(&Str::plain(cell));
            }
            json.end_object();
        }
        json.end_array();
    })
}

/// The dialects used between clients and model APIs.
fn model_apis() -> Vec<&'static Dialect> {
    DIALECTS.iter().copied().filter(|dialect| dialect.role(Role::Request).is_some()).collect()
}

/// The support for a field in a role of a dialect, if the dialect writes that role.
fn support(dialect: &Dialect, role: Role, field: Field) -> Option<Support> {
    Some((dialect.role(role)?.write.as_ref()?.support)(field))
}

fn word(support: Support) -> &'static str {
    match support {
        Support::Exactly => "exact",
        Support::Emulated(_) => "emulated",
        Support::Less(_) => "lossy",
        Support::No(_) => "none",
    }
}

/// How the field is supported, or why it is not.
fn detail(support: Support, format: TableFormat) -> String {
    match support {
        Support::Exactly => String::new(),
        Support::Emulated(how) | Support::Less(how) => how.to_owned(),
        Support::No(reason) => match format {
            // JSON output holds the code of the reason, for programs to compare.
            TableFormat::Json => reason.word().to_owned(),
            TableFormat::Text | TableFormat::Markdown => reason.phrase().to_owned(),
        },
    }
}

/// The name of a field. JSON output holds the name that policies use.
const fn feature(field: Field, format: TableFormat) -> &'static str {
    match format {
        TableFormat::Json => field.word(),
        TableFormat::Text | TableFormat::Markdown => field.label(),
    }
}

/// Every field supported by any of the dialects, with the support of each dialect, in requests and responses.
fn whole(dialects: &[&'static Dialect], format: TableFormat) -> MatrixTable {
    let head = ["feature", "in"].into_iter().chain(dialects.iter().map(|dialect| dialect.name));
    let mut rows = Vec::new();
    for role in [Role::Request, Role::Response, Role::Log, Role::Live, Role::Input] {
        for field in fields() {
            let all: Vec<Option<Support>> =
                dialects.iter().map(|dialect| support(dialect, role, field)).collect();
            if all.iter().flatten().all(|support| matches!(support, Support::No(_))) {
                continue;
            }
            let cells = all.into_iter().map(|support| support.map_or("", word).to_owned());
            rows.push(
                [feature(field, format).to_owned(), role.word().to_owned()]
                    .into_iter()
                    .chain(cells)
                    .collect(),
            );
        }
    }
    MatrixTable { head: head.map(str::to_owned).collect(), rows }
}

/// How well a conversion carries each field that the first dialect has. Between model APIs only fields with losses are
/// listed, for sessions all fields.
fn between(from: &'static Dialect, to: &'static Dialect, format: TableFormat) -> MatrixTable {
    let mut rows = Vec::new();
    let readable = from.roles.iter().filter(|spec| spec.read.is_some());
    for role in readable.map(|spec| spec.role).filter(|role| is_compared(*role)) {
        for field in fields() {
            let Some(carried) = from.carries(role, to, field) else { continue };
            let is_listed = from.name != to.name && role.is_session() || carried != Support::Exactly;
            if is_listed {
                rows.push(vec![
                    feature(field, format).to_owned(),
                    role.word().to_owned(),
                    word(carried).to_owned(),
                    detail(carried, format),
                ]);
            }
        }
    }
    let head = ["feature", "in", "fidelity", "how"].map(str::to_owned).to_vec();
    MatrixTable { head, rows }
}

/// Whether a role holds a conversation, not token counts or model lists.
const fn is_compared(role: Role) -> bool {
    match role {
        Role::Request | Role::Response | Role::Stream | Role::Log | Role::Live => true,
        Role::Count | Role::Counted | Role::Models | Role::Input => false,
    }
}

/// Fields except structure and padding, in the order of reports.
fn fields() -> impl Iterator<Item = Field> {
    let mut all: Vec<Field> = Field::ALL.to_vec();
    all.retain(|field| {
        field.group() != Group::Bookkeeping || *field != Field::Structure && *field != Field::Padding
    });
    all.sort_by_key(|field| field.group());
    all.into_iter()
}

/// The rules of each backend, and the models with rules of their own.
fn backend_table(own: &[SharedBackend]) -> MatrixTable {
    let head = ["backend", "dialect", "rule", "value", "models"].map(str::to_owned).to_vec();
    let mut rows = Vec::new();
    for backend in own.iter().map(|own| &**own).chain(Backend::built_in().iter().copied()) {
        let of_all = backend.takes.rules();
        let mut add = |models: &str, takes: &Capabilities| {
            for ((rule, value), (_, usual)) in takes.rules().into_iter().zip(&of_all) {
                if models == "*" || value != *usual {
                    let cells = [&*backend.name, backend.dialect, rule, &value.to_string(), models];
                    rows.push(cells.map(str::to_owned).to_vec());
                }
            }
        };
        add("*", &backend.takes);
        for row in backend.models.iter() {
            add(&row.names.join(" "), &row.takes);
        }
    }
    MatrixTable { head, rows }
}
