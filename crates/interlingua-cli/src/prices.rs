//! What models cost: the built-in file `prices.toml`, or the user's. A price that is in neither is unknown, never guessed.
//!
//! Money is counted in whole picodollars, so that sums are exact: a token at one dollar per million costs a million.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use interlingua::model::Usage;
use toml::{Table, Value};

use crate::error::CommandError;

/// So many trillionths of a US dollar.
pub(crate) type Picodollars = u128;

/// One US dollar.
pub(crate) const DOLLAR: Picodollars = 1_000_000_000_000;

/// A file of prices.
#[derive(Debug)]
pub(crate) struct Prices {
    /// When they held.
    pub(crate) date: String,
    /// Where they are from.
    pub(crate) source: String,
    models: HashMap<String, Vec<PriceTier>>,
}

/// Prices for calls with more input than so many tokens.
#[derive(Debug)]
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
    /// The user's file, or the built-in one.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, CommandError> {
        let (name, text) = match path {
            None => ("prices.toml".to_owned(), include_str!("../prices.toml").to_owned()),
            Some(path) => {
                let name = path.display().to_string();
                let text =
                    fs::read_to_string(path).map_err(|error| CommandError::Read(name.clone(), error))?;
                (name, text)
            }
        };
        Self::parse(&text).map_err(|what| CommandError::Prices(name, what))
    }

    fn parse(text: &str) -> Result<Self, String> {
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
        if let Some(name) = root.keys().next() {
            return Err(format!("`{name}` is not `date`, `source` or `models`"));
        }
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
            models.insert(name.clone(), tiers);
        }
        Ok(Self { date, source, models })
    }

    /// What one response costs; `None` if any price that it takes is not known.
    pub(crate) fn cost(&self, model: &str, usage: &Usage) -> Option<Picodollars> {
        let input = usage.all_input().unwrap_or(0);
        let tier = self.tiers(model)?.iter().rev().find(|tier| input > tier.above || tier.above == 0)?;
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
        parts.into_iter().filter(|(tokens, _)| *tokens > 0).try_fold(0, |sum, (tokens, rate)| {
            Some(sum + Picodollars::from(tokens) * Picodollars::from(rate?))
        })
    }

    /// The prices of a model. Logs name it with its provider before it (`anthropic/…`), the size of its window behind it
    /// (`…[1m]`) or the date of its version (`…-20251101`, `…-2025-11-01`).
    fn tiers(&self, model: &str) -> Option<&[PriceTier]> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.split('[').next().unwrap_or(name);
        let known = |name: &str| self.models.get(name).map(Vec::as_slice);
        known(model).or_else(|| known(name)).or_else(|| known(without_date(name)?))
    }
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

/// Money that a log tells, as written.
pub(crate) fn told(cost: &str) -> Option<Picodollars> {
    let dollars: f64 = cost.trim_matches('"').parse().ok()?;
    #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e12).round() as Picodollars)
}

/// All its digits, for programs: `7.9956045`.
pub(crate) fn exact(cost: Picodollars) -> String {
    let text = format!("{}.{:012}", cost / DOLLAR, cost % DOLLAR);
    let text = text.trim_end_matches('0');
    text.strip_suffix('.').unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(model: &str, usage: Usage) -> Option<String> {
        let prices = Prices::load(None).expect("the built-in file is sound");
        prices.cost(model, &usage).map(exact)
    }

    #[test]
    fn a_response_costs_what_its_parts_cost() {
        let usage = Usage {
            input: Some(147),
            cache_read: Some(12_864_089),
            cache_write: Some(243_588),
            output: Some(1616),
            ..Usage::default()
        };
        assert_eq!(cost("claude-opus-4-6", usage).as_deref(), Some("7.9956045"));
        assert_eq!(cost("anthropic/claude-opus-4-6-20260205[1m]", usage).as_deref(), Some("7.9956045"));
        let long = Usage { cache_write_long: Some(243_588), ..usage };
        assert_eq!(cost("claude-opus-4-6", long).as_deref(), Some("8.9090595"));
    }

    #[test]
    fn what_has_no_price_is_unknown() {
        let input = Usage { input: Some(1), ..Usage::default() };
        assert_eq!(cost("claude-opus-99", input), None);
        assert_eq!(cost("gpt-5.2", Usage { cache_write: Some(1), ..input }), None);
        assert_eq!(cost("gpt-5.2", Usage { cache_write: Some(0), ..input }).as_deref(), Some("0.00000175"));
    }

    #[test]
    fn a_long_input_has_prices_of_its_own() {
        let usage = |input| Usage { input: Some(input), output: Some(1_000_000), ..Usage::default() };
        assert_eq!(cost("claude-sonnet-4-5", usage(200_000)).as_deref(), Some("15.6"));
        assert_eq!(cost("claude-sonnet-4-5", usage(200_001)).as_deref(), Some("23.700006"));
    }

    #[test]
    fn a_file_that_makes_no_sense_says_where() {
        for (text, said) in [
            ("", "it has no `date`"),
            ("date = 2026-11-16\nsource = \"me\"", "it has no `[models]`"),
            (
                "date = \"x\"\nsource = \"me\"\nmood = 1\n[models]",
                "`mood` is not `date`, `source` or `models`",
            ),
            ("date = \"x\"\nsource = \"me\"\n[models.a]\ninptu = 1", "model `a`: there is no price `inptu`"),
            ("date = \"x\"\nsource = \"me\"\n[models.a]\ninput = -1", "model `a`: `input` is no price"),
            (
                "date = \"x\"\nsource = \"me\"\n[models.a]\nabove = [{ input = 1 }]",
                "model `a`: what is in `above` has no `tokens`",
            ),
        ] {
            assert_eq!(Prices::parse(text).expect_err(text), said);
        }
    }
}
