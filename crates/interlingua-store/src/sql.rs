//! The store in a database with SQL: the schema, and a statement for each operation.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use bytes::Bytes;

use crate::body::{self, PackedRequest, PieceDigest, Unpacked};
use crate::database::{Access, Database, Row, Value, transaction};
use crate::error::StoreError;
use crate::exchange::{
    ExchangeFacts, ROW_OVERHEAD, StoredExchange, StoredFailure, attempts_from_json, attempts_to_json,
};
use crate::store::{ClientSums, Deleted, ListFilter, Retention, Store, StoreSize};

/// The version of the schema.
const VERSION: u64 = 1;

/// The store in a database with SQL.
pub(crate) struct SqlStore<D> {
    database: D,
}

/// The columns of the facts, in the order of [`facts_of`].
const FACTS: &str = "id, started_ms, duration_ms, client_dialect, path, client, conversation, response_id, \
    previous_response, backend, backend_dialect, model_asked, model_sent, status, streamed, cancelled, failure_class, \
    failure_message, stop, input, cache_read, cache_write, output, reasoning, cost, losses, attempts";

/// The exchanges that one step of retention deletes at most.
const STEP: i64 = 500;

/// Pieces of requests are shared among exchanges that started in the same hour, so that pieces can be deleted with
/// their hour.
const HOUR: u64 = 3_600_000;

const fn hour(started_ms: u64) -> u64 {
    started_ms / HOUR
}

impl<D: Database> SqlStore<D> {
    /// Creates the tables, or checks their version.
    pub(crate) fn new(mut database: D) -> Result<Self, StoreError> {
        transaction(&mut database, Access::Alone, |database| {
            if !database.has_tables()? {
                for statement in schema(D::BYTES) {
                    database.query(&statement, &[])?;
                }
                let sql = "INSERT INTO store_meta (name, value) VALUES ('schema', $1)";
                database.query(sql, &[Value::count(VERSION)])?;
            }
            Ok(())
        })?;
        let rows = database.query("SELECT value FROM store_meta WHERE name = 'schema'", &[])?;
        let mut row = Columns::of(rows.into_iter().next().unwrap_or_default());
        match row.count() {
            Some(VERSION) => Ok(Self { database }),
            Some(found) if found > VERSION => Err(StoreError::Newer(found, VERSION)),
            _ => Err(StoreError::Refused("the store has no valid schema version".to_owned())),
        }
    }

    /// The connection, with the tables of the store.
    pub(crate) fn into_database(self) -> D {
        self.database
    }

    fn exchanges(
        &mut self,
        condition: &str,
        parameters: &[Value],
    ) -> Result<Vec<StoredExchange>, StoreError> {
        let sql = format!("SELECT {FACTS}, receipt, request, response FROM exchange WHERE {condition}");
        let rows = self.database.query(&sql, parameters)?;
        rows.into_iter().map(|row| self.exchange_of(row)).collect()
    }

    fn exchange_of(&mut self, row: Row) -> Result<StoredExchange, StoreError> {
        let mut row = Columns::of(row);
        let facts = facts_of(&mut row)?;
        let damaged = |defect| StoreError::Damaged(facts.id.clone(), defect);
        let mut body = |defect| {
            let stored =
                row.bytes().and_then(|stored| body::unpack(&stored)).ok_or_else(|| damaged(defect))?;
            match stored {
                Unpacked::Body(body) => Ok(body),
                Unpacked::Pieces(digests) => self.joined(hour(facts.started_ms), &digests, &facts.id),
            }
        };
        let receipt = body("the receipt cannot be unpacked")?;
        let request = Bytes::from(body("the request cannot be unpacked")?);
        let response = Bytes::from(body("the response cannot be unpacked")?);
        let receipt = String::from_utf8(receipt).map_err(|_| damaged("the receipt is not UTF-8"))?;
        Ok(StoredExchange { facts, receipt, request, response })
    }

    /// The body with these pieces.
    fn joined(&mut self, hour: u64, digests: &[PieceDigest], id: &str) -> Result<Vec<u8>, StoreError> {
        let damaged = |defect| StoreError::Damaged(id.to_owned(), defect);
        let mut pieces = HashMap::new();
        for row in pieces_of(&mut self.database, "digest, data", hour, digests)? {
            let mut row = Columns::of(row);
            let (Some(digest), Some(data)) = (row.bytes(), row.bytes()) else { continue };
            let Some(Unpacked::Body(data)) = body::unpack(&data) else {
                return Err(damaged("a piece of the request cannot be unpacked"));
            };
            pieces.insert(digest, data);
        }
        let mut body = Vec::new();
        for digest in digests {
            let piece =
                pieces.get(&digest[..]).ok_or_else(|| damaged("a piece of the request is missing"))?;
            body.extend_from_slice(piece);
        }
        Ok(body)
    }
}

impl<D: Database> Store for SqlStore<D> {
    fn append(&mut self, batch: &[StoredExchange]) -> Result<(), StoreError> {
        transaction(&mut self.database, Access::Add, |database| {
            batch.iter().try_for_each(|exchange| add(database, exchange))
        })
    }

    fn get(&mut self, id: &str) -> Result<Option<StoredExchange>, StoreError> {
        Ok(self.exchanges("id = $1", &[Value::text(id)])?.pop())
    }

    fn list(&mut self, filter: &ListFilter) -> Result<Vec<ExchangeFacts>, StoreError> {
        let ListFilter { since_ms, before_ms, after, backend, model, client, status_class, limit } = filter;
        let mut conditions = Conditions::default();
        conditions.add("started_ms >= $", since_ms.map(Value::count));
        conditions.add("started_ms < $", before_ms.map(Value::count));
        let after = after.as_ref().map(|(started_ms, id)| vec![Value::count(*started_ms), Value::text(id)]);
        conditions.add_all("(started_ms, id) < ($, $)", after);
        conditions.add("backend = $", backend.as_deref().map(Value::text));
        conditions.add("$ IN (model_asked, model_sent)", model.as_deref().map(Value::text));
        conditions.add("client = $", client.as_deref().map(Value::text));
        conditions.add("status / 100 = $", status_class.map(|class| Value::count(class.into())));
        conditions.parameters.push(Value::count((*limit).into()));
        let Conditions { sql, parameters } = conditions;
        let last = parameters.len();
        let sql = format!(
            "SELECT {FACTS} FROM exchange WHERE TRUE{sql} ORDER BY started_ms DESC, id DESC LIMIT ${last}"
        );
        let rows = self.database.query(&sql, &parameters)?;
        rows.into_iter().map(|row| facts_of(&mut Columns::of(row))).collect()
    }

    fn conversation(&mut self, id: &str) -> Result<Vec<StoredExchange>, StoreError> {
        self.exchanges("conversation = $1 ORDER BY started_ms, id", &[Value::text(id)])
    }

    fn response(&mut self, client: &str, response_id: &str) -> Result<Option<StoredExchange>, StoreError> {
        let condition = "client = $1 AND response_id = $2 ORDER BY started_ms DESC LIMIT 1";
        Ok(self.exchanges(condition, &[Value::text(client), Value::text(response_id)])?.pop())
    }

    fn response_conversation(
        &mut self,
        client: &str,
        response_id: &str,
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT conversation FROM exchange WHERE client = $1 AND response_id = $2 \
            ORDER BY started_ms DESC LIMIT 1";
        let rows = self.database.query(sql, &[Value::text(client), Value::text(response_id)])?;
        Ok(rows.into_iter().next().and_then(|row| Columns::of(row).text()))
    }

    fn sums(&mut self, since_ms: u64, client: Option<&str>) -> Result<Vec<ClientSums>, StoreError> {
        let mut conditions = Conditions::default();
        conditions.add("started_ms >= $", Some(Value::count(since_ms)));
        conditions.add("client = $", client.map(Value::text));
        let sum = |column: &str| format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT)");
        let columns =
            ["input", "cache_read", "cache_write", "output", "reasoning", "cost"].map(sum).join(", ");
        let sql = format!(
            "SELECT client, COUNT(*), {columns}, \
             COUNT(CASE WHEN cost IS NULL AND COALESCE(input, output) IS NOT NULL THEN 1 END) \
             FROM exchange WHERE TRUE{} GROUP BY client ORDER BY client",
            conditions.sql
        );
        let rows = self.database.query(&sql, &conditions.parameters)?;
        let sums = rows.into_iter().map(|row| {
            let mut row = Columns::of(row);
            let client = row.text().unwrap_or_default();
            let mut count = || row.count().unwrap_or_default();
            ClientSums {
                client,
                exchanges: count(),
                input: count(),
                cache_read: count(),
                cache_write: count(),
                output: count(),
                reasoning: count(),
                cost: count(),
                unpriced: count(),
            }
        });
        Ok(sums.collect())
    }

    fn size(&mut self) -> Result<StoreSize, StoreError> {
        let mut total = |table| {
            let sql = format!("SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM {table}");
            let mut row = Columns::of(self.database.query(&sql, &[])?.pop().unwrap_or_default());
            Ok((row.count().unwrap_or_default(), row.count().unwrap_or_default()))
        };
        let (exchanges, bytes) = total("exchange")?;
        let (_, pieces) = total("piece")?;
        Ok(StoreSize { exchanges, bytes: bytes + pieces })
    }

    fn retain(&mut self, retention: &Retention, now_ms: u64) -> Result<Deleted, StoreError> {
        let Retention { age_ms, bytes } = *retention;
        if age_ms.is_none() && bytes.is_none() {
            return Ok(Deleted::default());
        }
        let oldest_kept = age_ms.map_or(0, |age| now_ms.saturating_sub(age));
        let mut excess = match bytes {
            Some(most) => self.size()?.bytes.saturating_sub(most),
            None => 0,
        };
        // The pieces that an exchange added are an estimate of the pieces that its deletion frees; the next step counts
        // the size again.
        let sql = "SELECT id, started_ms, size + added FROM exchange ORDER BY started_ms, id LIMIT $1";
        let oldest = self.database.query(sql, &[Value::Integer(STEP)])?;
        let is_sized = excess > 0;
        let mut last = None;
        let mut exchanges = 0;
        for row in oldest {
            let mut row = Columns::of(row);
            let (Some(id), Some(started_ms), Some(size)) = (row.text(), row.count(), row.count()) else {
                continue;
            };
            if started_ms >= oldest_kept && excess == 0 {
                break;
            }
            excess = excess.saturating_sub(size);
            exchanges += 1;
            last = Some((id, started_ms));
        }
        let Some((id, started_ms)) = last else { return Ok(Deleted::default()) };
        transaction(&mut self.database, Access::Alone, |database| {
            let until = [Value::count(started_ms), Value::text(&id)];
            database.query(
                "DELETE FROM exchange WHERE started_ms < $1 OR started_ms = $1 AND id <= $2",
                &until,
            )?;
            delete_pieces(database, is_sized || exchanges < STEP as u64)
        })?;
        self.database.free_space()?;
        Ok(Deleted { exchanges, more: true })
    }
}

/// Deletes pieces that no exchange names: the pieces of the hours before the oldest exchange, and with `in_its_hour` the
/// pieces of the oldest exchange's hour whose exchanges were deleted.
fn delete_pieces(database: &mut impl Database, in_its_hour: bool) -> Result<(), StoreError> {
    let rows = database.query("SELECT started_ms FROM exchange ORDER BY started_ms LIMIT 1", &[])?;
    let oldest = rows.into_iter().next().and_then(|row| Columns::of(row).count());
    let Some(oldest) = oldest else {
        return database.query("DELETE FROM piece", &[]).map(drop);
    };
    let hour = hour(oldest);
    database.query("DELETE FROM piece WHERE hour < $1", &[Value::count(hour)])?;
    if !in_its_hour {
        return Ok(());
    }
    let sql = "SELECT request FROM exchange WHERE started_ms >= $1 AND started_ms < $2";
    let rows = database.query(sql, &[Value::count(hour * HOUR), Value::count((hour + 1) * HOUR)])?;
    let requests = rows.into_iter().filter_map(|row| Columns::of(row).bytes());
    let named: HashSet<Vec<u8>> = requests
        .filter_map(|request| match body::unpack(&request) {
            Some(Unpacked::Pieces(digests)) => Some(digests),
            _ => None,
        })
        .flatten()
        .map(|digest| digest.to_vec())
        .collect();
    let rows = database.query("SELECT digest FROM piece WHERE hour = $1", &[Value::count(hour)])?;
    for digest in rows.into_iter().filter_map(|row| Columns::of(row).bytes()) {
        if !named.contains(&digest) {
            let key = [Value::count(hour), Value::Bytes(digest)];
            database.query("DELETE FROM piece WHERE hour = $1 AND digest = $2", &key)?;
        }
    }
    Ok(())
}

/// Adds one exchange and the pieces of its request that are not stored yet.
fn add(database: &mut impl Database, exchange: &StoredExchange) -> Result<(), StoreError> {
    let StoredExchange { facts, receipt, request, response } = exchange;
    let (receipt, response) = (body::pack(receipt.as_bytes()), body::pack(response));
    let mut size = ROW_OVERHEAD + receipt.len() + response.len();
    let (request, added) = match body::pack_request(request) {
        PackedRequest::Whole(request) => (request, 0),
        PackedRequest::Pieces(list, pieces) => (list, add_pieces(database, hour(facts.started_ms), &pieces)?),
    };
    size += request.len();
    let mut values = values_of(facts);
    values.extend([size as u64, added].map(Value::count));
    values.extend([receipt, request, response].map(Value::Bytes));
    database.query(&INSERT, &values).map(drop)
}

/// The statement that adds an exchange.
static INSERT: LazyLock<String> = LazyLock::new(|| {
    let columns = format!("{FACTS}, size, added, receipt, request, response");
    let places: Vec<String> = (1..=columns.split(',').count()).map(|number| format!("${number}")).collect();
    format!("INSERT INTO exchange ({columns}) VALUES ({}) ON CONFLICT (id) DO NOTHING", places.join(", "))
});

/// Adds the pieces that are not stored yet; returns their bytes as stored.
fn add_pieces(
    database: &mut impl Database,
    hour: u64,
    pieces: &[(PieceDigest, &[u8])],
) -> Result<u64, StoreError> {
    let digests: Vec<PieceDigest> = pieces.iter().map(|(digest, _)| *digest).collect();
    let stored = pieces_of(database, "digest", hour, &digests)?;
    let mut known: HashSet<Vec<u8>> = stored.into_iter().filter_map(|row| Columns::of(row).bytes()).collect();
    let mut size = 0;
    for (digest, piece) in pieces {
        if !known.insert(digest.to_vec()) {
            continue;
        }
        let data = body::pack_piece(piece);
        let length = (data.len() + digest.len()) as u64;
        size += length;
        let values =
            [Value::count(hour), Value::Bytes(digest.to_vec()), Value::count(length), Value::Bytes(data)];
        let sql = "INSERT INTO piece (hour, digest, size, data) VALUES ($1, $2, $3, $4) \
            ON CONFLICT (hour, digest) DO NOTHING";
        database.query(sql, &values)?;
    }
    Ok(size)
}

/// Columns of the pieces with these digests. One statement asks for 32 pieces: a statement with a fixed number of
/// parameters is prepared once.
fn pieces_of(
    database: &mut impl Database,
    columns: &str,
    hour: u64,
    digests: &[PieceDigest],
) -> Result<Vec<Row>, StoreError> {
    const AT_ONCE: usize = 32;
    let places: Vec<String> = (2..AT_ONCE + 2).map(|number| format!("${number}")).collect();
    let sql = format!("SELECT {columns} FROM piece WHERE hour = $1 AND digest IN ({})", places.join(", "));
    let mut rows = Vec::new();
    for some in digests.chunks(AT_ONCE) {
        let Some(first) = some.first() else { continue };
        let padded = some.iter().chain(std::iter::repeat(first)).take(AT_ONCE);
        let mut values = vec![Value::count(hour)];
        values.extend(padded.map(|digest| Value::Bytes(digest.to_vec())));
        rows.extend(database.query(&sql, &values)?);
    }
    Ok(rows)
}

/// The statements that create the tables. The bodies are the last columns, so that a list does not read them.
fn schema(bytes: &str) -> Vec<String> {
    vec![
        "CREATE TABLE store_meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL)".to_owned(),
        format!(
            "CREATE TABLE exchange (
                id TEXT PRIMARY KEY,
                started_ms BIGINT NOT NULL,
                duration_ms BIGINT NOT NULL,
                client_dialect TEXT NOT NULL,
                path TEXT NOT NULL,
                client TEXT NOT NULL,
                conversation TEXT NOT NULL,
                response_id TEXT,
                previous_response TEXT,
                backend TEXT NOT NULL,
                backend_dialect TEXT NOT NULL,
                model_asked TEXT NOT NULL,
                model_sent TEXT NOT NULL,
                status BIGINT NOT NULL,
                streamed BIGINT NOT NULL,
                cancelled BIGINT NOT NULL,
                failure_class TEXT,
                failure_message TEXT,
                stop TEXT,
                input BIGINT,
                cache_read BIGINT,
                cache_write BIGINT,
                output BIGINT,
                reasoning BIGINT,
                cost BIGINT,
                losses BIGINT NOT NULL,
                attempts TEXT NOT NULL,
                size BIGINT NOT NULL,
                added BIGINT NOT NULL,
                receipt {bytes} NOT NULL,
                request {bytes} NOT NULL,
                response {bytes} NOT NULL
            )"
        ),
        "CREATE INDEX exchange_by_time ON exchange (started_ms, id, size)".to_owned(),
        "CREATE INDEX exchange_by_conversation ON exchange (conversation, started_ms)".to_owned(),
        "CREATE INDEX exchange_by_client ON exchange (client, started_ms)".to_owned(),
        "CREATE INDEX exchange_by_response ON exchange (client, response_id) WHERE response_id IS NOT NULL"
            .to_owned(),
        format!(
            "CREATE TABLE piece (
                hour BIGINT NOT NULL,
                digest {bytes} NOT NULL,
                size BIGINT NOT NULL,
                data {bytes} NOT NULL,
                PRIMARY KEY (hour, digest)
            )"
        ),
        "CREATE INDEX piece_by_size ON piece (size)".to_owned(),
    ]
}

/// The values of the columns [`FACTS`].
fn values_of(facts: &ExchangeFacts) -> Vec<Value> {
    let ExchangeFacts {
        id,
        started_ms,
        duration_ms,
        client_dialect,
        path,
        client,
        conversation,
        response_id,
        previous_response,
        backend,
        backend_dialect,
        model_asked,
        model_sent,
        status,
        streamed,
        cancelled,
        failure,
        stop,
        usage,
        cost,
        losses,
        attempts,
    } = facts;
    vec![
        Value::text(id),
        Value::count(*started_ms),
        Value::count(*duration_ms),
        Value::text(client_dialect),
        // A query may hold a key, as Gemini's does.
        Value::text(path.split('?').next().unwrap_or_default()),
        Value::text(client),
        Value::text(conversation),
        Value::optional_text(response_id.as_deref()),
        Value::optional_text(previous_response.as_deref()),
        Value::text(backend),
        Value::text(backend_dialect),
        Value::text(model_asked),
        Value::text(model_sent),
        Value::count((*status).into()),
        Value::count((*streamed).into()),
        Value::count((*cancelled).into()),
        Value::optional_text(failure.as_ref().map(|failure| &*failure.class)),
        Value::optional_text(failure.as_ref().map(|failure| &*failure.message)),
        Value::optional_text(stop.as_deref()),
        Value::optional_count(usage.input),
        Value::optional_count(usage.cache_read),
        Value::optional_count(usage.cache_write),
        Value::optional_count(usage.output),
        Value::optional_count(usage.reasoning),
        Value::optional_count(*cost),
        Value::count(*losses),
        Value::Text(attempts_to_json(attempts)),
    ]
}

/// Reads the columns [`FACTS`].
fn facts_of(row: &mut Columns) -> Result<ExchangeFacts, StoreError> {
    let id = row.text().unwrap_or_default();
    let damaged = |defect| StoreError::Damaged(id.clone(), defect);
    let text = |row: &mut Columns| row.text().ok_or_else(|| damaged("a text is missing"));
    let count = |row: &mut Columns| row.count().ok_or_else(|| damaged("a number is missing"));
    let mut facts = ExchangeFacts {
        started_ms: count(row)?,
        duration_ms: count(row)?,
        client_dialect: text(row)?,
        path: text(row)?,
        client: text(row)?,
        conversation: text(row)?,
        response_id: row.text(),
        previous_response: row.text(),
        backend: text(row)?,
        backend_dialect: text(row)?,
        model_asked: text(row)?,
        model_sent: text(row)?,
        status: count(row)? as u16,
        streamed: count(row)? == 1,
        cancelled: count(row)? == 1,
        ..ExchangeFacts::default()
    };
    let (class, message) = (row.text(), row.text());
    facts.failure = class.map(|class| StoredFailure { class, message: message.unwrap_or_default() });
    facts.stop = row.text();
    facts.usage.input = row.count();
    facts.usage.cache_read = row.count();
    facts.usage.cache_write = row.count();
    facts.usage.output = row.count();
    facts.usage.reasoning = row.count();
    facts.cost = row.count();
    facts.losses = count(row)?;
    let attempts = text(row)?;
    facts.attempts =
        attempts_from_json(&attempts).ok_or_else(|| damaged("the list of attempts cannot be parsed"))?;
    facts.id = id;
    Ok(facts)
}

/// The values of a row, read from left to right.
pub(crate) struct Columns(std::vec::IntoIter<Value>);

impl Columns {
    pub(crate) fn of(row: Row) -> Self {
        Self(row.into_iter())
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        match self.0.next()? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn count(&mut self) -> Option<u64> {
        match self.0.next()? {
            Value::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    pub(crate) fn bytes(&mut self) -> Option<Vec<u8>> {
        match self.0.next()? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// The conditions of a query, with the parameters so far.
#[derive(Default)]
struct Conditions {
    sql: String,
    parameters: Vec<Value>,
}

impl Conditions {
    /// Adds a condition with one parameter, which `$` stands for, if there is a value.
    fn add(&mut self, condition: &str, value: Option<Value>) {
        self.add_all(condition, value.map(|value| vec![value]));
    }

    /// Adds a condition with a parameter for each `$`, if there are values.
    fn add_all(&mut self, condition: &str, values: Option<Vec<Value>>) {
        let Some(values) = values else { return };
        self.sql += " AND ";
        for (number, text) in condition.split('$').enumerate() {
            if number > 0 {
                self.sql.push('$');
                self.sql += &(self.parameters.len() + number).to_string();
            }
            self.sql += text;
        }
        self.parameters.extend(values);
    }
}
