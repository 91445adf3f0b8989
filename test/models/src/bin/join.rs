//! A replica joins: it reads the gate's rows in pages (a page a key), while records go on. The first page
//! fixes the position from which it then applies records. Pages come late, doubled and out of order; records
//! come in order. The journal is bounded: a replica whose records are gone starts again, and so does one of a
//! region that is put in again.
use models::{Case, run};
use stateright::{Model, Property};

const KEYS: usize = 2;

#[derive(Clone, Debug)]
struct Join {
    records: usize,
    /// How often a replica starts again.
    restarts: u8,
    /// Records leave the journal.
    is_bounded: bool,
    // The conditions. Each mutant drops one.
    from_first_page: bool,
    newer_wins: bool,
    keeps_tombstones: bool,
    page_names_attempt: bool,
    gap_starts_again: bool,
}

/// The record that wrote a row last, and whether the row is there.
type Row = (u8, bool);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// For each record: the key, and whether it puts or removes.
    journal: Vec<(usize, bool)>,
    /// Up to here, records have left the journal.
    left: u8,
    /// Pages that were read: for which attempt, their key, and the row if there was one.
    pages: Vec<(u8, usize, Option<Row>)>,
    attempt: u8,
    position: Option<u8>,
    has: [bool; KEYS],
    rows: [Option<Row>; KEYS],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Append(usize, bool),
    ReadPage(usize),
    TakePage(usize),
    Apply,
    Leave,
    StartAgain,
}
use Action::*;

fn row(journal: &[(usize, bool)], key: usize) -> Option<Row> {
    let at = journal.iter().rposition(|(of, _)| *of == key)?;
    Some((at as u8 + 1, journal[at].1))
}

impl Join {
    fn keep(&self, rows: &mut [Option<Row>; KEYS], key: usize, new: Row) {
        if self.newer_wins && rows[key].is_some_and(|(number, _)| number >= new.0) {
            return;
        }
        rows[key] = Some(new).filter(|(_, is_there)| *is_there || self.keeps_tombstones);
    }
}

impl Model for Join {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            journal: vec![],
            left: 0,
            pages: vec![],
            attempt: 0,
            position: None,
            has: [false; KEYS],
            rows: [None; KEYS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for key in 0..KEYS {
            actions.extend([Append(key, true), Append(key, false), ReadPage(key)])
        }
        actions.extend((0..state.pages.len()).map(TakePage));
        actions.extend([Apply, Leave, StartAgain]);
    }

    fn next_state(&self, from: &State, action: Action) -> Option<State> {
        let mut state = from.clone();
        match action {
            Append(key, puts) => {
                if state.journal.len() == self.records {
                    return None;
                }
                state.journal.push((key, puts));
            }
            ReadPage(key) => {
                let there = row(&state.journal, key).filter(|(_, is_there)| *is_there);
                let page = (state.attempt, key, there);
                match state.pages.binary_search(&page) {
                    Ok(_) if state.position.is_some() => return None,
                    Ok(_) => {}
                    Err(at) => state.pages.insert(at, page),
                }
                if state.position.is_none() || !self.from_first_page && state.has != [true; KEYS] {
                    state.position = Some(state.journal.len() as u8);
                }
            }
            TakePage(at) => {
                let (attempt, key, page) = state.pages[at];
                if self.page_names_attempt && attempt != state.attempt {
                    return None;
                }
                state.has[key] = true;
                if let Some(page) = page {
                    self.keep(&mut state.rows, key, page)
                }
            }
            Apply => {
                let mut at = state.position? as usize;
                if at < state.left.into() {
                    if self.gap_starts_again {
                        return None;
                    }
                    at = state.left.into()
                }
                let (key, puts) = *state.journal.get(at)?;
                self.keep(&mut state.rows, key, (at as u8 + 1, puts));
                state.position = Some(at as u8 + 1);
            }
            Leave => {
                if !self.is_bounded || state.left as usize == state.journal.len() {
                    return None;
                }
                state.left += 1;
            }
            // Nothing of what it had is left.
            StartAgain => {
                if state.attempt == self.restarts || state.position.is_none() {
                    return None;
                }
                state.attempt += 1;
                (state.position, state.has, state.rows) = (None, [false; KEYS], [None; KEYS]);
                if self.page_names_attempt {
                    state.pages.clear()
                }
            }
        }
        (state != *from).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("who has joined has the gate's rows", |_: &Join, state: &State| {
                let joined = state.has == [true; KEYS] && state.position == Some(state.journal.len() as u8);
                let there = |it: Option<Row>| it.filter(|(_, is_there)| *is_there);
                !joined || (0..KEYS).all(|key| there(state.rows[key]) == there(row(&state.journal, key)))
            }),
            Property::sometimes("joined with all records", |model: &Join, state: &State| {
                state.has == [true; KEYS]
                    && state.position == Some(model.records as u8)
                    && state.journal.len() == model.records
                    && state.attempt == model.restarts
            }),
        ]
    }
}

fn main() {
    let model = Join {
        records: 4,
        restarts: 0,
        is_bounded: false,
        from_first_page: true,
        newer_wins: true,
        keeps_tombstones: true,
        page_names_attempt: true,
        gap_starts_again: true,
    };
    let m = || model.clone();
    let again = || Join { records: 3, restarts: 1, is_bounded: true, ..model.clone() };
    run(
        vec![Case { name: "joining", model: m() }, Case { name: "starting again", model: again() }],
        vec![
            Case { name: "position-of-the-last-page", model: Join { from_first_page: false, ..m() } },
            Case { name: "late-page-wins", model: Join { newer_wins: false, ..m() } },
            Case { name: "no-tombstones", model: Join { keeps_tombstones: false, ..m() } },
            Case { name: "page-of-an-earlier-attempt", model: Join { page_names_attempt: false, ..again() } },
            Case { name: "gap-passed-over", model: Join { gap_starts_again: false, ..again() } },
        ],
    )
}
