//! Carries out a work order: translates the request, and the response back.

use std::fmt;

use interlingua::dialects::{Options, Role, that_support};
use interlingua::error::{Problem, StableCode};
use interlingua::ledger::{Report, Row};
use interlingua::model::{Field, Support};
use interlingua::pipe::{CallOutcome, Exchange};
use interlingua::wire::backends::{Backend, SharedBackend};

use super::order::{Fidelity, WorkOrder};
use super::receipt::{AnswerProof, Digest, Receipt};

/// A translated request and the state of its exchange.
#[derive(Debug)]
pub struct Translation {
    exchange: Exchange,
    /// The backend's request.
    pub sent: Vec<u8>,
    /// Whether the response should be streamed.
    pub stream: bool,
    report: Report,
    answer: Option<AnswerProof>,
    /// The backend.
    backend: SharedBackend,
    model: Option<String>,
}

/// Why an order was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The code.
    pub code: StableCode,
    /// The message.
    pub what: String,
    /// The field that caused the refusal.
    pub feature: Option<Field>,
    /// The path of the value in the request.
    pub path: Option<String>,
    /// The dialects, backends and models that support the field.
    pub elsewhere: Vec<String>,
    /// The report up to the refusal.
    pub report: Report,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code.word())?;
        if let Some(path) = &self.path {
            write!(f, "`{path}`: ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// The refusal for a loss that the policy forbids.
    pub fn of_loss(row: &Row, target: &str, report: Report) -> Self {
        let feature = row.field.map_or("a value without a field in the model".to_owned(), named);
        let reason = row.reason.map_or("it is lost", |reason| reason.phrase());
        Self {
            code: StableCode::CapabilityUnsupported,
            what: format!("{feature} would be lost in {target}, {reason}"),
            feature: row.field,
            path: Some(row.path.clone()),
            elsewhere: row.field.map(elsewhere).unwrap_or_default(),
            report,
        }
    }

    fn other(code: StableCode, what: String, report: Report) -> Box<Self> {
        Box::new(Self { code, what, feature: None, path: None, elsewhere: Vec::new(), report })
    }
}

/// A field by its name for people and its name in orders.
fn named(field: Field) -> String {
    format!("{} (`{}`)", field.label(), field.word())
}

/// The dialects that support a field in a request, with backends and models where only some of them do.
fn elsewhere(field: Field) -> Vec<String> {
    let mut all = Vec::new();
    for dialect in that_support(field, Role::Request)
        .filter(|dialect| dialect.role(Role::Request).is_some_and(|spec| spec.read.is_some()))
    {
        let takes = |backend: &&&Backend| backend.dialect == dialect.name && backend.takes.takes(field);
        let names: Vec<&str> =
            Backend::built_in().iter().filter(takes).map(|backend| backend.name.as_ref()).collect();
        let all_take = Backend::built_in().iter().filter(|backend| backend.dialect == dialect.name).count()
            == names.len();
        if all_take {
            all.push(dialect.name.to_owned());
        } else if !names.is_empty() {
            all.push(format!("{} ({})", dialect.name, names.join(", ")));
        }
    }
    all
}

impl WorkOrder {
    /// Translates the request, unless a loss is forbidden. The user's backends take precedence over built-in backends.
    pub fn translate(&self, own: &[SharedBackend]) -> Result<Translation, Box<Refusal>> {
        let dialect = self.backend.name;
        let backend = match &self.backend_name {
            Some(name) => {
                let own = own.iter().find(|backend| backend.name == *name && backend.dialect == dialect);
                own.cloned().or_else(|| Backend::named(name, dialect).map(Into::into))
            }
            None => Backend::of_dialect(dialect).map(Into::into),
        };
        let backend = backend.ok_or_else(|| {
            let what = format!(
                "no backend `{}` speaks `{dialect}`",
                self.backend_name.as_deref().unwrap_or_default()
            );
            Refusal::other(StableCode::BackendNotFound, what, Report::default())
        })?;
        self.negotiate()?;
        let options = Options::default()
            .with_backend(self.backend_name.as_ref().map(|_| backend.clone()))
            .with_model(self.model.clone())
            .with_max_tokens(self.budget.max_output_tokens);
        let mut exchange = Exchange::new(self.client, self.backend, &options);
        let mut sent = Vec::new();
        let asked = exchange.request(self.request.as_bytes(), &mut sent).map_err(|error| {
            Refusal::other(StableCode::DialectMappingFailed, error.to_string(), Report::default())
        })?;
        let report = asked.report;
        if report.read == 0 || report.errors > 0 {
            let what = report.problems.first().map_or_else(
                || format!("nothing in the request can be read as `{}`", self.client.name),
                |Problem { place, code, detail, .. }| {
                    format!("{}: {} {detail}", place.name(report.framing), code.message())
                },
            );
            return Err(Refusal::other(StableCode::IrLoweringFailed, what, report));
        }
        if let Some(row) = self.policy.failures(&report).first() {
            return Err(Box::new(Refusal::of_loss(row, dialect, report.clone())));
        }
        if let Some(most) = self.budget.max_request_bytes.filter(|most| sent.len() as u64 > *most) {
            let what = format!("the request has {} bytes, and the budget allows {most}", sent.len());
            return Err(Refusal::other(StableCode::ConfigInvalid, what, report));
        }
        let model = self.model.clone().or(asked.model);
        Ok(Translation { exchange, sent, stream: asked.stream, report, answer: None, backend, model })
    }

    /// Checks the requirements against the target's support table, before the request is sent.
    fn negotiate(&self) -> Result<(), Box<Refusal>> {
        let write = self.backend.role(Role::Request).and_then(|spec| spec.write.as_ref());
        for requirement in &self.requirements {
            let support = write.map_or(Support::Exactly, |write| (write.support)(requirement.feature));
            // Between equal dialects every byte is kept.
            let has =
                if self.client.name == self.backend.name { Fidelity::Exact } else { Fidelity::of(support) };
            if has < requirement.minimum {
                return Err(Box::new(Refusal {
                    code: StableCode::CapabilityUnsupported,
                    what: format!(
                        "{} has fidelity `{}` in {}, and `{}` is required",
                        named(requirement.feature),
                        has.word(),
                        self.backend.name,
                        requirement.minimum.word()
                    ),
                    feature: Some(requirement.feature),
                    path: None,
                    elsewhere: elsewhere(requirement.feature),
                    report: Report::default(),
                }));
            }
        }
        Ok(())
    }
}

impl Translation {
    /// Translates the response back.
    pub fn answer(&mut self, response: &[u8], role: Role) -> Result<Vec<u8>, interlingua::error::Error> {
        let mut out = Vec::new();
        let outcome: CallOutcome = self.exchange.answer(role)?.finish_with(response, &mut out);
        self.answer =
            Some(AnswerProof { response: Digest::of(response), returned: Digest::of(&out), outcome });
        Ok(out)
    }

    /// The receipt of a translation.
    pub fn receipt(&self, order: &WorkOrder, previous: Option<&Digest>) -> Receipt {
        let route = (&*self.backend.name, self.model.clone());
        Receipt::of(order, route, (&self.sent, &self.report), self.answer.as_ref(), previous)
    }
}

impl Refusal {
    /// The receipt of a refused order.
    pub fn receipt(&self, order: &WorkOrder, previous: Option<&Digest>) -> Receipt {
        Receipt::of_refusal(order, self, previous)
    }
}
