//! What comes back from replicas: audit entries, exactly once; and what is lent to them: permits of one
//! credential's rate limit. A use of a permit is an entry. The credential may be revoked; the reply has the
//! entries from before it, or names the regions that may have more. Ages count in ticks; gate and replicas
//! tick together (lease.rs is about clocks).
//!
//! Messages stay in the network: they are lost (never delivered), doubled, late, and out of order. Regions are
//! alike, so a state keeps them sorted (symmetry reduction).
use models::{Case, run};
use stateright::{Model, Property};

const LIMIT: usize = 2;
const WINDOW: u8 = 2;
const TERM: u8 = 1;

#[derive(Clone, Debug)]
struct Entries {
    regions: usize,
    crashes: u8,
    evictions: u8,
    losses: u8,
    /// How often a region is taken out, or put in again.
    region_changes: u8,
    uses: u8,
    lends: u8,
    /// The credential may be revoked.
    revokes: bool,
    /// Idle replicas give their lease back.
    releases: bool,
    /// Messages arrive in the tick in which they were sent, or never.
    prompt: bool,
    // The conditions. Each mutant drops one.
    reserved_when_lent: bool,
    reserved_for_all: bool,
    lent_stored: bool,
    permits_end_with_lease: bool,
    recall_has_number: bool,
    lent_to_instance: bool,
    lent_to_lease: bool,
    entry_names_permit: bool,
    numbers_are_unique: bool,
    return_names_storage: bool,
    return_names_region: bool,
    entries_before_return: bool,
    entries_before_release: bool,
    release_names_lease: bool,
    dead_count_for_window: bool,
    use_is_never_backdated: bool,
    recalls_before_refusing: bool,
    recalls_all: bool,
    taken_with_chain: bool,
    deleted_when_taken: bool,
    taken_before_region_ends: bool,
    storage_has_name: bool,
    replaced_names_known: bool,
    entries_before_ack: bool,
    names_waited_out: bool,
    names_ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    Lend { number: u8 },
    Ship { storage: u8, first: u8, entries: Vec<(u8, u8)> },
    Returned { number: u8, storage: u8, last: u8 },
    Released { number: u8, storage: u8, last: u8 },
    Revoked { storage: u8, last: u8 },
}
use Message::*;

/// A region, at the gate and there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Region {
    // The gate: numbers of the permits that may be out and whose storage they are in, what is left of the lease
    // and then of a window, which entries it has taken.
    out: Vec<(u8, u8)>,
    until: u8,
    after: u8,
    taken: u8,
    storage_known: u8,
    is_out: bool,
    /// It has had a lease, and may have entries that the gate does not know of.
    is_open: bool,
    /// The revocation waits for it, and was acknowledged.
    waits: bool,
    acked: bool,
    // The replica, memory.
    permits: Vec<u8>,
    left: u8,
    recalled: u8,
    // The replica, durable: entries numbered from `first`, each with its age and its permit.
    storage: u8,
    first: u8,
    entries: Vec<(u8, u8)>,
    is_revoked: bool,
    /// For each storage: the last of its entries in the chain.
    chain: Vec<u8>,
    messages: Vec<Message>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Ages of all requests that were admitted anywhere, of a window.
    truth: Vec<u8>,
    /// Ages of the uses in the gate's chain.
    book: Vec<u8>,
    lends: u8,
    regions: Vec<Region>,
    answered: u8,
    is_revoked: bool,
    is_replied: bool,
    crashes: u8,
    evictions: u8,
    losses: u8,
    region_changes: u8,
    refused_early: bool,
    /// An entry is in the chain twice, or is gone before it was there.
    miscounted: bool,
    /// The reply to the revocation lacks an entry and does not name its region.
    incomplete: bool,
    used_after_reply: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Tick,
    Renew(usize),
    LendOne(usize),
    TakePermit(usize, usize),
    Use(usize),
    SendEntries(usize),
    TakeEntries(usize, usize),
    TakeEntriesCrash(usize, usize),
    HearTaken(usize),
    Recall(usize),
    HearReturned(usize, usize),
    Release(usize),
    HearReleased(usize, usize),
    GateAdmits,
    GateRefuses,
    RestartGate,
    Evict(usize),
    LoseStorage(usize),
    ChangeRegion(usize),
    EndRegion(usize),
    Revoke,
    ApplyRevocation(usize),
    HearRevoked(usize, usize),
    ReplyRevoked,
}
use Action::*;

fn sorted(mut ages: Vec<u8>) -> Vec<u8> {
    ages.sort();
    ages
}

fn older(ages: &mut Vec<u8>) {
    for age in ages.iter_mut() {
        *age += 1
    }
    ages.retain(|age| *age < WINDOW);
}

impl Region {
    fn send(&mut self, message: Message) {
        if let Err(at) = self.messages.binary_search(&message) {
            self.messages.insert(at, message)
        }
    }

    /// The number of the replica's last entry.
    fn last(&self) -> u8 {
        self.first - 1 + self.entries.len() as u8
    }

    fn in_chain(&self) -> u8 {
        self.chain[self.storage as usize - 1]
    }

    /// Whether the gate has the entries of a storage, up to a number.
    fn has_taken(&self, storage: u8, last: u8) -> bool {
        last == 0 || storage == self.storage_known && self.taken >= last
    }

    fn forget_memory(&mut self) {
        (self.permits, self.left, self.recalled) = (vec![], 0, 0);
    }

    fn begin_storage(&mut self) {
        self.forget_memory();
        self.storage += 1;
        (self.first, self.entries) = (1, vec![]);
        self.chain.push(0);
        self.messages.retain(|message| !matches!(message, Lend { .. }));
    }
}

impl State {
    fn free(&self) -> usize {
        let out: usize = self.regions.iter().map(|region| region.out.len()).sum();
        LIMIT.saturating_sub(self.book.len() + out)
    }
}

impl Entries {
    fn tick(&self, region: &mut Region) {
        for (age, _) in region.entries.iter_mut() {
            *age = (*age + 1).min(WINDOW)
        }
        if region.until > 0 {
            region.until -= 1
        } else {
            region.after = region.after.saturating_sub(1)
        }
        region.left = region.left.saturating_sub(1);
        if region.left == 0 && self.permits_end_with_lease {
            region.permits.clear()
        }
        if region.left == 0 && self.lent_to_lease {
            region.messages.retain(|message| !matches!(message, Lend { .. }))
        }
        // Whatever was used, was used before the lease ended: after a window it does not count any more.
        if region.until == 0 && (region.after == 0 || !self.dead_count_for_window) {
            region.out.clear()
        }
        if self.prompt {
            region.messages.clear()
        }
    }

    /// The gate takes entries into its chain. `is_noted`: it keeps which, in the same transaction.
    fn take(&self, state: &mut State, i: usize, at: usize, is_noted: bool) -> Option<()> {
        let Ship { storage, first, entries } = state.regions[i].messages[at].clone() else { return None };
        let region = &mut state.regions[i];
        if self.storage_has_name && storage != region.storage_known {
            // Names have no order: the gate knows which it had before.
            if storage < region.storage_known && self.replaced_names_known {
                return None;
            }
            (region.storage_known, region.taken) = (storage, 0)
        }
        if first > region.taken + 1 {
            return None;
        }
        let known = (region.taken + 1 - first) as usize;
        let fresh = entries.get(known..).filter(|fresh| !fresh.is_empty())?.to_vec();
        let chain = &mut region.chain[storage as usize - 1];
        state.miscounted |= region.taken != *chain;
        *chain = (*chain).max(region.taken + fresh.len() as u8);
        if is_noted {
            region.taken += fresh.len() as u8
        }
        for (_, permit) in &fresh {
            let own = if self.numbers_are_unique { i..i + 1 } else { 0..self.regions };
            for region in &mut state.regions[own] {
                let used =
                    region.out.iter().position(|(number, _)| number == permit || !self.entry_names_permit);
                if let Some(used) = used {
                    region.out.remove(used);
                    break;
                }
            }
        }
        let early = if self.use_is_never_backdated { 0 } else { 1 };
        state.book.extend(fresh.iter().map(|(age, _)| age + early).filter(|age| *age < WINDOW));
        state.book.sort();
        Some(())
    }

    /// Nothing was used of these permits but what is in the chain.
    fn free_returned(&self, state: &mut State, i: usize, number: u8, storage: u8) {
        let own = if self.return_names_region { i..i + 1 } else { 0..self.regions };
        for region in &mut state.regions[own] {
            region.out.retain(|(n, of)| *n > number || self.return_names_storage && *of != storage)
        }
    }

    /// Forgets what can have no effect any more, and sorts the regions.
    fn normalise(&self, state: &mut State) {
        let names_all = self.numbers_are_unique && self.return_names_region && self.replaced_names_known;
        for region in &mut state.regions {
            let (taken, known, recalled) = (region.taken, region.storage_known, region.recalled);
            let least = region.out.iter().map(|(number, _)| *number).min();
            region.messages.retain(|message| match message {
                Lend { number } => *number > recalled || !self.lent_to_instance,
                Ship { storage, first, entries } => {
                    *storage > known
                        || first + entries.len() as u8 > taken + 1
                        || *storage < known && !self.replaced_names_known
                }
                Returned { number, .. } => least.is_some_and(|least| least <= *number) || !names_all,
                Revoked { .. } => !region.acked && !state.is_replied,
                Released { .. } => region.until > 0 || region.is_open,
            });
            for message in &mut region.messages {
                if let Ship { storage, first, entries } = message
                    && *storage == known
                    && *first <= taken
                    && names_all
                {
                    entries.drain(..(taken + 1 - *first) as usize);
                    *first = taken + 1;
                }
            }
            region.messages.sort();
            region.messages.dedup();
            // What is lent later has a greater number.
            if !region.messages.iter().any(|message| matches!(message, Lend { .. })) {
                region.recalled = 0
            }
            if region.until == 0 && region.out.is_empty() {
                region.after = 0
            }
        }
        state.regions.sort();
    }
}

impl Model for Entries {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let region = Region {
            out: vec![],
            until: 0,
            after: 0,
            taken: 0,
            storage_known: 1,
            is_out: false,
            is_open: false,
            waits: false,
            acked: false,
            permits: vec![],
            left: 0,
            recalled: 0,
            storage: 1,
            first: 1,
            entries: vec![],
            is_revoked: false,
            chain: vec![0],
            messages: vec![],
        };
        vec![State {
            truth: vec![],
            book: vec![],
            lends: 0,
            regions: vec![region; self.regions],
            answered: 0,
            is_revoked: false,
            is_replied: false,
            crashes: 0,
            evictions: 0,
            losses: 0,
            region_changes: 0,
            refused_early: false,
            miscounted: false,
            incomplete: false,
            used_after_reply: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend([Tick, GateAdmits, GateRefuses, RestartGate, Revoke, ReplyRevoked]);
        for (i, region) in state.regions.iter().enumerate() {
            // Of regions in the same state the first stands for all.
            if i > 0 && state.regions[i - 1] == *region {
                continue;
            }
            actions.extend([Renew(i), LendOne(i), Use(i), SendEntries(i), HearTaken(i), Recall(i)]);
            actions.extend([Release(i), Evict(i), LoseStorage(i), ChangeRegion(i), EndRegion(i)]);
            actions.push(ApplyRevocation(i));
            for (at, message) in region.messages.iter().enumerate() {
                match message {
                    Lend { .. } => actions.push(TakePermit(i, at)),
                    Ship { .. } => {
                        actions.push(TakeEntries(i, at));
                        if !self.taken_with_chain {
                            actions.push(TakeEntriesCrash(i, at))
                        }
                    }
                    Returned { .. } => actions.push(HearReturned(i, at)),
                    Released { .. } => actions.push(HearReleased(i, at)),
                    Revoked { .. } => actions.push(HearRevoked(i, at)),
                }
            }
        }
    }

    fn next_state(&self, from: &State, action: Action) -> Option<State> {
        let mut state = from.clone();
        match action {
            Tick => {
                older(&mut state.truth);
                older(&mut state.book);
                state.regions.iter_mut().for_each(|region| self.tick(region));
            }
            Renew(i) => {
                let region = &mut state.regions[i];
                // It names the last record, which a replica has to have first.
                if region.is_out || state.is_revoked && !region.is_revoked {
                    return None;
                }
                (region.until, region.left, region.after) = (TERM, TERM, WINDOW);
                region.is_open = true;
                if self.release_names_lease {
                    region.messages.retain(|message| !matches!(message, Released { .. }))
                }
            }
            LendOne(i) => {
                let region = &from.regions[i];
                let free = if self.reserved_for_all {
                    state.free()
                } else {
                    LIMIT.saturating_sub(state.book.len() + region.out.len())
                };
                if region.until == 0 || free == 0 || state.lends == self.lends || state.is_revoked {
                    return None;
                }
                state.lends += 1;
                // In a mutant each region numbers its own.
                let own = region.out.iter().map(|(number, _)| *number).max().unwrap_or(0) + 1;
                let number = if self.numbers_are_unique { state.lends } else { own };
                let region = &mut state.regions[i];
                if self.reserved_when_lent {
                    region.out.push((number, region.storage_known))
                }
                region.send(Lend { number });
            }
            TakePermit(i, at) => {
                let region = &mut state.regions[i];
                let Lend { number } = region.messages[at] else { return None };
                if number <= region.recalled || region.left == 0 || region.is_revoked {
                    return None;
                }
                // A number is used once: what came later makes what came before void.
                region.recalled = number;
                region.permits.push(number);
            }
            Use(i) => {
                let region = &mut state.regions[i];
                if region.permits.is_empty()
                    || region.left == 0 && self.permits_end_with_lease
                    || state.answered == self.uses
                {
                    return None;
                }
                let permit = region.permits.remove(0);
                region.entries.push((0, permit));
                state.truth = sorted([state.truth, vec![0]].concat());
                state.answered += 1;
                state.used_after_reply |= state.is_replied;
            }
            SendEntries(i) => {
                let region = &mut state.regions[i];
                if region.entries.is_empty() {
                    return None;
                }
                let (storage, first, entries) = (region.storage, region.first, region.entries.clone());
                region.send(Ship { storage, first, entries });
                if !self.deleted_when_taken {
                    region.first += region.entries.len() as u8;
                    region.entries.clear();
                }
            }
            TakeEntries(i, at) => self.take(&mut state, i, at, true)?,
            TakeEntriesCrash(i, at) => self.take(&mut state, i, at, false)?,
            HearTaken(i) => {
                let region = &mut state.regions[i];
                let is_known = region.storage_known == region.storage || !self.storage_has_name;
                if !is_known || region.taken < region.first || region.entries.is_empty() {
                    return None;
                }
                let known = (region.taken + 1 - region.first) as usize;
                region.entries.drain(..known.min(region.entries.len()));
                region.first = region.taken + 1;
            }
            Recall(i) => {
                let region = &mut state.regions[i];
                region.permits.clear();
                if self.recall_has_number {
                    region.recalled = region.recalled.max(state.lends)
                }
                let (number, storage, last) = (state.lends, region.storage, region.last());
                region.send(Returned { number, storage, last });
            }
            HearReturned(i, at) => {
                let Returned { number, storage, last } = from.regions[i].messages[at] else { return None };
                if self.entries_before_return && !from.regions[i].has_taken(storage, last) {
                    return None;
                }
                self.free_returned(&mut state, i, number, storage);
            }
            Release(i) => {
                let region = &mut state.regions[i];
                if !self.releases || region.left == 0 {
                    return None;
                }
                region.forget_memory();
                region.messages.retain(|message| !matches!(message, Lend { .. }));
                let (number, storage, last) = (state.lends, region.storage, region.last());
                region.send(Released { number, storage, last });
            }
            HearReleased(i, at) => {
                let Released { number, storage, last } = from.regions[i].messages[at] else { return None };
                if self.entries_before_release && !from.regions[i].has_taken(storage, last) {
                    return None;
                }
                let region = &mut state.regions[i];
                (region.until, region.is_open) = (0, false);
                self.free_returned(&mut state, i, number, storage);
            }
            GateAdmits => {
                if state.free() == 0 || state.is_revoked {
                    return None;
                }
                state.truth = sorted([state.truth, vec![0]].concat());
                state.book = sorted([state.book, vec![0]].concat());
            }
            GateRefuses => {
                let has_recalled = if self.recalls_all {
                    state.regions.iter().all(|region| region.out.is_empty())
                } else {
                    state.regions.iter().any(|region| region.out.is_empty())
                };
                if state.free() > 0 || self.recalls_before_refusing && !has_recalled || state.is_revoked {
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
                    state.regions.iter_mut().for_each(|region| region.out.clear())
                }
            }
            Evict(i) => {
                if state.evictions == self.evictions {
                    return None;
                }
                state.evictions += 1;
                let region = &mut state.regions[i];
                region.forget_memory();
                if self.lent_to_instance {
                    region.messages.retain(|message| !matches!(message, Lend { .. }))
                }
            }
            // What was not taken is lost, and the gate says so; what follows must not be.
            LoseStorage(i) => {
                if state.losses == self.losses {
                    return None;
                }
                state.losses += 1;
                state.regions[i].begin_storage();
            }
            ChangeRegion(i) => {
                if state.region_changes == self.region_changes {
                    return None;
                }
                state.region_changes += 1;
                state.regions[i].is_out = !state.regions[i].is_out;
            }
            // A region that was taken out deletes all, when its lease has ended and its entries are taken.
            EndRegion(i) => {
                let region = &mut state.regions[i];
                if !region.is_out || region.left > 0 || region.storage as usize > self.region_changes.into() {
                    return None;
                }
                if self.taken_before_region_ends && !region.entries.is_empty() {
                    return None;
                }
                state.miscounted |= region.in_chain() < region.last();
                region.begin_storage();
            }
            Revoke => {
                if !self.revokes || state.is_revoked {
                    return None;
                }
                state.is_revoked = true;
                for region in &mut state.regions {
                    region.waits = region.until > 0
                }
            }
            // The record of the revocation is applied, and acknowledged with the last entry from before it.
            ApplyRevocation(i) => {
                let region = &mut state.regions[i];
                if !state.is_revoked || region.is_revoked {
                    return None;
                }
                region.is_revoked = true;
                region.permits.clear();
                let (storage, last) = (region.storage, region.last());
                region.send(Revoked { storage, last });
            }
            HearRevoked(i, at) => {
                let Revoked { storage, last } = from.regions[i].messages[at] else { return None };
                if self.entries_before_ack && !from.regions[i].has_taken(storage, last) {
                    return None;
                }
                state.regions[i].acked = true;
            }
            ReplyRevoked => {
                let is_stable = state.regions.iter().all(|region| region.acked || region.until == 0);
                if !state.is_revoked || state.is_replied || !is_stable {
                    return None;
                }
                state.is_replied = true;
                state.incomplete = state.regions.iter().any(|region| {
                    let is_named = !region.acked
                        && (region.waits && self.names_waited_out
                            || !region.waits && region.is_open && self.names_ended);
                    !is_named && region.in_chain() < region.last()
                });
            }
        }
        // What has left a replica is in the chain.
        state.miscounted |= state.regions.iter().any(|region| region.first > region.in_chain() + 1);
        self.normalise(&mut state);
        (state != *from).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::always("never over the limit", |_: &Entries, state: &State| state.truth.len() <= LIMIT),
            Property::always("one entry for each answer", |_: &Entries, state: &State| !state.miscounted),
            Property::sometimes(
                "all permits are used at the replicas, and all entries are in the chain",
                |_: &Entries, state: &State| {
                    state.truth.len() == LIMIT
                        && state.answered as usize >= LIMIT
                        && state
                            .regions
                            .iter()
                            .all(|region| region.last() > 0 && region.in_chain() == region.last())
                },
            ),
        ];
        if self.prompt {
            all.push(Property::always("never refused below the limit", |_: &Entries, state: &State| {
                !state.refused_early
            }));
        }
        if self.revokes {
            all.push(Property::always(
                "a revocation has the entries before it, or names the region",
                |_: &Entries, state: &State| !state.incomplete,
            ));
            all.push(Property::always("no use after a revocation", |_: &Entries, state: &State| {
                !state.used_after_reply
            }));
            all.push(Property::sometimes(
                "a revocation has all entries, and no region is named",
                |_: &Entries, state: &State| {
                    state.is_replied
                        && state.regions.iter().all(|region| {
                            region.last() > 0
                                && region.in_chain() == region.last()
                                && (region.acked || !region.waits && !region.is_open)
                        })
                },
            ));
        }
        all
    }
}

fn main() {
    let model = Entries {
        regions: 1,
        crashes: 0,
        evictions: 1,
        losses: 0,
        region_changes: 0,
        uses: 3,
        lends: 3,
        revokes: false,
        releases: false,
        prompt: false,
        reserved_when_lent: true,
        reserved_for_all: true,
        lent_stored: true,
        permits_end_with_lease: true,
        recall_has_number: true,
        lent_to_instance: true,
        lent_to_lease: true,
        entry_names_permit: true,
        numbers_are_unique: true,
        return_names_storage: true,
        return_names_region: true,
        entries_before_return: true,
        entries_before_release: true,
        release_names_lease: true,
        dead_count_for_window: true,
        use_is_never_backdated: true,
        recalls_before_refusing: true,
        recalls_all: true,
        taken_with_chain: true,
        deleted_when_taken: true,
        taken_before_region_ends: true,
        storage_has_name: true,
        replaced_names_known: true,
        entries_before_ack: true,
        names_waited_out: true,
        names_ended: true,
    };
    let m = || model.clone();
    let prompt = || Entries { prompt: true, ..model.clone() };
    let lost = || Entries { evictions: 0, losses: 1, ..model.clone() };
    let two = || Entries { regions: 2, evictions: 0, uses: 2, lends: 2, ..model.clone() };
    let taken_out = || Entries { evictions: 0, region_changes: 2, uses: 2, lends: 2, ..model.clone() };
    let released = || Entries { evictions: 0, releases: true, uses: 2, lends: 2, ..model.clone() };
    let revoked = || Entries { revokes: true, releases: true, prompt: true, ..two() };
    run(
        vec![
            // A restart of the gate changes nothing where all is stored, so only a mutant has one.
            Case { name: "messages in time", model: prompt() },
            Case { name: "eviction", model: m() },
            Case { name: "lost storage of the replica", model: lost() },
            Case { name: "a region taken out", model: taken_out() },
            Case { name: "leases given back", model: released() },
            Case { name: "two replicas", model: two() },
            Case { name: "two replicas, an eviction", model: Entries { evictions: 1, ..two() } },
            Case {
                name: "three replicas, messages in time",
                model: Entries { regions: 3, uses: 3, lends: 3, prompt: true, ..two() },
            },
            Case { name: "revocation", model: Entries { prompt: false, regions: 1, ..revoked() } },
            Case { name: "revocation, two replicas", model: revoked() },
            Case {
                name: "revocation, a region taken out",
                model: Entries { regions: 1, region_changes: 2, ..revoked() },
            },
        ],
        vec![
            Case { name: "not-reserved-when-lent", model: Entries { reserved_when_lent: false, ..m() } },
            Case { name: "lent-not-stored", model: Entries { lent_stored: false, crashes: 1, ..m() } },
            Case { name: "permits-outlive-lease", model: Entries { permits_end_with_lease: false, ..m() } },
            Case { name: "recall-without-number", model: Entries { recall_has_number: false, ..m() } },
            Case { name: "lent-to-any-instance", model: Entries { lent_to_instance: false, ..m() } },
            Case { name: "lent-to-a-later-lease", model: Entries { lent_to_lease: false, ..m() } },
            Case { name: "entry-without-permit", model: Entries { entry_names_permit: false, ..m() } },
            Case {
                name: "return-of-other-storage",
                model: Entries { return_names_storage: false, ..lost() },
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
            Case { name: "storage-without-name", model: Entries { storage_has_name: false, ..lost() } },
            Case {
                name: "replaced-storage-taken-again",
                model: Entries { replaced_names_known: false, ..lost() },
            },
            Case { name: "reserved-for-each-region", model: Entries { reserved_for_all: false, ..two() } },
            Case {
                name: "permits-numbered-by-region",
                model: Entries { numbers_are_unique: false, lends: 3, uses: 3, ..two() },
            },
            Case { name: "return-of-other-region", model: Entries { return_names_region: false, ..two() } },
            Case {
                name: "refused-after-one-recall",
                model: Entries { recalls_all: false, prompt: true, ..two() },
            },
            Case {
                name: "region-ends-before-entries",
                model: Entries { taken_before_region_ends: false, ..taken_out() },
            },
            Case {
                name: "released-before-entries",
                model: Entries { entries_before_release: false, ..released() },
            },
            Case {
                name: "release-of-an-earlier-lease",
                model: Entries { release_names_lease: false, ..revoked() },
            },
            Case {
                name: "revocation-without-entries",
                model: Entries { entries_before_ack: false, ..revoked() },
            },
            Case { name: "waited-out-not-named", model: Entries { names_waited_out: false, ..revoked() } },
            Case { name: "ended-lease-not-named", model: Entries { names_ended: false, ..revoked() } },
        ],
    )
}
