//! `dialects`: the registry, as a table or as JSON.

use interlingua::dialects::{DIALECTS, Dialect, RoleSpec};

use crate::error::{CommandError, Exit};
use crate::flags::Dialects;
use crate::{render, report, talk};

pub(crate) fn run(args: &Dialects) -> Result<Exit, CommandError> {
    if args.json {
        return talk::data(json().as_bytes());
    }
    let rows: Vec<[String; 7]> = DIALECTS.iter().map(|dialect| row(dialect)).collect();
    let head = ["dialect", "plane", "roles", "read", "write", "framing", "detected by"];
    talk::text(&render::table(&head, &rows))?;
    Ok(Exit::Done)
}

fn row(dialect: &Dialect) -> [String; 7] {
    let roles = |can: fn(&RoleSpec) -> bool| -> Vec<&'static str> {
        dialect.roles.iter().filter(|spec| can(spec)).map(|spec| spec.role.word()).collect()
    };
    let all = roles(|_| true);
    // `yes` where every role is meant, the roles where only some are.
    let which = |some: Vec<&str>| match some.len() {
        0 => "no".to_owned(),
        count if count == all.len() => "yes".to_owned(),
        _ => some.join(", "),
    };
    let mut framings: Vec<&str> = dialect.roles.iter().map(|spec| spec.framing.word()).collect();
    framings.dedup();
    [
        dialect.name.to_owned(),
        dialect.plane.word().to_owned(),
        all.join(", "),
        which(roles(|spec| spec.read.is_some())),
        which(roles(|spec| spec.write.is_some())),
        framings.join(", "),
        dialect.detected_by.to_owned(),
    ]
}

fn json() -> String {
    use interlingua::json::Str;
    report::document(|json| {
        json.array();
        for dialect in DIALECTS {
            let Dialect { name, module: _, plane, about, detected_by, issuer: _, roles, sniff: _ } = dialect;
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
