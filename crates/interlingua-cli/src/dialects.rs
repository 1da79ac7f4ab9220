//! `dialects`: the registry, as a table or as JSON.

use interlingua::dialects::{DIALECTS, Dialect, RoleSpec};
use interlingua_report::json::document;
use interlingua_report::render;

use crate::error::{CommandError, Exit};
use crate::flags::Dialects;
use crate::talk;

pub(crate) fn run(args: &Dialects) -> Result<Exit, CommandError> {
    if args.json {
        return talk::data(json().as_bytes());
    }
    let rows: Vec<[String; 3]> = DIALECTS.iter().flat_map(|dialect| rows(dialect)).collect();
    talk::text(&render::table(&["dialect", "plane", "reads and writes"], &rows))?;
    Ok(Exit::Done)
}

/// The table rows of a dialect; long role lists wrap to several rows.
fn rows(dialect: &Dialect) -> Vec<[String; 3]> {
    let roles = dialect.roles.iter().map(|RoleSpec { role, read, write, .. }| match (read, write) {
        (Some(_), None) => format!("{} (reads)", role.word()),
        (None, Some(_)) => format!("{} (writes)", role.word()),
        _ => role.word().to_owned(),
    });
    let mut lines: Vec<String> = Vec::new();
    for role in roles {
        match lines.last_mut() {
            Some(line) if line.len() + role.len() + 2 <= ROLES_WIDTH => {
                line.push_str(", ");
                line.push_str(&role);
            }
            _ => lines.push(role),
        }
    }
    let named = |(number, roles)| {
        let [name, plane] = if number == 0 { [dialect.name, dialect.plane.word()] } else { [""; 2] };
        [name.to_owned(), plane.to_owned(), roles]
    };
    lines.into_iter().enumerate().map(named).collect()
}

/// Columns left for roles in a terminal of 80 columns.
const ROLES_WIDTH: usize = 52;

fn json() -> String {
    use interlingua::json::Str;
    document(|json| {
        json.array();
        for dialect in DIALECTS {
            let Dialect {
                name,
                module: _,
                plane,
                about,
                detected_by,
                flavour_of: _,
                issuer: _,
                lineage: _,
                roles,
                reads_more: _,
                sniff: _,
            } = dialect;
            json.object().key("name").literal(name).key("plane").literal(plane.word());
            json.key("about").str(&Str::plain(about)).key("detected_by").str(&Str::plain(detected_by));
            json.key("roles").array();
            for RoleSpec { role, framing, read, write } in *roles {
                json.object().key("role").literal(role.word()).key("framing").literal(framing.word());
                json.key("read").bool(read.is_some()).key("write").bool(write.is_some()).end_object();
            }
            json.end_array().end_object();
        }
        json.end_array();
    })
}
