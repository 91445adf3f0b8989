//! D1 follows the gate's journal. Records are numbered; what stands for a record's content is `made`, which
//! is never used twice, so that two records of one number can be told apart. D1 holds the sequence of what it
//! applied, a term, a position and the id of the record there, changed in one transaction. A gate whose storage
//! is put back from a copy gives numbers again, in the same term: only the ids of records tell those apart.
//!
//! Batches and replies stay in the network: they are lost (never delivered), doubled, late, and out of order.
use models::{Case, run};
use stateright::{Model, Property};

/// The operator adopts once, and a lost gate begins one term.
const TERMS: u8 = 3;

#[derive(Clone, Debug)]
struct Mirror {
    records: usize,
    losses: u8,
    restores: u8,
    /// How often the gate's storage is put back from a copy.
    put_backs: u8,
    crashes: u8,
    // The conditions. Each mutant drops one.
    batch_names_term: bool,
    batch_names_position: bool,
    batch_names_record: bool,
    batch_is_whole: bool,
    sent_when_durable: bool,
    leaves_when_taken: bool,
    reply_names_term: bool,
    reply_names_record: bool,
    term_raised_before_reading: bool,
    term_is_new: bool,
    adoption_is_guarded: bool,
    revoking_waits: bool,
}

/// The id of a record; 0 stands for none.
type Made = u8;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Batch {
    term: u8,
    from: u8,
    /// The record at `from`.
    after: Made,
    rows: Vec<Made>,
}

/// Sets D1 to the gate's rows, under a new term, if D1 is still in the term that the gate saw there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Adoption {
    seen: u8,
    term: u8,
    rows: Vec<Made>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Database {
    term: u8,
    position: u8,
    /// The record at the position. A new term leaves it, so what a term guards is not guarded by this.
    record: Made,
    rows: Vec<Made>,
}

/// A copy of the gate's storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Copy {
    term: u8,
    journal: Vec<Made>,
    left: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Gate {
    Up,
    /// Its storage is lost: it has to begin a term in D1, and then to read D1.
    Lost,
    Raised,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    gate: Gate,
    term: u8,
    terms: u8,
    /// All records of this gate, durable, those that have left the journal included.
    journal: Vec<Made>,
    /// Decided in memory, not durable yet.
    undurable: Option<Made>,
    made: Made,
    /// For each record made: the one before it in its journal.
    before: Vec<Made>,
    /// Up to here the journal has been shortened.
    left: u8,
    d1: Database,
    backup: Option<Database>,
    copy: Option<Copy>,
    /// D1 was restored in this term.
    is_restored: bool,
    batches: Vec<Batch>,
    replies: Vec<(u8, u8, Made)>,
    adoptions: Vec<Adoption>,
    /// Revocations that were answered after D1 had them.
    revoked: Vec<Made>,
    losses: u8,
    restores: u8,
    put_backs: u8,
    crashes: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Decide,
    Durable,
    Crash,
    Send(usize),
    Take(usize),
    TakeRowsOnly(usize),
    Hear(usize),
    AnswerRevocation,
    LoseStorage,
    RaiseTerm,
    ReadDatabase,
    Backup,
    Restore,
    CopyStorage,
    PutStorageBack,
    SendAdoption,
    TakeAdoption(usize),
}
use Action::*;

fn keep<T: Ord + Clone>(all: &mut Vec<T>, it: T) {
    if let Err(at) = all.binary_search(&it) {
        all.insert(at, it)
    }
}

/// The record at a position.
fn at(journal: &[Made], position: u8) -> Option<Made> {
    if position == 0 { Some(0) } else { journal.get(position as usize - 1).copied() }
}

impl State {
    /// Whether a gate that compares itself with D1 sees that its storage was put back: D1 has what it never made.
    fn is_behind(&self) -> bool {
        self.put_backs > 0
            && (self.term != self.d1.term || at(&self.journal, self.d1.position) != Some(self.d1.record))
    }

    /// D1 has the records of one journal, in its order.
    fn is_one_journal(&self) -> bool {
        let rows = &self.d1.rows;
        (0..rows.len()).all(|i| self.before[rows[i] as usize - 1] == if i == 0 { 0 } else { rows[i - 1] })
    }
}

impl Mirror {
    /// Forgets what can have no effect any more: copies that are not put back again, and messages that D1 or the
    /// gate would refuse for ever, since positions and terms only grow from now on.
    fn forget(&self, state: &mut State) {
        let is_restored = state.restores == self.restores;
        let is_put_back = state.put_backs == self.put_backs;
        if is_restored {
            state.backup = None
        }
        if is_put_back {
            state.copy = None
        }
        let names_all = self.batch_names_term && self.batch_names_position && self.batch_names_record;
        if !is_restored || !is_put_back || !names_all || !self.reply_names_term || !self.adoption_is_guarded {
            return;
        }
        let (term, left, d1) = (state.term, state.left, &state.d1);
        state
            .batches
            .retain(|batch| batch.term > d1.term || batch.term == d1.term && batch.from >= d1.position);
        state.adoptions.retain(|adoption| adoption.seen >= d1.term);
        state.replies.retain(|reply| reply.0 > term || reply.0 == term && reply.1 > left);
    }
}

impl Model for Mirror {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            gate: Gate::Up,
            term: 1,
            terms: 1,
            journal: vec![],
            undurable: None,
            made: 0,
            before: vec![],
            left: 0,
            d1: Database { term: 1, position: 0, record: 0, rows: vec![] },
            backup: None,
            copy: None,
            is_restored: false,
            batches: vec![],
            replies: vec![],
            adoptions: vec![],
            revoked: vec![],
            losses: 0,
            restores: 0,
            put_backs: 0,
            crashes: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend([
            Decide,
            Durable,
            Crash,
            AnswerRevocation,
            LoseStorage,
            RaiseTerm,
            ReadDatabase,
            Backup,
            Restore,
            CopyStorage,
            PutStorageBack,
            SendAdoption,
        ]);
        actions.extend((1..=self.records).map(Send));
        actions.extend((0..state.batches.len()).map(Take));
        if !self.batch_is_whole {
            actions.extend((0..state.batches.len()).map(TakeRowsOnly))
        }
        actions.extend((0..state.replies.len()).map(Hear));
        actions.extend((0..state.adoptions.len()).map(TakeAdoption));
    }

    fn next_state(&self, from: &State, action: Action) -> Option<State> {
        let mut state = from.clone();
        let up = state.gate == Gate::Up;
        match action {
            Decide => {
                if !up || state.undurable.is_some() || state.made as usize == self.records {
                    return None;
                }
                state.made += 1;
                state.before.push(state.journal.last().copied().unwrap_or(0));
                state.undurable = Some(state.made);
            }
            Durable => {
                let made = state.undurable.take()?;
                state.journal.push(made);
            }
            Crash => {
                if !up || state.crashes == self.crashes {
                    return None;
                }
                state.crashes += 1;
                state.undurable = None;
            }
            // Sends what D1 does not have, as the gate knows it, up to a record.
            Send(to) => {
                if !up {
                    return None;
                }
                let mut known = state.journal.clone();
                if !self.sent_when_durable {
                    known.extend(state.undurable)
                }
                if to > known.len() || to <= state.left as usize {
                    return None;
                }
                let batch = Batch {
                    term: state.term,
                    from: state.left,
                    after: at(&known, state.left)?,
                    rows: known[state.left as usize..to].to_vec(),
                };
                if !self.leaves_when_taken {
                    state.left = to as u8
                }
                keep(&mut state.batches, batch);
            }
            Take(at) => {
                let batch = &from.batches[at];
                let fits = (!self.batch_names_term || batch.term == state.d1.term)
                    && (!self.batch_names_position || batch.from == state.d1.position)
                    && (!self.batch_names_record || batch.after == state.d1.record);
                if !fits {
                    return None;
                }
                state.d1.rows.extend(&batch.rows);
                state.d1.position = batch.from + batch.rows.len() as u8;
                state.d1.record = *batch.rows.last()?;
                keep(&mut state.replies, (batch.term, state.d1.position, state.d1.record));
            }
            // The transaction is cut off before the position is written.
            TakeRowsOnly(at) => {
                let batch = &from.batches[at];
                if batch.term != state.d1.term || batch.from != state.d1.position {
                    return None;
                }
                state.d1.rows.extend(&batch.rows);
            }
            // The position, from a reply or asked for after an error.
            Hear(reply) => {
                let (term, position, record) = from.replies[reply];
                if !up || self.reply_names_term && term != state.term || position <= state.left {
                    return None;
                }
                if self.reply_names_record && at(&state.journal, position) != Some(record) {
                    return None;
                }
                state.left = position;
            }
            // The second record is a revocation.
            AnswerRevocation => {
                let revocation = *state.journal.get(1)?;
                if !up || self.revoking_waits && state.left < 2 || state.revoked.contains(&revocation) {
                    return None;
                }
                state.revoked.push(revocation);
            }
            LoseStorage => {
                if !up || state.losses == self.losses {
                    return None;
                }
                state.losses += 1;
                state.gate = if self.term_raised_before_reading { Gate::Lost } else { Gate::Raised };
                (state.journal, state.undurable, state.left, state.term) = (vec![], None, 0, 0);
            }
            RaiseTerm => {
                if state.gate != Gate::Lost && !(up && state.term == 0) {
                    return None;
                }
                // A number that may have been used by the gate whose storage was lost, or one that never was.
                let next = if self.term_is_new { state.terms + 1 } else { state.d1.term };
                state.terms = state.terms.max(next);
                (state.term, state.d1.term) = (next, next);
                state.is_restored = false;
                if state.gate == Gate::Lost {
                    state.gate = Gate::Raised
                }
            }
            ReadDatabase => {
                if state.gate != Gate::Raised {
                    return None;
                }
                state.gate = Gate::Up;
                (state.journal, state.left) = (state.d1.rows.clone(), state.d1.position);
            }
            Backup => {
                if self.restores == 0 || state.backup.is_some() {
                    return None;
                }
                state.backup = Some(state.d1.clone());
            }
            Restore => {
                if state.restores == self.restores {
                    return None;
                }
                state.restores += 1;
                state.d1 = state.backup.clone()?;
                state.is_restored = true;
            }
            CopyStorage => {
                if self.put_backs == 0 || !up || state.copy.is_some() {
                    return None;
                }
                let (term, journal, left) = (state.term, state.journal.clone(), state.left);
                state.copy = Some(Copy { term, journal, left });
            }
            PutStorageBack => {
                if state.put_backs == self.put_backs {
                    return None;
                }
                state.put_backs += 1;
                let Copy { term, journal, left } = state.copy.clone()?;
                (state.gate, state.undurable) = (Gate::Up, None);
                (state.term, state.journal, state.left) = (term, journal, left);
            }
            // D1 is not where the gate left it, and the operator has the gate's rows put back.
            SendAdoption => {
                if !up || !state.is_restored || state.terms == TERMS || state.term == 0 || state.is_behind() {
                    return None;
                }
                state.terms += 1;
                state.term = state.terms;
                state.left = 0;
                keep(
                    &mut state.adoptions,
                    Adoption { seen: state.d1.term, term: state.term, rows: state.journal.clone() },
                );
            }
            TakeAdoption(at) => {
                let adoption = &from.adoptions[at];
                if self.adoption_is_guarded && state.d1.term != adoption.seen {
                    return None;
                }
                state.is_restored = false;
                state.d1 = Database {
                    term: adoption.term,
                    position: adoption.rows.len() as u8,
                    record: adoption.rows.last().copied().unwrap_or(0),
                    rows: adoption.rows.clone(),
                };
                keep(&mut state.replies, (adoption.term, state.d1.position, state.d1.record));
            }
        }
        self.forget(&mut state);
        (state != *from).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("D1 is a prefix of the journal", |_: &Mirror, state: &State| {
                let known: Vec<Made> = state.journal.iter().chain(&state.undurable).copied().collect();
                state.gate != Gate::Up
                    || state.term != state.d1.term
                    || state.is_behind()
                    || known.starts_with(&state.d1.rows) && state.d1.position as usize == state.d1.rows.len()
            }),
            Property::always("D1 has the records of one journal", |_: &Mirror, state: &State| {
                state.is_one_journal()
            }),
            Property::always("no record twice", |_: &Mirror, state: &State| {
                let rows = &state.d1.rows;
                (1..rows.len()).all(|i| !rows[..i].contains(&rows[i]))
            }),
            Property::always("D1 has what left the journal", |_: &Mirror, state: &State| {
                state.gate != Gate::Up
                    || state.is_restored
                    || state.term != state.d1.term
                    || state.is_behind()
                    || state.left as usize <= state.d1.rows.len()
                        && state.left as usize <= state.journal.len()
            }),
            Property::always("an answered revocation stays", |_: &Mirror, state: &State| {
                state.gate != Gate::Up
                    || state.restores > 0 && (state.losses > 0 || state.put_backs > 0)
                    || state.is_behind()
                    || state.revoked.iter().all(|made| state.journal.contains(made))
            }),
            Property::sometimes("D1 has all, after everything", |model: &Mirror, state: &State| {
                let all = state.losses == model.losses
                    && state.restores == model.restores
                    && state.put_backs == model.put_backs
                    && state.crashes == model.crashes;
                all && state.gate == Gate::Up
                    && state.term == state.d1.term
                    && state.d1.rows == state.journal
                    && state.made as usize == model.records
                    && state.journal.len() >= 2
                    && state.left as usize == state.journal.len()
            }),
        ]
    }
}

fn main() {
    let model = Mirror {
        records: 4,
        losses: 1,
        restores: 0,
        put_backs: 0,
        crashes: 1,
        batch_names_term: true,
        batch_names_position: true,
        batch_names_record: true,
        batch_is_whole: true,
        sent_when_durable: true,
        leaves_when_taken: true,
        reply_names_term: true,
        reply_names_record: true,
        term_raised_before_reading: true,
        term_is_new: true,
        adoption_is_guarded: true,
        revoking_waits: true,
    };
    let m = || model.clone();
    run(
        vec![
            Case { name: "crash and lost storage", model: m() },
            Case {
                name: "crash and restored database",
                model: Mirror { records: 3, losses: 0, restores: 1, ..m() },
            },
            Case {
                name: "lost storage, restored database",
                model: Mirror { records: 2, crashes: 0, restores: 1, ..m() },
            },
            Case { name: "storage put back", model: Mirror { losses: 0, put_backs: 1, ..m() } },
            Case {
                name: "storage put back, lost storage",
                model: Mirror { records: 3, crashes: 0, put_backs: 1, ..m() },
            },
            Case {
                name: "storage put back, restored database",
                model: Mirror { records: 3, losses: 0, crashes: 0, restores: 1, put_backs: 1, ..m() },
            },
        ],
        vec![
            Case { name: "batch-without-term", model: Mirror { batch_names_term: false, ..m() } },
            Case {
                name: "batch-without-position",
                // The id of the record alone would say the position.
                model: Mirror { batch_names_position: false, batch_names_record: false, ..m() },
            },
            Case {
                name: "batch-without-record-id",
                model: Mirror {
                    batch_names_record: false,
                    losses: 0,
                    crashes: 0,
                    restores: 1,
                    put_backs: 1,
                    ..m()
                },
            },
            Case {
                name: "reply-without-record-id",
                model: Mirror { reply_names_record: false, records: 3, crashes: 0, put_backs: 1, ..m() },
            },
            Case { name: "batch-not-whole", model: Mirror { batch_is_whole: false, ..m() } },
            Case { name: "sent-before-durable", model: Mirror { sent_when_durable: false, ..m() } },
            Case { name: "leaves-the-journal-when-sent", model: Mirror { leaves_when_taken: false, ..m() } },
            Case {
                name: "reply-without-term",
                // The id of the record alone would tell the terms apart.
                model: Mirror { reply_names_term: false, reply_names_record: false, restores: 1, ..m() },
            },
            Case { name: "read-before-term", model: Mirror { term_raised_before_reading: false, ..m() } },
            Case { name: "term-used-again", model: Mirror { term_is_new: false, ..m() } },
            Case {
                name: "adoption-without-guard",
                model: Mirror { adoption_is_guarded: false, losses: 0, restores: 1, ..m() },
            },
            Case { name: "revocation-without-D1", model: Mirror { revoking_waits: false, ..m() } },
        ],
    )
}
