// What all areas of the gate and all domains declare, as one: see `Declared`. Invariant: what follows from a
// row runs in the turn of its change, whichever route made it; each declaration is called in the order of the
// list.
import type { Declared, Rules } from './core';

export function rulesOf(all: readonly Declared[]): Rules {
  const named = all.flatMap(({ tasks = {} }) => Object.entries(tasks));
  const tasks = Object.fromEntries(named);
  if (Object.keys(tasks).length < named.length) throw new Error('two tasks have the same name');
  const of = <F extends keyof Declared>(field: F) =>
    all.map((one) => one[field]).filter((value) => value !== undefined);
  const follows = of('follows');
  const raises = of('raises');
  const secrets = of('followSecrets');
  const commits = of('followCommit');
  const sweeps = of('sweep');
  const bringsForward = of('bringForward');
  const clears = of('clear');
  return {
    follow(core, kind, change) {
      for (const one of follows) one[kind]?.(core, change, core.now());
    },
    raise: (kind, before, after, context) =>
      raises.flatMap((one) => one[kind]?.(before, after, context) ?? []),
    followSecrets(core, environment, now) {
      for (const follow of secrets) follow(core, environment, now);
    },
    followCommit(core, now) {
      for (const follow of commits) follow(core, now);
    },
    tasks,
    // Each sweeps, even if an earlier one has more.
    sweep: (core, now) => sweeps.map((sweep) => sweep(core, now)).includes(true),
    bringForward(core, now) {
      for (const bringForward of bringsForward) bringForward(core, now);
    },
    clear(core) {
      for (const clear of clears) clear(core);
    },
  };
}
