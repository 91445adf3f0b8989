//! Runs a model and each of its mutants, and says what was found. `cargo run --release --bin NAME` checks the
//! model; `... -- mutants` runs each mutant until its counterexample; `... -- MUTANT` runs one mutant and
//! prints the counterexample step by step.
use stateright::{Checker, HasDiscoveries, Model};
use std::fmt::Debug;
use std::time::Instant;

pub struct Case<M> {
    pub name: &'static str,
    pub model: M,
}

fn check<M>(case: &Case<M>, is_mutant: bool, show: bool) -> bool
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + Debug + PartialEq + std::hash::Hash + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let begun = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let mut builder = case.model.clone().checker().threads(if is_mutant { 1 } else { cores });
    if is_mutant {
        // One thread, so that the counterexample is a shortest one.
        builder = builder.finish_when(HasDiscoveries::AnyFailures);
    }
    let done = builder.spawn_bfs().join();
    let states = done.unique_state_count();
    let found = done.discoveries();
    let mut good = true;
    let mut lines = vec![];
    for property in case.model.properties() {
        let path = found.get(property.name);
        match (property.expectation, path) {
            (stateright::Expectation::Sometimes, None) if !is_mutant => {
                good = false;
                lines.push(format!("  NEVER REACHED: {}", property.name));
            }
            (stateright::Expectation::Sometimes, _) => {}
            (_, Some(path)) => {
                good = false;
                let actions = path.clone().into_actions();
                lines.push(format!("  {} after {} steps", property.name, actions.len()));
                if show || !is_mutant {
                    for (state, action) in path.clone().into_vec() {
                        lines.push(format!("      {state:?}"));
                        if let Some(action) = action {
                            lines.push(format!("    {action:?}"));
                        }
                    }
                } else {
                    lines.push(format!("    {actions:?}"));
                }
            }
            (_, None) => {}
        }
    }
    let verdict = match (is_mutant, good) {
        (false, true) => "holds",
        (false, false) => "FAILS",
        (true, false) => "found",
        (true, true) => "NOT FOUND",
    };
    println!(
        "{:<42} {verdict}: {states} states, depth {}, {:.1} s",
        case.name,
        done.max_depth(),
        begun.elapsed().as_secs_f64()
    );
    for line in lines {
        println!("{line}");
    }
    good != is_mutant
}

/// Exits with 1 unless the model holds and each mutant that ran was found.
pub fn run<M>(base: Vec<Case<M>>, mutants: Vec<Case<M>>)
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + Debug + PartialEq + std::hash::Hash + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let word = std::env::args().nth(1).unwrap_or_default();
    let mut all = true;
    let mut ran = 0;
    for case in base.iter().filter(|case| word.is_empty() || word == case.name) {
        ran += 1;
        all &= check(case, false, true);
    }
    for case in mutants.iter().filter(|case| word == "mutants" || word == case.name) {
        ran += 1;
        all &= check(case, true, word != "mutants");
    }
    std::process::exit(if all && ran > 0 { 0 } else { 1 });
}
