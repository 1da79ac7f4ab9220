//! The clients of a gateway: keys, permitted models and limits.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use interlingua::model::FailureClass;
use interlingua::wire::backends::is_match;
use interlingua_models::prices::{Picodollars, exact_dollars};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::call::FailedCall;

/// A text that no message shows.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Secret {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// Compares in a time that depends only on the lengths.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (given, secret) = (given.as_bytes(), self.0.as_bytes());
        let bits = given.iter().zip(secret).fold(0, |bits, (one, other)| bits | (one ^ other));
        given.len() == secret.len() && std::hint::black_box(bits) == 0
    }
}

/// The span of time for which a budget holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BudgetPeriod {
    /// A day of UTC.
    #[default]
    Day,
    /// A month of UTC.
    Month,
    /// The life of the gateway, or the time of the calls in its store.
    Forever,
}

impl BudgetPeriod {
    /// The number of the period that holds a time.
    fn number(self, seconds: u64) -> u64 {
        let days = seconds / 86_400;
        match self {
            BudgetPeriod::Day => days,
            BudgetPeriod::Month => month(days).0,
            BudgetPeriod::Forever => 0,
        }
    }

    /// The first second of the period that holds a time.
    fn start(self, seconds: u64) -> u64 {
        let days = seconds / 86_400;
        match self {
            BudgetPeriod::Day => days * 86_400,
            BudgetPeriod::Month => month(days).1 * 86_400,
            BudgetPeriod::Forever => 0,
        }
    }
}

/// The number of months since January 1970 and the first day of the month, for a day since then.
fn month(days: u64) -> (u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut rest) = (1970, days);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if rest < length {
            break;
        }
        rest -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths: [u64; 12] = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    for length in lengths {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    ((year - 1970) * 12 + month, days - rest)
}

/// The time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A client that is ready to be served.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) key: Option<Secret>,
    /// Whether the client has the token of the gateway, or the gateway has no keys: the feed shows it all calls.
    pub(crate) is_operator: bool,
    /// Patterns of the models that the client may ask for; all without any.
    pub(crate) models: Vec<String>,
    /// The budget and its period.
    pub(crate) budget: Option<(Picodollars, BudgetPeriod)>,
    pub(crate) requests_per_minute: Option<u32>,
    /// The limit on calls at the same time, and its permits.
    pub(crate) concurrent: Option<(usize, Arc<Semaphore>)>,
    /// The state that outlives a reload of the configuration.
    pub(crate) ledger: Arc<ClientLedger>,
}

/// The calls and costs of a client so far.
#[derive(Debug, Default)]
pub(crate) struct ClientLedger(Mutex<Spending>);

#[derive(Debug, Default)]
struct Spending {
    period: u64,
    /// The cost of finished calls in the period.
    spent: Picodollars,
    /// The highest expected cost of open calls.
    reserved: Picodollars,
    /// The times of the calls in the last minute.
    recent: VecDeque<Instant>,
}

impl ClientLedger {
    fn look(&self) -> MutexGuard<'_, Spending> {
        // No holder of the lock panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The share of a client's budget that an open call holds. Dropping a reservation frees it; [`Reservation::settle`]
/// replaces it by the cost.
#[derive(Debug)]
pub(crate) struct Reservation {
    ledger: Arc<ClientLedger>,
    amount: Picodollars,
}

impl Reservation {
    /// The call has ended with this cost.
    pub(crate) fn settle(self, cost: Picodollars) {
        self.ledger.look().spent += cost;
    }

    /// The call has ended with an unknown cost, so the reserved amount is taken.
    pub(crate) fn settle_in_full(self) {
        let amount = self.amount;
        self.settle(amount);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut spending = self.ledger.look();
        spending.reserved = spending.reserved.saturating_sub(self.amount);
    }
}

impl Client {
    /// The client of a gateway without keys.
    pub(crate) fn anyone(key: Option<Secret>, ledger: Arc<ClientLedger>) -> Self {
        Self {
            name: "default".to_owned(),
            key,
            is_operator: true,
            models: Vec::new(),
            budget: None,
            requests_per_minute: None,
            concurrent: None,
            ledger,
        }
    }

    /// Whether both clients have the same key.
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        matches!((&self.key, &other.key), (Some(one), Some(other)) if one.is(&other.0))
    }

    /// Whether the client may ask for a model.
    pub(crate) fn may_ask_for(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|pattern| is_match(pattern, model))
    }

    /// Checks that the client may ask for the model now.
    pub(crate) fn admit(&self, model: &str) -> Result<Option<OwnedSemaphorePermit>, FailedCall> {
        if !self.may_ask_for(model) {
            let message = format!("the client `{}` may not ask for the model `{model}`", self.name);
            return Err(FailedCall::new(FailureClass::Permission, message));
        }
        if let Some(most) = self.requests_per_minute {
            self.count(most, Instant::now())?;
        }
        let Some((most, permits)) = &self.concurrent else { return Ok(None) };
        let permit = Arc::clone(permits).try_acquire_owned().map_err(|_| {
            let message = format!("the client `{}` has {most} open calls, its limit", self.name);
            FailedCall { retry_after: Some(1000), ..FailedCall::new(FailureClass::RateLimit, message) }
        })?;
        Ok(Some(permit))
    }

    /// Counts a request of the last minute.
    fn count(&self, most: u32, now: Instant) -> Result<(), FailedCall> {
        const MINUTE: Duration = Duration::from_secs(60);
        let recent = &mut self.ledger.look().recent;
        while recent.front().is_some_and(|time| now.duration_since(*time) >= MINUTE) {
            recent.pop_front();
        }
        if recent.len() >= most as usize {
            let wait = recent.front().map(|time| MINUTE.saturating_sub(now.duration_since(*time)));
            let message =
                format!("the client `{}` has sent {most} requests in a minute, its limit", self.name);
            let retry_after = wait.and_then(|wait| u64::try_from(wait.as_millis()).ok());
            return Err(FailedCall { retry_after, ..FailedCall::new(FailureClass::RateLimit, message) });
        }
        recent.push_back(now);
        Ok(())
    }

    /// Reserves the highest expected cost of a call, so that calls at the same time cannot exceed the budget together.
    /// `None` without a budget.
    pub(crate) fn reserve(
        &self,
        model: &str,
        expected: Option<Picodollars>,
    ) -> Result<Option<Reservation>, FailedCall> {
        let Some((budget, period)) = self.budget else { return Ok(None) };
        let Some(amount) = expected else {
            let message = format!(
                "the client `{}` has a budget, and the model `{model}` has no known price",
                self.name
            );
            return Err(FailedCall::new(FailureClass::Permission, message));
        };
        let mut spending = self.ledger.look();
        let current = period.number(now());
        if spending.period != current {
            (spending.period, spending.spent) = (current, 0);
        }
        let taken = spending.spent + spending.reserved;
        if taken + amount > budget {
            let message = format!(
                "the budget of the client `{}` is {} dollars: {} are spent or reserved, and this call may cost {}",
                self.name,
                exact_dollars(budget),
                exact_dollars(taken),
                exact_dollars(amount),
            );
            return Err(FailedCall::new(FailureClass::Billing, message));
        }
        spending.reserved += amount;
        drop(spending);
        Ok(Some(Reservation { ledger: Arc::clone(&self.ledger), amount }))
    }

    /// The start of the current period of the budget in milliseconds since 1970; `None` without a budget.
    pub(crate) fn budget_start(&self) -> Option<u64> {
        self.budget.map(|(_, period)| period.start(now()) * 1000)
    }

    /// Adds the cost of calls that an earlier process has served in the current period.
    pub(crate) fn add_spent(&self, cost: Picodollars) {
        let Some((_, period)) = self.budget else { return };
        let mut spending = self.ledger.look();
        spending.period = period.number(now());
        spending.spent += cost;
    }

    /// The cost of the period so far.
    #[cfg(test)]
    fn spent(&self) -> Picodollars {
        self.ledger.look().spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client::anyone(None, Arc::default())
    }

    #[test]
    fn a_secret_is_equal_to_itself_alone_and_is_not_shown() {
        let secret = Secret::new("sk-1".to_owned());
        assert!(secret.is("sk-1"));
        for other in ["", "sk-", "sk-2", "sk-11"] {
            assert!(!secret.is(other), "{other}");
        }
        assert!(!format!("{secret:?}").contains("sk"));
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        // 1970-01-31, 1970-02-01, 1972-02-29, 1972-03-01, 2026-11-17, 2026-12-31
        let found = [30, 31, 789, 790, 20_774, 20_818].map(month);
        let november = 56 * 12 + 10;
        assert_eq!(
            found,
            [(0, 0), (1, 31), (25, 761), (26, 790), (november, 20_758), (november + 1, 20_788)]
        );
    }

    #[test]
    fn open_calls_cannot_exceed_a_budget_together() {
        let client = Client { budget: Some((100, BudgetPeriod::Forever)), ..client() };
        let first = client.reserve("m", Some(60)).expect("in budget").expect("a reservation");
        assert!(client.reserve("m", Some(60)).is_err(), "sixty are reserved");
        first.settle(10);
        assert_eq!(client.spent(), 10);
        let second = client.reserve("m", Some(90)).expect("in budget").expect("a reservation");
        assert!(client.reserve("m", Some(1)).is_err(), "the budget is used up");
        drop(second);
        assert!(client.reserve("m", Some(91)).is_err(), "ten are spent");
        client.reserve("m", Some(90)).expect("in budget").expect("a reservation").settle_in_full();
        assert_eq!(client.spent(), 100);
        assert!(client.reserve("m", None).is_err(), "a model without a price");
    }

    #[test]
    fn a_client_has_its_models_and_its_rate() {
        let client = Client { models: vec!["claude-*".to_owned()], requests_per_minute: Some(2), ..client() };
        assert_eq!(client.admit("gpt-5").expect_err("another model").class, FailureClass::Permission);
        let now = Instant::now();
        assert!(client.count(2, now).is_ok() && client.count(2, now).is_ok());
        let refused = client.count(2, now + Duration::from_secs(20)).expect_err("the third");
        assert_eq!(refused.retry_after, Some(40_000));
        assert!(client.count(2, now + Duration::from_secs(60)).is_ok());
    }
}
