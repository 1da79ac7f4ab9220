//! Prices of models, from the registry or a user's file. A model without a row is estimated by its family, and the
//! estimate is marked; without a family its cost is unknown.
//!
//! Money is counted in whole picodollars, so that sums are exact: a token at one dollar per million costs a million.

use std::collections::HashMap;
use std::fmt;

use interlingua::model::Usage;
use toml::{Table, Value};

use crate::Registry;

/// Trillionths of a US dollar.
pub type Picodollars = u128;

/// One US dollar.
pub const DOLLAR: Picodollars = 1_000_000_000_000;

/// The prices of models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prices {
    /// The date of the prices.
    pub date: String,
    /// The source of the prices.
    pub source: String,
    /// Rows by the lower-case name of the model.
    models: HashMap<String, Vec<PriceTier>>,
    /// The model whose prices are used for a family, by the words of the family's name.
    families: HashMap<String, String>,
}

/// A file of prices with an error: the message names the place and the error.
#[derive(Debug)]
pub struct PriceError(String);

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PriceError {}

/// The computed cost of one response.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComputedCost<'p> {
    /// The cost.
    pub cost: Picodollars,
    /// The model whose prices were used, if the response's own model has no row.
    pub estimated_by: Option<&'p str>,
}

/// Prices for calls with more than `above` input tokens.
#[derive(Clone, Debug)]
struct PriceTier {
    above: u64,
    rates: Rates,
}

/// Picodollars per token.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_write_long: Option<u64>,
}

impl Prices {
    /// The prices of the registry.
    pub fn built_in() -> Self {
        Registry::built_in().prices.clone()
    }

    /// Parses a user's file: `date`, `source`, `[models]` and perhaps `[families]` (`docs/cli.md`).
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        Self::read(text).map_err(PriceError)
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut root: Table =
            text.parse().map_err(|error: toml::de::Error| error.to_string().trim().to_owned())?;
        let mut word = |name: &str| match root.remove(name) {
            Some(Value::String(word)) if !word.is_empty() => Ok(word),
            Some(Value::Datetime(date)) => Ok(date.to_string()),
            _ => Err(format!("it has no `{name}`")),
        };
        let (date, source) = (word("date")?, word("source")?);
        let Some(Value::Table(rows)) = root.remove("models") else {
            return Err("it has no `[models]`".to_owned());
        };
        let families = match root.remove("families") {
            None => Table::new(),
            Some(Value::Table(families)) => families,
            Some(_) => return Err("`families` is no table".to_owned()),
        };
        if let Some(name) = root.keys().next() {
            return Err(format!("`{name}` is not `date`, `source`, `models` or `families`"));
        }
        Self::of_rows(date, source, rows, families)
    }

    /// The prices in the rows of models, with a stand-in for each family.
    pub(crate) fn new(
        date: String,
        source: String,
        rows: Table,
        families: Table,
    ) -> Result<Self, PriceError> {
        Self::of_rows(date, source, rows, families).map_err(PriceError)
    }

    fn of_rows(date: String, source: String, rows: Table, families: Table) -> Result<Self, String> {
        let mut models = HashMap::new();
        for (name, row) in rows {
            let inside = |what| format!("model `{name}`: {what}");
            let Value::Table(mut row) = row else { return Err(inside("it is no table".to_owned())) };
            let above = row.remove("above");
            let mut tiers = vec![PriceTier { above: 0, rates: Rates::read(row).map_err(inside)? }];
            match above {
                None => {}
                Some(Value::Array(rows)) => {
                    for row in rows {
                        tiers.push(PriceTier::read(row).map_err(inside)?);
                    }
                }
                Some(_) => return Err(inside("`above` is no list".to_owned())),
            }
            tiers.sort_by_key(|tier| tier.above);
            models.insert(name.to_lowercase(), tiers);
        }
        let mut stand_ins = HashMap::new();
        for (family, model) in families {
            let model = model.as_str().filter(|model| models.contains_key(&model.to_lowercase()));
            let model = model.ok_or_else(|| format!("family `{family}`: it names no model of this file"))?;
            stand_ins.insert(family, model.to_owned());
        }
        Ok(Self { date, source, models, families: stand_ins })
    }

    /// The cost of one response; `None` if a required price is unknown.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<ComputedCost<'_>> {
        if let Some(tiers) = self.tiers(model) {
            return Some(ComputedCost { cost: cost_of(tiers, usage)?, estimated_by: None });
        }
        let stand_in = self.stand_in(model)?;
        let cost = cost_of(self.models.get(&stand_in.to_lowercase())?, usage)?;
        Some(ComputedCost { cost, estimated_by: Some(stand_in) })
    }

    /// The prices of a model under any of the names that logs use for it.
    fn tiers(&self, model: &str) -> Option<&[PriceTier]> {
        names_of(model).find_map(|name| self.models.get(&name)).map(Vec::as_slice)
    }

    /// The model whose prices are used for this model, if it has no row of its own.
    pub fn stand_in_for(&self, model: &str) -> Option<&str> {
        if self.tiers(model).is_some() { None } else { self.stand_in(model) }
    }

    /// The substitute for a model without a row: the model of its family, the same name without its last words
    /// (`gpt-5.2-high`), or the model of a shorter family name.
    fn stand_in(&self, model: &str) -> Option<&str> {
        let family = family(model);
        let known = |family: &str| self.families.get(family).map(String::as_str);
        let shorter = |name: &str| {
            let (rest, word) = name.rsplit_once('-')?;
            word.bytes().all(|byte| byte.is_ascii_alphabetic()).then(|| rest.to_owned())
        };
        let itself = || {
            names_of(model).find_map(|name| {
                let mut shortened = std::iter::successors(shorter(&name), |name| shorter(name));
                shortened.find_map(|name| Some(self.models.get_key_value(&name)?.0.as_str()))
            })
        };
        let mut prefixes = family.match_indices('-').rev().map(|(at, _)| &family[..at]);
        known(&family).or_else(itself).or_else(|| prefixes.find_map(known))
    }
}

/// The cost at these prices; `None` if a required price is unknown.
fn cost_of(tiers: &[PriceTier], usage: &Usage) -> Option<Picodollars> {
    let input = usage.all_input().unwrap_or(0);
    let tier = tiers.iter().rev().find(|tier| input > tier.above || tier.above == 0)?;
    let Rates { input, output, cache_read, cache_write, cache_write_long } = tier.rates;
    let long = usage.cache_write_long.unwrap_or(0);
    let short = usage.cache_write.unwrap_or(0).saturating_sub(long);
    let parts = [
        (usage.input.unwrap_or(0), input),
        (usage.output.unwrap_or(0), output),
        (usage.cache_read.unwrap_or(0), cache_read),
        (short, cache_write),
        (long, cache_write_long),
    ];
    parts
        .into_iter()
        .filter(|(tokens, _)| *tokens > 0)
        .try_fold(0, |sum, (tokens, rate)| Some(sum + Picodollars::from(tokens) * Picodollars::from(rate?)))
}

/// The names under which a model may have a row. Logs add the provider in front (`anthropic/…`, `us.anthropic.…`), and
/// at the end the window size (`…[1m]`), the version of a cloud's copy (`…-v1:0`) or a date (`…-20251101`,
/// `…-2025-11-01`); some logs write `4.6` for `4-6`.
fn names_of(model: &str) -> impl Iterator<Item = String> {
    let model = model.to_lowercase();
    let name = model.rsplit('/').next().unwrap_or(&model);
    let name = name.split_once("anthropic.").map_or(name, |(_, name)| name);
    let name = name.split(['[', ':', '(']).next().unwrap_or(name).trim();
    let name = name.strip_suffix("-v1").or_else(|| name.strip_suffix("-v2")).unwrap_or(name);
    let undated = without_date(name).unwrap_or(name);
    let names = [model.clone(), name.to_owned(), undated.to_owned(), undated.replace('.', "-")];
    names.into_iter()
}

/// The words of a model's name without its numbers: `claude-opus` of `claude-opus-4-6`, `kimi-k` of `kimi-k2.5`.
fn family(model: &str) -> String {
    let name = names_of(model).nth(2).unwrap_or_default();
    let words = name.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn without_date(name: &str) -> Option<&str> {
    for form in ["-dddddddd", "@dddddddd", "-dddd-dd-dd"] {
        let Some(at) = name.len().checked_sub(form.len()) else { continue };
        let fits = |(byte, form): (u8, u8)| if form == b'd' { byte.is_ascii_digit() } else { byte == form };
        if name.is_char_boundary(at) && name.bytes().skip(at).zip(form.bytes()).all(fits) {
            return name.get(..at);
        }
    }
    None
}

impl PriceTier {
    fn read(row: Value) -> Result<Self, String> {
        let Value::Table(mut row) = row else { return Err("what is in `above` is no table".to_owned()) };
        let tokens = row.remove("tokens").and_then(|tokens| u64::try_from(tokens.as_integer()?).ok());
        let above = tokens.filter(|tokens| *tokens > 0);
        let above = above.ok_or_else(|| "what is in `above` has no `tokens`".to_owned())?;
        Ok(Self { above, rates: Rates::read(row)? })
    }
}

impl Rates {
    fn read(row: Table) -> Result<Self, String> {
        let mut rates = Self::default();
        for (name, value) in row {
            let place = match name.as_str() {
                "input" => &mut rates.input,
                "output" => &mut rates.output,
                "cache-read" => &mut rates.cache_read,
                "cache-write" => &mut rates.cache_write,
                "cache-write-long" => &mut rates.cache_write_long,
                _ => return Err(format!("there is no price `{name}`")),
            };
            *place = Some(price(&value).ok_or_else(|| format!("`{name}` is no price"))?);
        }
        Ok(rates)
    }
}

/// Dollars per million tokens, as picodollars per token.
fn price(value: &Value) -> Option<u64> {
    #[expect(clippy::cast_precision_loss, reason = "a price has a few digits")]
    let dollars = value.as_float().or_else(|| value.as_integer().map(|dollars| dollars as f64))?;
    #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
    (0.0..1e6).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// A cost in dollars as a log writes it: `0.25`, with or without quotes.
pub fn cost_of_text(cost: &str) -> Option<Picodollars> {
    let dollars: f64 = cost.trim_matches('"').parse().ok()?;
    #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e12).round() as Picodollars)
}

/// The cost in dollars with all its digits, for programs: `7.9956045`.
pub fn exact_dollars(cost: Picodollars) -> String {
    let text = format!("{}.{:012}", cost / DOLLAR, cost % DOLLAR);
    let text = text.trim_end_matches('0');
    text.strip_suffix('.').unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A usage with the counts that `set` sets.
    fn usage(set: impl FnOnce(&mut Usage)) -> Usage {
        let mut usage = Usage::default();
        set(&mut usage);
        usage
    }

    fn cost(model: &str, usage: Usage) -> Option<String> {
        let prices = Prices::built_in();
        prices
            .cost(model, &usage)
            .filter(|cost| cost.estimated_by.is_none())
            .map(|cost| exact_dollars(cost.cost))
    }

    fn estimated_by(model: &str) -> Option<String> {
        let prices = Prices::built_in();
        prices
            .cost(model, &usage(|counts| counts.input = Some(1)))
            .and_then(|cost| cost.estimated_by.map(str::to_owned))
    }

    #[test]
    fn a_response_costs_what_its_parts_cost() {
        let mut usage = Usage::new(147, 1616);
        (usage.cache_read, usage.cache_write) = (Some(12_864_089), Some(243_588));
        assert_eq!(cost("claude-opus-4-6", usage).as_deref(), Some("7.9956045"));
        assert_eq!(cost("anthropic/claude-opus-4-6-20260205[1m]", usage).as_deref(), Some("7.9956045"));
        usage.cache_write_long = Some(243_588);
        assert_eq!(cost("claude-opus-4-6", usage).as_deref(), Some("8.9090595"));
    }

    #[test]
    fn a_model_is_found_under_each_name_that_logs_have_for_it() {
        let input = usage(|counts| counts.input = Some(1_000_000));
        for name in [
            "claude-opus-4-6",
            "claude-opus-4.6",
            "us.anthropic.claude-opus-4-6-v1:0",
            "anthropic/claude-opus-4.6",
            "claude-opus-4-6@20260205",
        ] {
            assert_eq!(cost(name, input).as_deref(), Some("5"), "{name}");
        }
        assert_eq!(cost("minimax/MiniMax-M2.5", input).as_deref(), Some("0.3"));
    }

    #[test]
    fn a_model_without_a_row_is_estimated_by_its_family() {
        for (model, stand_in) in [
            ("claude-opus-99", Some("claude-opus-5-5")),
            ("claude-opus-6-20270101", Some("claude-opus-5-5")),
            ("gpt-7.2-sol", Some("gpt-6.1-sol")),
            ("gpt-5.9", Some("gpt-5.6")),
            ("gpt-5.2-codex-high", Some("gpt-5.2-codex")),
            ("gpt-9-codex-ultra", Some("gpt-5.3-codex")),
            ("gemini-5-flash-preview", Some("gemini-3.8-flash")),
            ("kimi-k4", Some("kimi-k3")),
            ("minimax-m4", Some("MiniMax-M3")),
            ("claude-opus-5-5", None),
            ("fake-model", None),
            ("auto", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(estimated_by(model).as_deref(), stand_in, "{model}");
        }
    }

    #[test]
    fn what_has_no_price_is_unknown() {
        let written = |tokens| usage(|counts| (counts.input, counts.cache_write) = (Some(1), tokens));
        assert_eq!(cost("claude-opus-99", written(None)), None);
        assert_eq!(cost("gpt-5.2", written(Some(1))), None);
        assert_eq!(cost("gpt-5.2", written(Some(0))).as_deref(), Some("0.00000175"));
    }

    #[test]
    fn a_long_input_has_prices_of_its_own() {
        let usage = |input| Usage::new(input, 1_000_000);
        assert_eq!(cost("claude-sonnet-4", usage(200_000)).as_deref(), Some("15.6"));
        assert_eq!(cost("claude-sonnet-4", usage(200_001)).as_deref(), Some("23.700006"));
    }

    #[test]
    fn a_file_that_makes_no_sense_says_where() {
        for (text, said) in [
            ("", "it has no `date`"),
            ("date = 2026-11-16\nsource = \"me\"", "it has no `[models]`"),
            (
                "date = \"x\"\nsource = \"me\"\nmood = 1\n[models]",
                "`mood` is not `date`, `source`, `models` or `families`",
            ),
            ("date = \"x\"\nsource = \"me\"\n[models.a]\ninptu = 1", "model `a`: there is no price `inptu`"),
            ("date = \"x\"\nsource = \"me\"\n[models.a]\ninput = -1", "model `a`: `input` is no price"),
            (
                "date = \"x\"\nsource = \"me\"\n[models.a]\nabove = [{ input = 1 }]",
                "model `a`: what is in `above` has no `tokens`",
            ),
            (
                "date = \"x\"\nsource = \"me\"\n[models.a]\ninput = 1\n[families]\nb = \"c\"",
                "family `b`: it names no model of this file",
            ),
        ] {
            assert_eq!(Prices::parse(text).expect_err(text).to_string(), said);
        }
    }
}
