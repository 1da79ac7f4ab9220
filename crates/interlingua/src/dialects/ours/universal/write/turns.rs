//! Turns of the agent, and the usage of responses.

use super::super::USAGE;
use super::super::data::put_turn;
use super::{Made, UniversalWriter};
use crate::ledger::Reason;
use crate::model::{Field, Stop, StopClass, Turn};
use crate::pipe::WriterOutput;

impl UniversalWriter {
    pub(super) fn turn_started(&mut self, turn: &Turn<'_>, made: Made, out: &mut WriterOutput<'_>) {
        if self.turn.is_some() {
            self.turn_ended(&broken_off(), Made::ByUs, out);
        }
        self.turns += 1;
        let id =
            turn.id.as_ref().map_or_else(|| format!("turn_{}", self.turns), |id| id.as_escaped().to_owned());
        if let Some(time) = &turn.time {
            self.tick_of(Field::TurnTime, time, out);
        }
        let members = self.members;
        self.say(made, "turn.started", out, |json| put_turn("started", &id, turn, members, json));
        self.turn = Some(id);
    }

    pub(super) fn turn_ended(&mut self, turn: &Turn<'_>, made: Made, out: &mut WriterOutput<'_>) {
        if self.turn.is_none() {
            self.turn_started(&Turn { id: turn.id.clone(), ..Turn::default() }, Made::ByUs, out);
        }
        self.settle(out);
        if let Some(time) = &turn.time {
            self.tick_of(Field::TurnTime, time, out);
        }
        let id = self.turn.take().unwrap_or_default();
        let members = self.members;
        if let Some(own) = turn.id.as_ref().filter(|own| members.is_closed() && own.as_escaped() != id) {
            out.lose_str(Field::TurnId, own, Reason::NoSlot);
        }
        self.say(made, "turn.ended", out, |json| put_turn("ended", &id, turn, members, json));
    }

    pub(super) fn used(&mut self, turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
        if self.members.is_closed() {
            if let Some(time) = &turn.time {
                self.tick_alone(Field::TurnTime, time, out);
            }
            return out.lose_some(Field::TurnId, turn.id.as_ref(), Reason::NoSlot);
        }
        let timeless = Turn { time: None, ..turn.clone() };
        // Each line of a response repeats its usage. Counts without the id of a response are those of another response.
        let is_repeated =
            self.usage.as_ref() == Some(&timeless) && (turn.id.is_some() || turn.usage.is_none());
        let is_news = timeless != Turn::default() && !is_repeated;
        match &turn.time {
            Some(time) if is_news => self.tick(time),
            Some(time) => self.tick_alone(Field::TurnTime, time, out),
            None => {}
        }
        if is_news {
            self.usage = Some(timeless.into_owned());
            self.status_of(USAGE, turn, out);
        }
    }
}

/// The end of a turn that broke off.
pub(super) fn broken_off() -> Turn<'static> {
    Turn {
        stop: Some(Stop { class: StopClass::Error, raw: None, sequence: None, detail: None }),
        ..Turn::default()
    }
}
