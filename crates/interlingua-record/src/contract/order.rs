//! A work order: a vendor's request, its backend, and the fields that must not be lost.

use std::fmt;

use interlingua::dialects::{Dialect, Role};
use interlingua::ledger::{LossPolicy, PolicyError};
use interlingua::model::{Field, Support};
use interlingua::sniff::{self, Detection};
use interlingua::tape::{Kind, Limits, TapeBuf, Val};

/// A parsed work order.
#[derive(Clone, Debug)]
pub struct WorkOrder {
    /// A label chosen by the caller.
    pub task: Option<String>,
    /// The dialect of the request.
    pub client: &'static Dialect,
    /// The request, unchanged.
    pub request: String,
    /// The dialect of the backend.
    pub backend: &'static Dialect,
    /// The name of the backend, if it is not the vendor of the dialect.
    pub backend_name: Option<String>,
    /// The model to request, if it differs from the model in the request.
    pub model: Option<String>,
    /// The minimum fidelity of individual fields.
    pub requirements: Vec<Requirement>,
    /// The loss policy.
    pub policy: LossPolicy,
    /// Limits of the order.
    pub budget: Budget,
}

/// A field with its required fidelity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The field.
    pub feature: Field,
    /// The required fidelity.
    pub minimum: Fidelity,
}

/// How well a target supports a field, from not at all to exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fidelity {
    /// The field is lost.
    None,
    /// Some values of the field are lost.
    Lossy,
    /// The field is carried in another form.
    Emulated,
    /// The field is carried unchanged.
    Exact,
}

/// Limits of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The maximum number of output tokens.
    pub max_output_tokens: Option<u64>,
    /// The maximum size of the backend's request in bytes.
    pub max_request_bytes: Option<u64>,
}

impl Fidelity {
    /// Every fidelity.
    pub const ALL: [Fidelity; 4] = [Fidelity::None, Fidelity::Lossy, Fidelity::Emulated, Fidelity::Exact];

    /// The word for the fidelity in orders.
    pub const fn word(self) -> &'static str {
        match self {
            Fidelity::None => "none",
            Fidelity::Lossy => "lossy",
            Fidelity::Emulated => "emulated",
            Fidelity::Exact => "exact",
        }
    }

    /// The fidelity that corresponds to an entry in a target's support table.
    pub const fn of(support: Support) -> Self {
        match support {
            Support::Exactly => Fidelity::Exact,
            Support::Emulated(_) => Fidelity::Emulated,
            Support::Less(_) => Fidelity::Lossy,
            Support::No(_) => Fidelity::None,
        }
    }
}

/// An error in an order, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderError {
    /// The JSON pointer.
    pub pointer: String,
    /// The error message.
    pub what: String,
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the order" } else { &*self.pointer };
        write!(f, "{place}: {}", self.what)
    }
}

impl std::error::Error for OrderError {}

/// The members of an order.
pub const MEMBERS: [&str; 9] =
    ["schema", "task", "dialect", "request", "backend", "model", "requirements", "policy", "budget"];
const BACKEND_MEMBERS: [&str; 2] = ["dialect", "name"];
const REQUIREMENT_MEMBERS: [&str; 2] = ["feature", "minimum"];
const BUDGET_MEMBERS: [&str; 2] = ["max_output_tokens", "max_request_bytes"];

impl WorkOrder {
    /// Parses an order.
    pub fn read(text: &str) -> Result<Self, OrderError> {
        let mut tape = TapeBuf::default();
        let tape = tape
            .parse(text, &Limits::default())
            .map_err(|fault| wrong("", format!("not JSON: {fault:?}")))?;
        let root = tape.root();
        known_members(root, &MEMBERS, "")?;
        match root.get("schema").and_then(|schema| schema.str()) {
            Some(schema) if schema.is(super::WORK_ORDER) => {}
            Some(schema) => {
                return Err(wrong(
                    "/schema",
                    format!("expected `{}`, found `{}`", super::WORK_ORDER, schema.decode()),
                ));
            }
            None => return Err(wrong("/schema", format!("expected `{}`", super::WORK_ORDER))),
        }
        let request = root.get("request").filter(|request| request.kind() == Kind::Object);
        let request = request.ok_or_else(|| wrong("/request", "expected a request of a model API"))?;
        let client = match word(root, "dialect", "/dialect")? {
            Some(name) => wire_dialect(&name, "/dialect")?,
            None => detected(request.text())?,
        };
        let backend = root.get("backend").ok_or_else(|| wrong("/backend", "expected where to send it"))?;
        known_members(backend, &BACKEND_MEMBERS, "/backend")?;
        let name = word(backend, "dialect", "/backend/dialect")?;
        let name = name.ok_or_else(|| wrong("/backend/dialect", "expected the name of a dialect"))?;
        let budget = root.get("budget");
        if let Some(budget) = budget {
            known_members(budget, &BUDGET_MEMBERS, "/budget")?;
        }
        let limit = |name: &str| match budget.and_then(|budget| budget.get(name)) {
            Some(limit) => limit
                .u64()
                .map(Some)
                .ok_or_else(|| wrong(&format!("/budget/{name}"), "expected a whole number")),
            None => Ok(None),
        };
        Ok(Self {
            task: word(root, "task", "/task")?,
            client,
            request: request.text().to_owned(),
            backend: wire_dialect(&name, "/backend/dialect")?,
            backend_name: word(backend, "name", "/backend/name")?,
            model: word(root, "model", "/model")?,
            requirements: requirements(root)?,
            policy: policy(root)?,
            budget: Budget {
                max_output_tokens: limit("max_output_tokens")?,
                max_request_bytes: limit("max_request_bytes")?,
            },
        })
    }
}

fn wrong(pointer: &str, what: impl Into<String>) -> OrderError {
    OrderError { pointer: pointer.to_owned(), what: what.into() }
}

/// Rejects unknown members, so that no part of an order is ignored.
fn known_members(object: Val<'_>, known: &[&str], pointer: &str) -> Result<(), OrderError> {
    if object.kind() != Kind::Object {
        return Err(wrong(pointer, "expected an object"));
    }
    match object.members().find(|(name, _)| !known.iter().any(|known| name.is(known))) {
        Some((name, _)) => {
            let pointer = format!("{pointer}/{}", name.decode());
            Err(wrong(&pointer, format!("unknown; known are {}", known.join(", "))))
        }
        None => Ok(()),
    }
}

fn word(object: Val<'_>, name: &str, pointer: &str) -> Result<Option<String>, OrderError> {
    match object.get(name).filter(|value| !value.is_null()) {
        Some(value) => {
            let text = value.str().ok_or_else(|| wrong(pointer, "expected a text"))?;
            Ok(Some(text.decode().into_owned()))
        }
        None => Ok(None),
    }
}

fn wire_dialect(name: &str, pointer: &str) -> Result<&'static Dialect, OrderError> {
    let speaks = |dialect: &&'static Dialect| {
        dialect.role(Role::Request).is_some_and(|spec| spec.read.is_some() && spec.write.is_some())
    };
    Dialect::named(name).filter(speaks).ok_or_else(|| {
        let names: Vec<&str> = interlingua::dialects::DIALECTS
            .iter()
            .copied()
            .filter(speaks)
            .map(|dialect| dialect.name)
            .collect();
        wrong(pointer, format!("no model API is called `{name}`; known are {}", names.join(", ")))
    })
}

fn detected(request: &str) -> Result<&'static Dialect, OrderError> {
    let candidates = sniff::candidates(request.as_bytes(), true);
    match candidates.decide_among(|guess| guess.role == Role::Request) {
        Detection::Clear(guess) => Ok(guess.dialect),
        Detection::Unknown => Err(wrong("/dialect", "cannot be told from the request: name it")),
        Detection::Unclear(close) => {
            let names: Vec<String> = close.iter().map(|guess| format!("`{}`", guess.dialect.name)).collect();
            Err(wrong("/dialect", format!("the request could be {}: name it", names.join(" or "))))
        }
    }
}

fn requirements(root: Val<'_>) -> Result<Vec<Requirement>, OrderError> {
    let mut all = Vec::new();
    for (number, row) in root.get("requirements").into_iter().flat_map(|list| list.elements()).enumerate() {
        let pointer = format!("/requirements/{number}");
        known_members(row, &REQUIREMENT_MEMBERS, &pointer)?;
        let (feature, minimum) = (format!("{pointer}/feature"), format!("{pointer}/minimum"));
        let name = word(row, "feature", &feature)?.unwrap_or_default();
        let found = Field::ALL.iter().copied().find(|field| field.word() == name);
        let found = found.ok_or_else(|| wrong(&feature, format!("`{name}` is no field of the model")))?;
        let least = word(row, "minimum", &minimum)?.unwrap_or_else(|| Fidelity::Lossy.word().to_owned());
        let least = Fidelity::ALL.into_iter().find(|fidelity| fidelity.word() == least);
        let least =
            least.ok_or_else(|| wrong(&minimum, "expected `exact`, `emulated`, `lossy` or `none`"))?;
        all.push(Requirement { feature: found, minimum: least });
    }
    Ok(all)
}

fn policy(root: Val<'_>) -> Result<LossPolicy, OrderError> {
    let mut policy = LossPolicy::default();
    let Some(rules) = root.get("policy") else { return Ok(policy) };
    for (code, rule) in rules.members() {
        let pointer = format!("/policy/{}", code.decode());
        let rule = rule.str().map(|rule| rule.decode().into_owned()).unwrap_or_default();
        policy.set(&code.decode(), &rule).map_err(|error: PolicyError| wrong(&pointer, error.to_string()))?;
    }
    Ok(policy)
}
