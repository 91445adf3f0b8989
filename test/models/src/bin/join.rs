//! A replica joins: it reads the gate's rows in pages (a page a key), while records go on. The first page
//! fixes the position from which it then applies records. Pages come late, doubled and out of order; records
//! come in order.
use models::{Case, run};
use stateright::{Model, Property};

const KEYS: usize = 2;
const RECORDS: usize = 4;

#[derive(Clone, Debug)]
struct Join {
    // The conditions. Each mutant drops one.
    from_first_page: bool,
    newer_wins: bool,
    keeps_tombstones: bool,
}

/// The record that wrote a row last, and whether the row is there.
type Row = (u8, bool);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// For each record: the key, and whether it puts or removes.
    journal: Vec<(usize, bool)>,
    /// Pages that were read: their key, and the row if there was one.
    pages: Vec<(usize, Option<Row>)>,
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
        vec![State { journal: vec![], pages: vec![], position: None, has: [false; KEYS], rows: [None; KEYS] }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for key in 0..KEYS {
            actions.extend([Append(key, true), Append(key, false), ReadPage(key)])
        }
        actions.extend((0..state.pages.len()).map(TakePage));
        actions.push(Apply);
    }

    fn next_state(&self, from: &State, action: Action) -> Option<State> {
        let mut state = from.clone();
        match action {
            Append(key, puts) => {
                if state.journal.len() == RECORDS {
                    return None;
                }
                state.journal.push((key, puts));
            }
            ReadPage(key) => {
                let page = (key, row(&state.journal, key).filter(|(_, is_there)| *is_there));
                if state.pages.contains(&page) && state.position.is_some() {
                    return None;
                }
                if !state.pages.contains(&page) {
                    state.pages.push(page)
                }
                if state.position.is_none() || !self.from_first_page && state.has != [true; KEYS] {
                    state.position = Some(state.journal.len() as u8);
                }
            }
            TakePage(at) => {
                let (key, page) = state.pages[at];
                state.has[key] = true;
                if let Some(page) = page {
                    self.keep(&mut state.rows, key, page)
                }
            }
            Apply => {
                let at = state.position? as usize;
                let (key, puts) = *state.journal.get(at)?;
                self.keep(&mut state.rows, key, (at as u8 + 1, puts));
                state.position = Some(at as u8 + 1);
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
            Property::sometimes("joined with all records", |_: &Join, state: &State| {
                state.has == [true; KEYS]
                    && state.position == Some(RECORDS as u8)
                    && state.journal.len() == RECORDS
            }),
        ]
    }
}

fn main() {
    let model = Join { from_first_page: true, newer_wins: true, keeps_tombstones: true };
    let m = || model.clone();
    run(
        vec![Case { name: "joining", model: m() }],
        vec![
            Case { name: "position-of-the-last-page", model: Join { from_first_page: false, ..m() } },
            Case { name: "late-page-wins", model: Join { newer_wins: false, ..m() } },
            Case { name: "no-tombstones", model: Join { keeps_tombstones: false, ..m() } },
        ],
    )
}
