//! Replicas answer reads alone while they hold a lease. Records write one key or two; the value of a key is
//! the number of the last record that wrote it.
//!
//! What can only be worse when it comes earlier happens at once: replies and acknowledgements that may leave,
//! and news of what is stable. Reads take no time: a slower one begins earlier and ends later, which allows
//! more. All other messages are lost (never delivered), doubled, late and out of order. Time is what is left
//! of a term: a tick takes one from every term, and a replica's clock may miss `drift` ticks of a term.
//!
//! Regions are alike, so a state keeps them sorted: two states that differ only in which region is which are
//! one (symmetry reduction). What can have no effect any more is forgotten, for the same reason.
use models::{Case, run};
use stateright::{Model, Property};

/// The most records of any case.
const MOST: usize = 3;

/// Sets of keys.
const A: u8 = 1;
const B: u8 = 2;
const BOTH: u8 = A | B;

/// Who holds the lease of a region, as the gate has stored it.
const NOBODY: u8 = 0;
const CURRENT: u8 = 1;
const EARLIER: u8 = 2;
/// An instance that has ended, or one that a gate without its storage does not know.
const UNKNOWN: u8 = 3;

#[derive(Clone, Debug)]
struct Lease {
    regions: usize,
    /// What each record writes.
    writes: &'static [u8],
    /// The record that only adds a row (0: none), so nothing waits for it.
    adds: u8,
    /// The record that removes its row (0: none).
    removes: u8,
    term: u8,
    drift: u8,
    restarts: u8,
    /// Restarts without storage. D1 has all records, but no leases.
    losses: u8,
    evictions: u8,
    /// How often a region is taken out, or put in again.
    region_changes: u8,
    /// Idle replicas give their lease back.
    releases: bool,
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
    stable_is_prefix: bool,
    notes_all_rows: bool,
    notes_tombstones: bool,
    region_out_keeps_lease: bool,
    start_reads_regions_out: bool,
    loss_waits_for_all: bool,
    loss_forgets_holders: bool,
    release_names_lease: bool,
}

/// One instance of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Instance {
    applied: u8,
    acked: u8,
    need: u8,
    left: u8,
    missed: u8,
    ask: Option<Ask>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Ask {
    left: u8,
    missed: u8,
    granted: Option<u8>,
}

/// A region, at the gate and there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Region {
    /// Stored by the gate: who holds the lease, and what is left of it.
    holder: u8,
    left: u8,
    is_out: bool,
    /// In the gate's memory: for each record, how long it still waits for the region.
    wait: [u8; MOST],
    /// The same, of an earlier instance of the gate.
    old_wait: [u8; MOST],
    replica: Instance,
    /// An earlier instance that still answers.
    old: Option<Instance>,
    /// A late message that the lease was given back, and by whom.
    release: u8,
    /// A slow read: the newest that anyone was told when it began.
    slow: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    last: u8,
    /// The last record of an earlier instance of the gate that has not noticed its end.
    old_last: Option<u8>,
    regions: Vec<Region>,
    restarts: u8,
    losses: u8,
    evictions: u8,
    region_changes: u8,
    age: u8,
    /// The newest record that anyone was told of.
    floor: u8,
    stale: bool,
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
    Release(usize),
    TakeRelease(usize),
    Apply(usize),
    ApplyLate(usize),
    AckBeforeApplying(usize),
    ReplayAtOnce,
    ReadGate(u8),
    ReadOldGate,
    Read(usize, u8),
    ReadOld(usize, u8),
    LookAtClock(usize),
    ReadLater(usize),
    RestartGate,
    LoseGateStorage,
    Evict(usize, bool),
    ChangeRegion(usize),
}
use Action::*;

fn fresh(applied: u8) -> Instance {
    Instance { applied, acked: applied, need: 0, left: 0, missed: 0, ask: None }
}

impl Lease {
    /// The sets of keys that a reader looks at.
    fn sets(&self) -> &'static [u8] {
        if self.writes.contains(&B) { &[A, B, BOTH] } else { &[A] }
    }

    /// The records up to a position that wrote one of these keys. One that only adds a row counts as stable at
    /// once: it is not looked at.
    fn written(&self, keys: u8, position: u8) -> impl DoubleEndedIterator<Item = u8> + '_ {
        (1..=position).filter(move |n| *n != self.adds && self.writes[*n as usize - 1] & keys != 0)
    }

    /// The greatest record number among the rows that were looked at.
    fn looked_at(&self, keys: u8, position: u8) -> u8 {
        self.written(keys, position).next_back().unwrap_or(0)
    }

    /// The same, as the rows module notes it.
    fn noted(&self, keys: u8, position: u8) -> u8 {
        let of = |keys| {
            let n = self.looked_at(keys, position);
            if n == self.removes && !self.notes_tombstones { 0 } else { n }
        };
        if keys == BOTH && !self.notes_all_rows { of(A).min(of(B)) } else { of(keys) }
    }

    /// Whether a row is missing at a position.
    fn is_absent(&self, keys: u8, position: u8) -> bool {
        position < self.adds && self.writes[self.adds as usize - 1] & keys != 0
    }

    fn stable(&self, last: u8, wait: impl Fn(u8) -> bool) -> u8 {
        let done = |n: &u8| *n == self.adds || !wait(*n - 1);
        let mut all = 1..=last;
        let found = if self.stable_is_prefix { all.take_while(done).last() } else { all.rfind(done) };
        found.unwrap_or(0)
    }

    fn stable_at_gate(&self, state: &State) -> u8 {
        self.stable(state.last, |n| state.regions.iter().any(|region| region.wait[n as usize] > 0))
    }

    fn stable_at_old_gate(&self, state: &State) -> u8 {
        let last = state.old_last.unwrap_or(0);
        self.stable(last, |n| state.regions.iter().any(|region| region.old_wait[n as usize] > 0))
    }

    fn answers(&self, state: &State, it: &Instance, keys: u8) -> bool {
        it.left > 0
            && it.applied >= it.need
            && (self.noted(keys, it.applied) <= state.floor || !self.replica_reads_wait)
            && (!self.is_absent(keys, it.applied) || !self.absent_asks)
    }

    /// Somebody reads these keys, as they are at a position.
    fn tell(&self, state: &mut State, keys: u8, position: u8) {
        state.stale |= self.looked_at(keys, position) < self.looked_at(keys, state.floor)
            || self.is_absent(keys, position) && state.last >= self.adds;
        state.floor = state.floor.max(self.looked_at(keys, position));
    }

    fn tell_instance(&self, state: &mut State, it: Option<Instance>, keys: u8) -> Option<()> {
        let it = it.filter(|it| self.answers(state, it, keys))?;
        self.tell(state, keys, it.applied);
        Some(())
    }

    /// Takes the acknowledgements that were sent, and replies to whom it may.
    fn settle(&self, state: &mut State) {
        for region in &mut state.regions {
            for (it, holder) in
                std::iter::once((&region.replica, CURRENT)).chain(region.old.iter().map(|it| (it, EARLIER)))
            {
                if self.ack_names_holder && region.holder != holder {
                    continue;
                }
                let acked = it.acked as usize;
                region.wait[..acked].fill(0);
                region.old_wait[..acked].fill(0);
            }
        }
        let old = self.stable_at_old_gate(state);
        state.floor = state.floor.max(self.stable_at_gate(state)).max(old);
        // The earlier instance has told all that it may.
        if state.old_last == Some(old) && self.grant_writes && self.gate_reads_write && self.replay_waits {
            state.old_last = None
        }
    }

    /// Forgets what can have no effect any more, and sorts the regions.
    fn normalise(&self, state: &mut State) {
        for region in &mut state.regions {
            if state.old_last.is_none() {
                region.old_wait = [0; MOST]
            }
            // All waits have ended with it.
            if region.left == 0 {
                region.holder = NOBODY
            }
            let it = &mut region.replica;
            if self.counts_from_asking && it.ask.as_ref().is_some_and(|ask| ask.left == 0) {
                it.ask = None
            }
            if let Some(need) = it.ask.as_mut().and_then(|ask| ask.granted.as_mut())
                && *need <= it.applied
            {
                *need = 0
            }
            for it in std::iter::once(it).chain(&mut region.old) {
                if it.left == 0 || it.need <= it.applied {
                    it.need = 0
                }
            }
        }
        state.regions.sort();
    }

    /// A gate starts: what it finds in its storage, and for how long it waits for each region.
    fn restart(&self, state: &mut State, is_lost: bool) {
        state.old_last = Some(state.last);
        for region in &mut state.regions {
            region.old_wait = region.wait;
            let wait = match region.holder {
                // It cannot know the regions that had a lease.
                _ if is_lost => self.term,
                NOBODY => 0,
                _ if !self.start_waits => 0,
                // The stored end is a time of the old machine's clock; the new one's is ahead.
                _ if !self.start_waits_whole_term => region.left.saturating_sub(1),
                _ => self.term,
            };
            let is_known = if is_lost {
                self.loss_waits_for_all || !region.is_out
            } else {
                self.lease_stored && (self.start_reads_regions_out || !region.is_out)
            };
            region.left = if is_known { wait } else { 0 };
            if is_lost {
                region.holder = if self.loss_forgets_holders { UNKNOWN } else { CURRENT }
            }
            region.wait = [0; MOST];
            region.wait[..state.last as usize].fill(region.left);
        }
    }
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
        let region = Region {
            holder: NOBODY,
            left: 0,
            is_out: false,
            wait: [0; MOST],
            old_wait: [0; MOST],
            replica: fresh(0),
            old: None,
            release: NOBODY,
            slow: None,
        };
        vec![State {
            last: 0,
            old_last: None,
            regions: vec![region; self.regions],
            restarts: 0,
            losses: 0,
            evictions: 0,
            region_changes: 0,
            age: 0,
            floor: 0,
            stale: false,
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
        for (i, region) in state.regions.iter().enumerate() {
            if may(&region.replica) {
                late.push((i, false))
            }
            if region.old.as_ref().is_some_and(may) {
                late.push((i, true))
            }
        }
        for set in 0..1 << late.len() {
            actions
                .push(Tick((0..late.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| late[bit]).collect()));
        }
        actions.extend([Append, RestartGate, LoseGateStorage]);
        actions.extend(self.sets().iter().map(|keys| ReadGate(*keys)));
        if !self.gate_reads_write {
            actions.push(ReadOldGate)
        }
        if !self.replay_waits {
            actions.push(ReplayAtOnce)
        }
        for i in 0..self.regions {
            // Of regions in the same state the first stands for all.
            if i > 0 && state.regions[i] == state.regions[i - 1] {
                continue;
            }
            actions.extend([Ask(i), GiveUp(i), Grant(i), Receive(i), Apply(i)]);
            for keys in self.sets() {
                actions.extend([Read(i, *keys), ReadOld(i, *keys)])
            }
            actions.extend([Evict(i, false), Evict(i, true), ChangeRegion(i)]);
            if self.releases {
                actions.extend([Release(i), TakeRelease(i)])
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
                if state.last as usize == self.writes.len() {
                    return None;
                }
                for region in &mut state.regions {
                    region.wait[state.last as usize] = region.left
                }
                state.last += 1;
            }
            Tick(misses) => {
                let done = self.stable_at_gate(from) > 0;
                for (i, region) in state.regions.iter_mut().enumerate() {
                    region.left = region.left.saturating_sub(1);
                    tick(&mut region.replica, misses.contains(&(i, false)));
                    if let Some(old) = &mut region.old {
                        tick(old, misses.contains(&(i, true)));
                        if old.left == 0 {
                            region.old = None
                        }
                    }
                    for wait in region.wait.iter_mut().chain(&mut region.old_wait) {
                        *wait = wait.saturating_sub(1)
                    }
                }
                if self.bounded && state.last > 0 && !done {
                    state.age = (state.age + 1).min(self.term)
                }
            }
            Ask(i) => {
                let it = &mut state.regions[i].replica;
                if it.ask.is_some() {
                    return None;
                }
                it.ask = Some(self::Ask { left: self.term - self.margin, missed: 0, granted: None });
            }
            GiveUp(i) => {
                state.regions[i].replica.ask.take()?;
            }
            Grant(i) => {
                let region = &mut state.regions[i];
                if region.is_out || self.one_holder && region.left > 0 && region.holder != CURRENT {
                    return None;
                }
                let need = if self.grant_names_last { state.last } else { 0 };
                region.replica.ask.as_mut()?.granted.get_or_insert(need);
                (region.holder, region.left) = (CURRENT, self.term);
                // A release that names its lease, or another holder, has no effect on this one.
                if self.release_names_lease || region.release == EARLIER {
                    region.release = NOBODY
                }
                if !self.wait_fixed_at_append {
                    region.wait.iter_mut().filter(|wait| **wait > 0).for_each(|wait| *wait = self.term)
                }
            }
            OldGateGrants(i) => {
                let need = state.old_last?;
                state.regions[i].replica.ask.as_mut()?.granted.get_or_insert(need);
            }
            Receive(i) => {
                let it = &mut state.regions[i].replica;
                let ask = it.ask.take()?;
                it.need = ask.granted?;
                (it.left, it.missed) = if self.counts_from_asking {
                    (ask.left, ask.missed)
                } else {
                    (self.term - self.margin, 0)
                };
            }
            Release(i) => {
                let region = &mut state.regions[i];
                if region.replica.left == 0 || region.holder != CURRENT {
                    return None;
                }
                let it = &mut region.replica;
                (it.left, it.missed, it.ask) = (0, 0, None);
                region.release = CURRENT;
            }
            TakeRelease(i) => {
                let region = &mut state.regions[i];
                if region.release == NOBODY {
                    return None;
                }
                (region.release, region.left) = (NOBODY, 0);
                (region.wait, region.old_wait) = ([0; MOST], [0; MOST]);
            }
            Apply(i) => {
                let it = &mut state.regions[i].replica;
                if it.applied == state.last {
                    return None;
                }
                it.applied += 1;
                it.acked = it.acked.max(it.applied);
            }
            ApplyLate(i) => {
                let it = &mut state.regions[i].replica;
                if it.applied < 2 {
                    return None;
                }
                it.applied -= 1;
            }
            AckBeforeApplying(i) => {
                let it = &mut state.regions[i].replica;
                if it.applied == state.last {
                    return None;
                }
                it.acked = it.applied + 1;
            }
            ReplayAtOnce => state.floor = state.floor.max(state.old_last?),
            ReadGate(keys) => {
                let noted = self.noted(keys, state.last);
                if self.gate_reads_wait && noted > self.stable_at_gate(&state) {
                    return None;
                }
                let last = state.last;
                self.tell(&mut state, keys, last);
            }
            ReadOldGate => {
                let last = state.old_last?;
                if self.stable_at_old_gate(&state) < last {
                    return None;
                }
                self.tell(&mut state, A, last);
            }
            Read(i, keys) => self.tell_instance(&mut state, Some(from.regions[i].replica.clone()), keys)?,
            ReadOld(i, keys) => self.tell_instance(&mut state, from.regions[i].old.clone(), keys)?,
            LookAtClock(i) => {
                if !self.answers(&state, &state.regions[i].replica, A) {
                    return None;
                }
                state.regions[i].slow = Some(state.floor);
            }
            ReadLater(i) => {
                let began = state.regions[i].slow.take()?;
                let value = state.regions[i].replica.applied;
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
                self.restart(&mut state, false);
            }
            LoseGateStorage => {
                if state.losses == self.losses {
                    return None;
                }
                state.losses += 1;
                self.restart(&mut state, true);
            }
            Evict(i, is_lost) => {
                if state.evictions == self.evictions {
                    return None;
                }
                state.evictions += 1;
                let region = &mut state.regions[i];
                region.slow = None;
                let next = fresh(if is_lost { 0 } else { region.replica.applied });
                let old = Some(Instance { ask: None, ..std::mem::replace(&mut region.replica, next) });
                region.old = old.filter(|it| it.left > 0);
                region.holder = if region.holder == CURRENT { EARLIER } else { UNKNOWN };
                if region.release == CURRENT {
                    region.release = EARLIER
                }
            }
            ChangeRegion(i) => {
                if state.region_changes == self.region_changes {
                    return None;
                }
                state.region_changes += 1;
                let region = &mut state.regions[i];
                region.is_out = !region.is_out;
                if region.is_out && !self.region_out_keeps_lease {
                    region.left = 0;
                    (region.wait, region.old_wait) = ([0; MOST], [0; MOST]);
                }
            }
        }
        self.settle(&mut state);
        self.normalise(&mut state);
        (state != *from).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::always("nothing stale is read", |_: &Lease, state: &State| !state.stale),
            Property::sometimes(
                "all replicas answer with the last record",
                |model: &Lease, state: &State| {
                    state.last as usize == model.writes.len()
                        && state.floor == state.last
                        && state.regions.iter().all(|region| {
                            let it = &region.replica;
                            model.answers(state, it, model.writes[0]) && it.applied == state.floor
                        })
                },
            ),
        ];
        if self.evictions > 0 {
            all.push(Property::sometimes(
                "an old instance answers beside a new one",
                |model: &Lease, state: &State| {
                    let is_one = |it: &Instance| model.answers(state, it, A) && it.applied > 0;
                    state.regions.iter().any(|region| region.old.as_ref().is_some_and(is_one))
                },
            ));
        }
        if self.region_changes > 0 {
            all.push(Property::sometimes(
                "a region answers that is taken out",
                |model: &Lease, state: &State| {
                    state
                        .regions
                        .iter()
                        .any(|region| region.is_out && model.answers(state, &region.replica, A))
                },
            ));
        }
        if self.sets().len() > 1 {
            all.push(Property::sometimes(
                "a reader does not wait for the record of another row",
                |model: &Lease, state: &State| {
                    let is_one = |it: &Instance| {
                        [A, B].iter().any(|keys| it.applied > state.floor && model.answers(state, it, *keys))
                    };
                    state.regions.iter().any(|region| is_one(&region.replica))
                },
            ));
        }
        if self.bounded {
            all.push(Property::always(
                "a record waits for a term at most",
                |model: &Lease, state: &State| state.age < model.term || model.stable_at_gate(state) > 0,
            ));
        }
        all
    }
}

fn main() {
    let model = Lease {
        regions: 2,
        writes: &[A, A],
        adds: 0,
        removes: 0,
        term: 2,
        drift: 1,
        restarts: 1,
        losses: 0,
        evictions: 1,
        region_changes: 0,
        releases: false,
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
        stable_is_prefix: true,
        notes_all_rows: true,
        notes_tombstones: true,
        region_out_keeps_lease: true,
        start_reads_regions_out: true,
        loss_waits_for_all: true,
        loss_forgets_holders: true,
        release_names_lease: true,
    };
    let m = || model.clone();
    let calm = || Lease { restarts: 0, evictions: 0, ..model.clone() };
    let creation = || Lease { adds: 1, evictions: 0, ..model.clone() };
    // A change of one key, and then a row of another that is only added.
    let two_keys = || Lease { writes: &[A, B, A], ..calm() };
    let two_keys_added = || Lease { adds: 2, ..two_keys() };
    let taken_out = || Lease { region_changes: 2, ..calm() };
    let released = || Lease { releases: true, ..calm() };
    let lost = || Lease { losses: 1, region_changes: 2, ..calm() };
    run(
        vec![
            Case { name: "slow reads", model: Lease { slow: true, ..calm() } },
            Case { name: "restart of the gate", model: Lease { evictions: 0, ..m() } },
            Case { name: "eviction of a replica", model: Lease { restarts: 0, ..m() } },
            Case { name: "restart and eviction", model: m() },
            Case { name: "the first record only adds", model: creation() },
            Case { name: "how long a record waits", model: Lease { bounded: true, ..calm() } },
            Case { name: "two keys", model: Lease { removes: 3, ..two_keys() } },
            Case { name: "two keys, a restart", model: Lease { restarts: 1, writes: &[A, B], ..two_keys() } },
            Case { name: "two keys, one is only added", model: two_keys_added() },
            Case { name: "a region taken out, an eviction", model: Lease { evictions: 1, ..taken_out() } },
            Case { name: "a region taken out, a restart", model: Lease { restarts: 1, ..taken_out() } },
            Case { name: "a region taken out, a lost gate", model: lost() },
            Case {
                name: "an eviction, a lost gate",
                model: Lease { region_changes: 0, evictions: 1, ..lost() },
            },
            Case { name: "leases given back", model: Lease { evictions: 1, ..released() } },
            Case { name: "three replicas, two keys", model: Lease { regions: 3, writes: &[A, B], ..calm() } },
            Case {
                name: "three replicas, a restart",
                model: Lease { regions: 3, writes: &[A], restarts: 1, ..calm() },
            },
            Case {
                name: "three replicas, an eviction",
                model: Lease { regions: 3, writes: &[A], evictions: 1, ..calm() },
            },
            Case {
                name: "three replicas, a region taken out",
                model: Lease { regions: 3, writes: &[A], ..taken_out() },
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
                model: Lease { wait_fixed_at_append: false, bounded: true, ..calm() },
            },
            Case { name: "absence-answered", model: Lease { absent_asks: false, ..creation() } },
            Case {
                name: "time-from-before-arrival",
                model: Lease { slow: true, clock_read_after_arrival: false, ..m() },
            },
            Case { name: "timer-in-place-of-clock", model: Lease { drift: 9, ..m() } },
            Case { name: "one-row-noted", model: Lease { notes_all_rows: false, ..two_keys() } },
            Case {
                name: "removed-row-not-noted",
                model: Lease { notes_tombstones: false, removes: 1, ..two_keys() },
            },
            Case {
                name: "addition-makes-earlier-stable",
                model: Lease { stable_is_prefix: false, ..two_keys_added() },
            },
            Case {
                name: "region-out-is-gone",
                model: Lease { region_out_keeps_lease: false, ..taken_out() },
            },
            Case {
                name: "start-forgets-regions-out",
                model: Lease { start_reads_regions_out: false, restarts: 1, ..taken_out() },
            },
            Case {
                name: "lost-gate-waits-for-listed-regions",
                model: Lease { loss_waits_for_all: false, ..lost() },
            },
            Case {
                name: "lost-gate-takes-acknowledgements",
                model: Lease { loss_forgets_holders: false, region_changes: 0, evictions: 1, ..lost() },
            },
            Case {
                name: "release-of-an-earlier-lease",
                model: Lease { release_names_lease: false, ..released() },
            },
        ],
    )
}
