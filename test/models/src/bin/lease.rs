//! Replicas answer reads alone while they hold a lease. One key, whose value is the number of the last record
//! that wrote it.
//!
//! What can only be worse when it comes earlier happens at once: replies and acknowledgements that may leave,
//! and news of what is stable. Reads take no time: a slower one begins earlier and ends later, which allows
//! more. All other messages are lost (never delivered), doubled, late and out of order. Time is what is left
//! of a term: a tick takes one from every term, and a replica's clock may miss `drift` ticks of a term.
use models::{Case, run};
use stateright::{Model, Property};

const REPLICAS: usize = 2;
const RECORDS: usize = 2;

#[derive(Clone, Debug)]
struct Lease {
    term: u8,
    drift: u8,
    restarts: u8,
    evictions: u8,
    /// The first record only adds a row, so nothing waits for it.
    creation: bool,
    /// Counts how long the first record waits.
    bounded: bool,
    /// Reads that look at the clock, wait for something, and then read the row.
    slow: bool,
    // The conditions. Each mutant drops one.
    margin: u8,
    counts_from_asking: bool,
    grant_names_last: bool,
    ack_names_holder: bool,
    one_holder: bool,
    gate_reads_wait: bool,
    replica_reads_wait: bool,
    applies_before_ack: bool,
    applies_in_order: bool,
    lease_stored: bool,
    start_waits: bool,
    start_waits_whole_term: bool,
    grant_writes: bool,
    gate_reads_write: bool,
    replay_waits: bool,
    wait_fixed_at_append: bool,
    absent_asks: bool,
    clock_read_after_arrival: bool,
}

/// One instance of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Instance {
    number: u8,
    applied: u8,
    acked: u8,
    need: u8,
    left: u8,
    missed: u8,
    ask: Option<Ask>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ask {
    left: u8,
    missed: u8,
    granted: Option<u8>,
}

/// What an instance of the gate holds in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Memory {
    last: u8,
    acked: [u8; REPLICAS],
    /// For each record and replica: how long its lease at that time still lasts.
    wait: [[u8; REPLICAS]; RECORDS],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    gate: Memory,
    /// An earlier instance that has not noticed its end.
    old_gate: Option<Memory>,
    /// Stored by the gate: who holds the lease (0: nobody), and what is left of it.
    lease: [(u8, u8); REPLICAS],
    replicas: [Instance; REPLICAS],
    old: [Option<Instance>; REPLICAS],
    restarts: u8,
    evictions: u8,
    age: u8,
    /// The newest value that anyone was told.
    floor: u8,
    stale: bool,
    /// Slow reads: what was the newest value when they began.
    slow: [Option<u8>; REPLICAS],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Append,
    /// A tick that these instances' clocks miss.
    Tick(Vec<(usize, bool)>),
    Ask(usize),
    GiveUp(usize),
    Grant(usize),
    OldGateGrants(usize),
    Receive(usize),
    Apply(usize),
    ApplyLate(usize),
    AckBeforeApplying(usize),
    ReplayAtOnce,
    ReadGate,
    ReadOldGate,
    Read(usize),
    ReadOld(usize),
    LookAtClock(usize),
    ReadLater(usize),
    RestartGate,
    Evict(usize, bool),
}
use Action::*;

impl Lease {
    fn stable(&self, state: &State, memory: &Memory) -> u8 {
        let done = |n: u8| {
            (self.creation && n == 1)
                || (0..REPLICAS).all(|i| {
                    let wait = if self.wait_fixed_at_append {
                        memory.wait[n as usize - 1][i]
                    } else {
                        state.lease[i].1
                    };
                    memory.acked[i] >= n || wait == 0
                })
        };
        (1..=memory.last).take_while(|n| done(*n)).last().unwrap_or(0)
    }

    fn answers(&self, state: &State, it: &Instance) -> bool {
        it.left > 0
            && it.applied >= it.need
            && (it.applied <= state.floor || !self.replica_reads_wait)
            && (it.applied > 0 || !self.creation || !self.absent_asks)
    }

    fn fresh(&self, number: u8, applied: u8) -> Instance {
        Instance { number, applied, acked: applied, need: 0, left: 0, missed: 0, ask: None }
    }
}

impl Lease {
    /// Takes the acknowledgements that were sent, and replies to whom it may.
    fn settle(&self, state: &mut State) {
        for i in 0..REPLICAS {
            for it in std::iter::once(&state.replicas[i]).chain(&state.old[i]) {
                if self.ack_names_holder && state.lease[i].0 != it.number {
                    continue;
                }
                for memory in std::iter::once(&mut state.gate).chain(state.old_gate.as_mut()) {
                    memory.acked[i] = memory.acked[i].max(it.acked.min(memory.last));
                }
            }
        }
        let stable = self.stable(state, &state.gate);
        let old = state.old_gate.as_ref().map_or(0, |gate| self.stable(state, gate));
        state.floor = state.floor.max(stable).max(old);
    }
}

fn told(state: &mut State, value: u8) {
    state.stale |= value < state.floor;
    state.floor = state.floor.max(value);
}

fn tick(it: &mut Instance, misses: bool) {
    let step = |left: &mut u8, missed: &mut u8| {
        if *left > 0 {
            if misses { *missed += 1 } else { *left -= 1 }
        }
        if *left == 0 {
            *missed = 0
        }
    };
    step(&mut it.left, &mut it.missed);
    if let Some(ask) = &mut it.ask {
        step(&mut ask.left, &mut ask.missed);
    }
}

impl Model for Lease {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let gate = Memory { last: 0, acked: [0; REPLICAS], wait: [[0; REPLICAS]; RECORDS] };
        let replicas = std::array::from_fn(|_| self.fresh(1, 0));
        vec![State {
            gate,
            old_gate: None,
            lease: [(0, 0); REPLICAS],
            replicas,
            old: [None, None],
            restarts: 0,
            evictions: 0,
            age: 0,
            floor: 0,
            stale: false,
            slow: [None; REPLICAS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // Whose clocks may miss a tick that matters to them.
        let mut late = vec![];
        let may = |it: &Instance| {
            let asked = it.ask.as_ref().is_some_and(|ask| ask.left > 0);
            (it.left > 0 || asked)
                && (it.left == 0 || it.missed < self.drift)
                && it.ask.as_ref().is_none_or(|ask| ask.left == 0 || ask.missed < self.drift)
        };
        for i in 0..REPLICAS {
            if may(&state.replicas[i]) {
                late.push((i, false))
            }
            if state.old[i].as_ref().is_some_and(may) {
                late.push((i, true))
            }
        }
        for set in 0..1 << late.len() {
            actions
                .push(Tick((0..late.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| late[bit]).collect()));
        }
        actions.extend([Append, RestartGate]);
        if !self.gate_reads_wait {
            actions.push(ReadGate)
        }
        if !self.gate_reads_write {
            actions.push(ReadOldGate)
        }
        if !self.replay_waits {
            actions.push(ReplayAtOnce)
        }
        for i in 0..REPLICAS {
            actions.extend([Ask(i), GiveUp(i), Grant(i), Receive(i), Apply(i), Read(i), ReadOld(i)]);
            // The replicas are alike: which one is evicted makes no difference.
            if i == 0 {
                actions.extend([Evict(i, false), Evict(i, true)])
            }
            if self.slow {
                actions.extend([LookAtClock(i), ReadLater(i)])
            }
            if !self.grant_writes {
                actions.push(OldGateGrants(i))
            }
            if !self.applies_in_order {
                actions.push(ApplyLate(i))
            }
            if !self.applies_before_ack {
                actions.push(AckBeforeApplying(i))
            }
        }
    }

    fn next_state(&self, from: &State, action: Action) -> Option<State> {
        let mut state = from.clone();
        match action {
            Append => {
                if state.gate.last as usize == RECORDS {
                    return None;
                }
                state.gate.wait[state.gate.last as usize] = std::array::from_fn(|i| state.lease[i].1);
                state.gate.last += 1;
            }
            Tick(misses) => {
                let done = self.stable(from, &from.gate) > 0;
                for i in 0..REPLICAS {
                    state.lease[i].1 = state.lease[i].1.saturating_sub(1);
                    tick(&mut state.replicas[i], misses.contains(&(i, false)));
                    if let Some(old) = &mut state.old[i] {
                        tick(old, misses.contains(&(i, true)));
                        if old.left == 0 {
                            state.old[i] = None
                        }
                    }
                }
                for memory in std::iter::once(&mut state.gate).chain(state.old_gate.as_mut()) {
                    for wait in memory.wait.iter_mut().flatten() {
                        *wait = wait.saturating_sub(1)
                    }
                }
                if self.bounded && state.gate.last > 0 && !done {
                    state.age = (state.age + 1).min(self.term)
                }
            }
            Ask(i) => {
                if state.replicas[i].ask.is_some() {
                    return None;
                }
                state.replicas[i].ask =
                    Some(self::Ask { left: self.term - self.margin, missed: 0, granted: None });
            }
            GiveUp(i) => {
                state.replicas[i].ask.take()?;
            }
            Grant(i) => {
                let number = state.replicas[i].number;
                let (holder, left) = state.lease[i];
                if self.one_holder && left > 0 && holder != number {
                    return None;
                }
                let need = if self.grant_names_last { state.gate.last } else { 0 };
                state.replicas[i].ask.as_mut()?.granted.get_or_insert(need);
                state.lease[i] = (number, self.term);
            }
            OldGateGrants(i) => {
                let need = state.old_gate.as_ref()?.last;
                state.replicas[i].ask.as_mut()?.granted.get_or_insert(need);
            }
            Receive(i) => {
                let it = &mut state.replicas[i];
                let ask = it.ask.take()?;
                it.need = ask.granted?;
                (it.left, it.missed) = if self.counts_from_asking {
                    (ask.left, ask.missed)
                } else {
                    (self.term - self.margin, 0)
                };
            }
            Apply(i) => {
                let it = &mut state.replicas[i];
                if it.applied == state.gate.last {
                    return None;
                }
                it.applied += 1;
                it.acked = it.acked.max(it.applied);
            }
            ApplyLate(i) => {
                let it = &mut state.replicas[i];
                if it.applied < 2 {
                    return None;
                }
                it.applied -= 1;
            }
            AckBeforeApplying(i) => {
                let it = &mut state.replicas[i];
                if it.applied == state.gate.last {
                    return None;
                }
                it.acked = it.applied + 1;
            }
            ReplayAtOnce => state.floor = state.floor.max(state.old_gate.as_ref()?.last),
            ReadGate => {
                let value = state.gate.last;
                told(&mut state, value);
            }
            ReadOldGate => {
                let gate = state.old_gate.as_ref()?;
                if self.stable(&state, gate) < gate.last {
                    return None;
                }
                let value = gate.last;
                told(&mut state, value);
            }
            Read(i) => {
                if !self.answers(&state, &state.replicas[i]) {
                    return None;
                }
                let value = state.replicas[i].applied;
                told(&mut state, value);
            }
            ReadOld(i) => {
                let it = state.old[i].as_ref()?;
                if !self.answers(&state, it) {
                    return None;
                }
                let value = it.applied;
                told(&mut state, value);
            }
            LookAtClock(i) => {
                if !self.answers(&state, &state.replicas[i]) {
                    return None;
                }
                state.slow[i] = Some(state.floor);
            }
            ReadLater(i) => {
                let began = state.slow[i].take()?;
                let value = state.replicas[i].applied;
                if value > state.floor {
                    return None;
                }
                // A time that was kept from before the request arrived says nothing about it.
                state.stale |= value < if self.clock_read_after_arrival { began } else { state.floor };
            }
            RestartGate => {
                if state.restarts == self.restarts {
                    return None;
                }
                state.restarts += 1;
                state.old_gate = Some(state.gate.clone());
                state.gate.acked = [0; REPLICAS];
                for i in 0..REPLICAS {
                    let (holder, left) = state.lease[i];
                    let wait = match holder {
                        0 => 0,
                        _ if !self.start_waits => 0,
                        // The stored end is a time of the old machine's clock; the new one's is ahead.
                        _ if !self.start_waits_whole_term => left.saturating_sub(1),
                        _ => self.term,
                    };
                    state.lease[i] = if self.lease_stored { (holder, wait) } else { (0, 0) };
                    for n in 0..state.gate.last as usize {
                        state.gate.wait[n][i] = state.lease[i].1
                    }
                }
            }
            Evict(i, is_lost) => {
                if state.evictions == self.evictions {
                    return None;
                }
                state.evictions += 1;
                state.slow[i] = None;
                let it = &state.replicas[i];
                let fresh = self.fresh(it.number + 1, if is_lost { 0 } else { it.applied });
                let old = Some(Instance { ask: None, ..std::mem::replace(&mut state.replicas[i], fresh) });
                state.old[i] = old.filter(|it| it.left > 0);
            }
        }
        self.settle(&mut state);
        (state != *from).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::always("nothing stale is read", |_: &Lease, state: &State| !state.stale),
            Property::sometimes("a replica answers with the last record", |model: &Lease, state: &State| {
                state.gate.last as usize == RECORDS
                    && state.floor == state.gate.last
                    && state.replicas.iter().all(|it| model.answers(state, it) && it.applied == state.floor)
            }),
            Property::sometimes(
                "an old instance answers beside a new one",
                |model: &Lease, state: &State| {
                    model.evictions == 0
                        || state.old[0].as_ref().is_some_and(|it| model.answers(state, it) && it.applied > 0)
                },
            ),
        ];
        if self.bounded {
            all.push(Property::always(
                "a record waits for a term at most",
                |model: &Lease, state: &State| state.age < model.term || model.stable(state, &state.gate) > 0,
            ));
        }
        all
    }
}

fn main() {
    let model = Lease {
        term: 2,
        drift: 1,
        restarts: 1,
        evictions: 1,
        creation: false,
        bounded: false,
        slow: false,
        margin: 1,
        counts_from_asking: true,
        grant_names_last: true,
        ack_names_holder: true,
        one_holder: true,
        gate_reads_wait: true,
        replica_reads_wait: true,
        applies_before_ack: true,
        applies_in_order: true,
        lease_stored: true,
        start_waits: true,
        start_waits_whole_term: true,
        grant_writes: true,
        gate_reads_write: true,
        replay_waits: true,
        wait_fixed_at_append: true,
        absent_asks: true,
        clock_read_after_arrival: true,
    };
    let m = || model.clone();
    run(
        vec![
            Case { name: "slow reads", model: Lease { restarts: 0, evictions: 0, slow: true, ..m() } },
            Case { name: "restart of the gate", model: Lease { evictions: 0, ..m() } },
            Case { name: "eviction of a replica", model: Lease { restarts: 0, ..m() } },
            Case { name: "restart and eviction", model: m() },
            Case { name: "the first record only adds", model: Lease { creation: true, evictions: 0, ..m() } },
            Case {
                name: "how long a record waits",
                model: Lease { restarts: 0, evictions: 0, bounded: true, ..m() },
            },
        ],
        vec![
            Case { name: "no-margin", model: Lease { margin: 0, ..m() } },
            Case { name: "drift-beyond-margin", model: Lease { drift: 2, ..m() } },
            Case { name: "lease-counted-from-receipt", model: Lease { counts_from_asking: false, ..m() } },
            Case { name: "grant-without-last", model: Lease { grant_names_last: false, ..m() } },
            Case { name: "ack-of-any-instance", model: Lease { ack_names_holder: false, ..m() } },
            Case { name: "two-holders", model: Lease { one_holder: false, ..m() } },
            Case { name: "gate-reads-at-once", model: Lease { gate_reads_wait: false, ..m() } },
            Case { name: "replica-reads-at-once", model: Lease { replica_reads_wait: false, ..m() } },
            Case { name: "ack-before-applying", model: Lease { applies_before_ack: false, ..m() } },
            Case { name: "late-record-applied", model: Lease { applies_in_order: false, ..m() } },
            Case { name: "lease-not-stored", model: Lease { lease_stored: false, ..m() } },
            Case { name: "no-wait-at-start", model: Lease { start_waits: false, ..m() } },
            Case {
                name: "stored-end-trusted-at-start",
                model: Lease { start_waits_whole_term: false, ..m() },
            },
            Case { name: "grant-without-a-write", model: Lease { grant_writes: false, ..m() } },
            Case { name: "gate-read-without-a-write", model: Lease { gate_reads_write: false, ..m() } },
            Case { name: "replay-at-once", model: Lease { replay_waits: false, ..m() } },
            Case {
                name: "renewal-extends-a-wait",
                model: Lease { wait_fixed_at_append: false, bounded: true, restarts: 0, evictions: 0, ..m() },
            },
            Case { name: "absence-answered", model: Lease { creation: true, absent_asks: false, ..m() } },
            Case {
                name: "time-from-before-arrival",
                model: Lease { slow: true, clock_read_after_arrival: false, ..m() },
            },
            Case { name: "timer-in-place-of-clock", model: Lease { drift: 9, ..m() } },
        ],
    )
}
