//! What comes back from a replica: audit entries, exactly once; and what is lent to it: permits of one
//! credential's rate limit. A use of a permit is an entry. Ages count in ticks; gate and replica tick
//! together (lease.rs is about clocks).
//!
//! Messages stay in the network: they are lost (never delivered), doubled, late, and out of order.
use models::{Case, run};
use stateright::{Model, Property};

const LIMIT: usize = 2;
const WINDOW: u8 = 2;
const TERM: u8 = 1;

#[derive(Clone, Debug)]
struct Entries {
    crashes: u8,
    evictions: u8,
    losses: u8,
    uses: u8,
    lends: u8,
    /// Messages arrive in the tick in which they were sent, or never.
    prompt: bool,
    // The conditions. Each mutant drops one.
    reserved_when_lent: bool,
    lent_stored: bool,
    permits_end_with_lease: bool,
    recall_has_number: bool,
    lent_to_instance: bool,
    lent_to_lease: bool,
    entry_names_permit: bool,
    return_names_storage: bool,
    entries_before_return: bool,
    dead_count_for_window: bool,
    use_is_never_backdated: bool,
    recalls_before_refusing: bool,
    taken_with_chain: bool,
    deleted_when_taken: bool,
    storage_has_name: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    Lend { number: u8 },
    Ship { storage: u8, first: u8, entries: Vec<(u8, u8)> },
    Returned { number: u8, storage: u8, entries: u8 },
}
use Message::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Ages of all requests that were admitted anywhere, of a window.
    truth: Vec<u8>,
    // The gate: ages of the uses in its chain, numbers of the permits that may be out and whose storage they
    // are in, the last number, what is left of the lease and then of a window.
    book: Vec<u8>,
    out: Vec<(u8, u8)>,
    lends: u8,
    until: u8,
    after: u8,
    taken: u8,
    storage_known: u8,
    chain: u8,
    // The replica, memory.
    permits: Vec<u8>,
    left: u8,
    recalled: u8,
    // The replica, durable: entries numbered from `first`, each with its age and its permit.
    storage: u8,
    first: u8,
    entries: Vec<(u8, u8)>,
    answered: u8,
    messages: Vec<Message>,
    crashes: u8,
    evictions: u8,
    losses: u8,
    refused_early: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Tick,
    Renew,
    LendOne,
    TakePermit(usize),
    Use,
    SendEntries,
    TakeEntries(usize),
    TakeEntriesCrash(usize),
    HearTaken,
    Recall,
    HearReturned(usize),
    GateAdmits,
    GateRefuses,
    RestartGate,
    Evict,
    LoseStorage,
}
use Action::*;

impl State {
    fn free(&self) -> usize {
        LIMIT.saturating_sub(self.book.len() + self.out.len())
    }
    fn send(&mut self, message: Message) {
        if let Err(at) = self.messages.binary_search(&message) {
            self.messages.insert(at, message)
        }
    }
    fn older(ages: &mut Vec<u8>) {
        for age in ages.iter_mut() {
            *age += 1
        }
        ages.retain(|age| *age < WINDOW);
    }
    /// Entries that the gate has not taken.
    fn unshipped(&self, is_named: bool) -> u8 {
        let last = self.first - 1 + self.entries.len() as u8;
        if self.storage_known == self.storage || !is_named {
            last.saturating_sub(self.taken.max(self.first - 1))
        } else {
            self.entries.len() as u8
        }
    }
}

fn void<T>(_: T) {}

fn sorted(mut ages: Vec<u8>) -> Vec<u8> {
    ages.sort();
    ages
}

impl Model for Entries {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            truth: vec![],
            book: vec![],
            out: vec![],
            lends: 0,
            until: 0,
            after: 0,
            taken: 0,
            storage_known: 1,
            chain: 0,
            permits: vec![],
            left: 0,
            recalled: 0,
            storage: 1,
            first: 1,
            entries: vec![],
            answered: 0,
            messages: vec![],
            crashes: 0,
            evictions: 0,
            losses: 0,
            refused_early: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend([
            Tick,
            Renew,
            LendOne,
            Use,
            SendEntries,
            HearTaken,
            Recall,
            GateAdmits,
            GateRefuses,
            RestartGate,
            Evict,
            LoseStorage,
        ]);
        for (at, message) in state.messages.iter().enumerate() {
            match message {
                Lend { .. } => actions.push(TakePermit(at)),
                Ship { .. } => {
                    actions.push(TakeEntries(at));
                    if !self.taken_with_chain {
                        actions.push(TakeEntriesCrash(at))
                    }
                }
                Returned { .. } => actions.push(HearReturned(at)),
            }
        }
    }

    fn next_state(&self, from: &State, action: Action) -> Option<State> {
        let mut state = from.clone();
        match action {
            Tick => {
                State::older(&mut state.truth);
                State::older(&mut state.book);
                for (age, _) in state.entries.iter_mut() {
                    *age = (*age + 1).min(WINDOW)
                }
                if state.until > 0 {
                    state.until -= 1
                } else {
                    state.after = state.after.saturating_sub(1)
                }
                state.left = state.left.saturating_sub(1);
                if state.left == 0 && self.permits_end_with_lease {
                    state.permits.clear()
                }
                if state.left == 0 && self.lent_to_lease {
                    state.messages.retain(|message| !matches!(message, Lend { .. }))
                }
                // Whatever was used, was used before the lease ended: after a window it does not count any
                // more.
                if state.until == 0 && (state.after == 0 || !self.dead_count_for_window) {
                    state.out.clear()
                }
                if self.prompt {
                    state.messages.clear()
                }
            }
            Renew => {
                (state.until, state.left, state.after) = (TERM, TERM, WINDOW);
            }
            LendOne => {
                if state.until == 0 || state.free() == 0 || state.lends == self.lends {
                    return None;
                }
                state.lends += 1;
                if self.reserved_when_lent {
                    state.out.push((state.lends, state.storage_known))
                }
                let number = state.lends;
                state.send(Lend { number });
            }
            TakePermit(at) => {
                let Lend { number } = from.messages[at].clone() else { return None };
                if number <= state.recalled || state.left == 0 {
                    return None;
                }
                // A number is used once: what came later makes what came before void.
                state.recalled = number;
                state.permits.push(number);
            }
            Use => {
                if state.permits.is_empty()
                    || state.left == 0 && self.permits_end_with_lease
                    || state.answered == self.uses
                {
                    return None;
                }
                let permit = state.permits.remove(0);
                state.truth = sorted([state.truth, vec![0]].concat());
                state.entries.push((0, permit));
                state.answered += 1;
            }
            SendEntries => {
                if state.entries.is_empty() {
                    return None;
                }
                let (storage, first, entries) = (state.storage, state.first, state.entries.clone());
                state.send(Ship { storage, first, entries });
                if !self.deleted_when_taken {
                    state.first += state.entries.len() as u8;
                    state.entries.clear();
                }
            }
            TakeEntries(at) | TakeEntriesCrash(at) => {
                let Ship { storage, first, entries } = from.messages[at].clone() else {
                    return None;
                };
                if self.storage_has_name {
                    if storage < state.storage_known {
                        return None;
                    }
                    if storage > state.storage_known {
                        (state.storage_known, state.taken) = (storage, 0)
                    }
                }
                if first > state.taken + 1 {
                    return None;
                }
                let fresh: Vec<(u8, u8)> = entries
                    .into_iter()
                    .enumerate()
                    .filter(|(i, _)| first + *i as u8 > state.taken)
                    .map(|(_, it)| it)
                    .collect();
                if fresh.is_empty() {
                    return None;
                }
                state.chain += fresh.len() as u8;
                for (_, permit) in &fresh {
                    match state
                        .out
                        .iter()
                        .position(|(number, _)| number == permit || !self.entry_names_permit)
                    {
                        Some(at) => void(state.out.remove(at)),
                        None => {}
                    }
                }
                if !matches!(action, TakeEntriesCrash(_)) {
                    state.taken += fresh.len() as u8
                }
                let early = if self.use_is_never_backdated { 0 } else { 1 };
                state.book.extend(fresh.iter().map(|(age, _)| age + early).filter(|age| *age < WINDOW));
                state.book.sort();
            }
            HearTaken => {
                if state.storage_known != state.storage
                    || state.taken < state.first
                    || state.entries.is_empty()
                {
                    return None;
                }
                state.entries.drain(..(state.taken + 1 - state.first) as usize);
                state.first = state.taken + 1;
            }
            Recall => {
                state.permits.clear();
                if self.recall_has_number {
                    state.recalled = state.recalled.max(state.lends)
                }
                let (number, storage, entries) =
                    (state.lends, state.storage, state.first - 1 + state.entries.len() as u8);
                state.send(Returned { number, storage, entries });
            }
            HearReturned(at) => {
                let Returned { number, storage, entries } = from.messages[at].clone() else {
                    return None;
                };
                // Nothing was lent since, and what was used until then is in the chain.
                if number != state.lends {
                    return None;
                }
                if self.entries_before_return
                    && entries > 0
                    && (storage != state.storage_known || state.taken < entries)
                {
                    return None;
                }
                state.out.retain(|(_, of)| self.return_names_storage && *of != storage);
            }
            GateAdmits => {
                if state.free() == 0 {
                    return None;
                }
                state.truth = sorted([state.truth, vec![0]].concat());
                state.book = sorted([state.book, vec![0]].concat());
            }
            GateRefuses => {
                if state.free() > 0 || self.recalls_before_refusing && !state.out.is_empty() {
                    return None;
                }
                state.refused_early |= state.truth.len() < LIMIT;
            }
            RestartGate => {
                if state.crashes == self.crashes {
                    return None;
                }
                state.crashes += 1;
                if !self.lent_stored {
                    state.out.clear()
                }
            }
            Evict => {
                if state.evictions == self.evictions {
                    return None;
                }
                state.evictions += 1;
                (state.permits, state.left, state.recalled) = (vec![], 0, 0);
                if self.lent_to_instance {
                    state.messages.retain(|message| !matches!(message, Lend { .. }))
                }
            }
            LoseStorage => {
                if state.losses == self.losses {
                    return None;
                }
                state.losses += 1;
                // What was not shipped is lost, and the gate says so; what follows must not be.
                state.answered -= state.unshipped(self.storage_has_name);
                state.storage += 1;
                (state.permits, state.left, state.recalled, state.first) = (vec![], 0, 0, 1);
                state.messages.retain(|message| !matches!(message, Ship { .. } | Lend { .. }));
                state.entries = vec![];
            }
        }
        // What can have no effect any more is forgotten.
        let (lends, taken, known) = (state.lends, state.taken, state.storage_known);
        state.messages.retain(|message| match message {
            Returned { number, .. } => *number == lends,
            Ship { storage, first, entries } => *storage > known || first + entries.len() as u8 > taken + 1,
            Lend { .. } => true,
        });
        (state != *from).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::always("never over the limit", |_: &Entries, state: &State| state.truth.len() <= LIMIT),
            Property::always("one entry for each answer", |model: &Entries, state: &State| {
                state.answered == state.chain + state.unshipped(model.storage_has_name)
            }),
            Property::sometimes(
                "all permits are used at the replica, and all entries are in the chain",
                |_: &Entries, state: &State| {
                    state.chain as usize >= LIMIT && state.unshipped(true) == 0 && state.truth.len() == LIMIT
                },
            ),
        ];
        if self.prompt {
            all.push(Property::always("never refused below the limit", |_: &Entries, state: &State| {
                !state.refused_early
            }));
        }
        all
    }
}

fn main() {
    let model = Entries {
        crashes: 1,
        evictions: 1,
        losses: 0,
        uses: 3,
        lends: 3,
        prompt: false,
        reserved_when_lent: true,
        lent_stored: true,
        permits_end_with_lease: true,
        recall_has_number: true,
        lent_to_instance: true,
        lent_to_lease: true,
        entry_names_permit: true,
        return_names_storage: true,
        entries_before_return: true,
        dead_count_for_window: true,
        use_is_never_backdated: true,
        recalls_before_refusing: true,
        taken_with_chain: true,
        deleted_when_taken: true,
        storage_has_name: true,
    };
    let m = || model.clone();
    let prompt = || Entries { prompt: true, ..model.clone() };
    run(
        vec![
            // A restart of the gate changes nothing where all is stored, so only a mutant has one.
            Case { name: "messages in time", model: Entries { crashes: 0, ..prompt() } },
            Case { name: "eviction", model: Entries { crashes: 0, ..m() } },
            Case {
                name: "lost storage of the replica",
                model: Entries { crashes: 0, evictions: 0, losses: 1, ..m() },
            },
        ],
        vec![
            Case { name: "not-reserved-when-lent", model: Entries { reserved_when_lent: false, ..m() } },
            Case { name: "lent-not-stored", model: Entries { lent_stored: false, ..m() } },
            Case { name: "permits-outlive-lease", model: Entries { permits_end_with_lease: false, ..m() } },
            Case { name: "recall-without-number", model: Entries { recall_has_number: false, ..m() } },
            Case { name: "lent-to-any-instance", model: Entries { lent_to_instance: false, ..m() } },
            Case { name: "lent-to-a-later-lease", model: Entries { lent_to_lease: false, ..m() } },
            Case { name: "entry-without-permit", model: Entries { entry_names_permit: false, ..m() } },
            Case {
                name: "return-of-other-storage",
                model: Entries { return_names_storage: false, crashes: 0, evictions: 0, losses: 1, ..m() },
            },
            Case { name: "returned-before-entries", model: Entries { entries_before_return: false, ..m() } },
            Case { name: "freed-when-lease-ends", model: Entries { dead_count_for_window: false, ..m() } },
            Case { name: "use-backdated", model: Entries { use_is_never_backdated: false, ..m() } },
            Case {
                name: "refused-without-recall",
                model: Entries { recalls_before_refusing: false, ..prompt() },
            },
            Case { name: "chain-without-position", model: Entries { taken_with_chain: false, ..m() } },
            Case { name: "deleted-when-sent", model: Entries { deleted_when_taken: false, ..m() } },
            Case {
                name: "storage-without-name",
                model: Entries { storage_has_name: false, crashes: 0, evictions: 0, losses: 1, ..m() },
            },
        ],
    )
}
