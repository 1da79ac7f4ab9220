//! Paths of logs, mapped into a repository by their text alone.

/// The path of a file in the repository, or `None` if the file is outside. A relative path begins at the session's
/// directory. An absolute path must be below the repository's root or below the session's directory, which is then the
/// root of the repository.
pub fn repository_path(path: &str, cwd: Option<&str>, root: Option<&str>) -> Option<String> {
    let is_absolute = path.starts_with('/');
    let below = |path: &str, folder: &str| {
        let path = normal(path)?;
        let folder = normal(folder)?;
        let rest = path.strip_prefix(&folder)?;
        if folder.is_empty() { Some(rest.to_owned()) } else { rest.strip_prefix('/').map(str::to_owned) }
    };
    let whole = match cwd {
        Some(cwd) if !is_absolute => format!("{cwd}/{path}"),
        _ => path.to_owned(),
    };
    let found = match root.and_then(|root| below(&whole, root)) {
        Some(found) => found,
        None if !whole.starts_with('/') => normal(&whole)?,
        None => below(&whole, cwd?)?,
    };
    let is_safe = !found.is_empty()
        && !found.contains(['\0', '\\'])
        && found.split('/').all(|part| !part.eq_ignore_ascii_case(".git"));
    is_safe.then_some(found)
}

/// The path without `.`, `..` and empty parts, and without its first slash; `None` if `..` leaves the root.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::repository_path;

    #[test]
    fn no_path_leaves_the_repository() {
        for (path, inside) in [
            ("/home/ann/p/src/a.rs", Some("src/a.rs")),
            ("/repo/src/a.rs", Some("src/a.rs")),
            ("src/./a.rs", Some("src/a.rs")),
            ("src/../a.rs", Some("a.rs")),
            ("../a.rs", None),
            ("../../../../../a.rs", None),
            ("/home/ann/p/../q/a.rs", None),
            ("/etc/passwd", None),
            ("/home/ann/project2/a.rs", None),
            ("/home/ann/p", None),
            (".git/hooks/pre-commit", None),
            ("a\\b", None),
            ("", None),
        ] {
            let found = repository_path(path, Some("/home/ann/p"), Some("/repo"));
            assert_eq!(found.as_deref(), inside, "{path}");
        }
        assert_eq!(repository_path("a/b", None, None).as_deref(), Some("a/b"));
        assert_eq!(repository_path("../b", None, None), None);
    }
}
