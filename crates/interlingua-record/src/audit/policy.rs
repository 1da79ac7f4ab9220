//! The policy of an audit, from a TOML file: allowed and denied tools, severities and limits.
//!
//! ```toml
//! [tools]
//! allow = ["Read", "Grep", "mcp__github__*"]   # every other tool is a finding
//! deny = ["Bash"]
//!
//! [severity]                                   # "info", "warning", "error" or "off"
//! time-backwards = "error"
//!
//! [limits]
//! backwards-seconds = 60
//! jump-hours = 24
//! ```

use std::collections::HashMap;
use std::fmt;

use super::{AuditRule, AuditSeverity};

/// The allowed tools, the severity of each rule and the limits of an audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPolicy {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    /// `None` turns a rule off.
    severities: HashMap<AuditRule, Option<AuditSeverity>>,
    pub(super) backwards_ms: u64,
    pub(super) jump_ms: u64,
}

/// An invalid policy file: the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPolicyError(String);

impl fmt::Display for AuditPolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for AuditPolicyError {}

impl Default for AuditPolicy {
    /// No rules about tools; the default severities; a minute backwards, a day forward.
    fn default() -> Self {
        Self {
            allow: None,
            deny: Vec::new(),
            severities: HashMap::new(),
            backwards_ms: 60_000,
            jump_ms: 24 * 3_600_000,
        }
    }
}

impl AuditPolicy {
    /// Parses a policy file. Unknown names are errors.
    pub fn parse(text: &str) -> Result<Self, AuditPolicyError> {
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| AuditPolicyError(error.to_string().trim_end().to_owned()))?;
        let mut policy = Self::default();
        for (name, value) in &table {
            let members = value.as_table().ok_or_else(|| refused(format!("`{name}` must be a table")));
            match name.as_str() {
                "tools" => policy.tools(members?)?,
                "severity" => policy.severities(members?)?,
                "limits" => policy.limits(members?)?,
                _ => {
                    return Err(refused(format!(
                        "`{name}` is unknown; there are `tools`, `severity` and `limits`"
                    )));
                }
            }
        }
        Ok(policy)
    }

    fn tools(&mut self, table: &toml::Table) -> Result<(), AuditPolicyError> {
        for (name, value) in table {
            let names = value.as_array().and_then(|names| {
                names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
            });
            let names = names.ok_or_else(|| refused(format!("`tools.{name}` must be a list of names")))?;
            match name.as_str() {
                "allow" => self.allow = Some(names),
                "deny" => self.deny = names,
                _ => return Err(refused(format!("`tools.{name}` is unknown; there are `allow` and `deny`"))),
            }
        }
        Ok(())
    }

    fn severities(&mut self, table: &toml::Table) -> Result<(), AuditPolicyError> {
        for (name, value) in table {
            let rule = AuditRule::all()
                .find(|rule| rule.id() == name)
                .ok_or_else(|| refused(format!("there is no rule `{name}`")))?;
            let word = value.as_str().unwrap_or_default();
            let severity = AuditSeverity::ALL.into_iter().find(|severity| severity.word() == word);
            if severity.is_none() && word != "off" {
                let wanted = "`info`, `warning`, `error` or `off`";
                return Err(refused(format!("`severity.{name}` must be {wanted}")));
            }
            self.severities.insert(rule, severity);
        }
        Ok(())
    }

    fn limits(&mut self, table: &toml::Table) -> Result<(), AuditPolicyError> {
        for (name, value) in table {
            let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
            let number = number.ok_or_else(|| refused(format!("`limits.{name}` must be a whole number")))?;
            match name.as_str() {
                "backwards-seconds" => self.backwards_ms = number.saturating_mul(1000),
                "jump-hours" => self.jump_ms = number.saturating_mul(3_600_000),
                _ => {
                    let known = "`backwards-seconds` and `jump-hours`";
                    return Err(refused(format!("`limits.{name}` is unknown; there are {known}")));
                }
            }
        }
        Ok(())
    }

    /// The severity of a rule; `None` if the policy turns the rule off.
    pub fn severity(&self, rule: AuditRule) -> Option<AuditSeverity> {
        self.severities.get(&rule).copied().unwrap_or_else(|| Some(rule.default_severity()))
    }

    /// The rule that a call of the tool breaks. The list of denied tools has precedence.
    pub(super) fn breach(&self, tool: &str) -> Option<AuditRule> {
        let has = |names: &[String]| names.iter().any(|pattern| matches(pattern, tool));
        if has(&self.deny) {
            return Some(AuditRule::ToolDenied);
        }
        self.allow.as_ref().filter(|allowed| !has(allowed)).map(|_| AuditRule::ToolNotAllowed)
    }
}

fn refused(what: String) -> AuditPolicyError {
    AuditPolicyError(what)
}

/// Whether a name matches a pattern in which each `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = name.find(piece) else { return false };
        name = &name[at + piece.len()..];
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, holds) in [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Bash*", "BashOutput", true),
            ("mcp__*__read_*", "mcp__github__read_file", true),
            ("mcp__*__read_*", "mcp__github__write_file", false),
            ("*a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), holds, "{pattern} {name}");
        }
    }

    #[test]
    fn a_policy_with_a_mistake_is_refused_with_the_name_of_the_mistake() {
        for (text, wanted) in [
            ("tools = 1", "`tools` must be a table"),
            ("[tool]", "`tool` is unknown"),
            ("[tools]\nallow = 'x'", "`tools.allow` must be a list of names"),
            ("[severity]\ntime-backward = 'error'", "there is no rule `time-backward`"),
            ("[severity]\ntime-backwards = 'fatal'", "`severity.time-backwards` must be"),
            ("[limits]\njump-hours = -1", "`limits.jump-hours` must be a whole number"),
            ("[limits", "line 1"),
        ] {
            let error = AuditPolicy::parse(text).expect_err(text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
