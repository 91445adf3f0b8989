// What the areas of the gate declare, as domains do: tasks, and what follows from rows.

import { approvals } from './approvals/follow';
import { requestCheckpoint } from './archive/checkpoints';
import { closeEvents } from './archive/event-segments';
import { readers } from './archive/readers';
import { closeSegments } from './archive/segments';
import type { Declared } from './core';
import { tellAltered } from './events/altered';
import { emergencies } from './events/emergencies';
import { expiry } from './events/expiry';
import { formerMakers } from './identity/former-makers';
import { formerSessions } from './identity/former-sessions';
import { followLater } from './journal/mirror';
import { rateLimit, WINDOW } from './limits/rate-limit';
import { demand } from './replicas/demand';
import { leases } from './replicas/leases';
import { dismiss } from './replicas/serve';
import { storedResponses } from './request/stored-responses';
import { endOrg, purgeEndedByPanic, purgeRows } from './tasks/purge';
import { retain } from './tasks/retention';

/** The most stored responses that one run deletes; it runs again immediately while there are more. */
const PER_RUN = 1000;

const journal: Declared = {
  tasks: { mirror: followLater },
};

const replicas: Declared = {
  tasks: { replicas: dismiss },
  follows: {
    org(core, { after }, now) {
      if (after?.regions !== 'auto') demand(core).clear();
      if (leases(core).regions().length) core.schedule.at('replicas', now);
    },
  },
};

const limits: Declared = {
  tasks: {
    minutes: (core, now) =>
      core.storage.transactionSync(() => {
        const times = [rateLimit(core).flush(now), emergencies(core).flush(now)].filter(
          (time) => time !== null,
        );
        return times.length ? Math.min(...times) : null;
      }),
  },
};

const responses: Declared = {
  tasks: {
    replays: (core, now) => {
      const next = storedResponses(core).sweep(now, PER_RUN);
      return next === null ? null : next <= now ? now : Math.max(next, now + WINDOW);
    },
  },
};

const audit: Declared = {
  tasks: { segments: closeSegments, checkpoint: requestCheckpoint, retention: retain },
  follows: {
    secret: (core, { id, after }) => void (after === null && readers(core).forget(id)),
    environment: (core, { id, after }) => void (after === null && readers(core).forget(id)),
  },
};

const events: Declared = {
  tasks: { events: closeEvents },
  sweep(core, now) {
    core.outbox.sweep(now);
    return tellAltered(core);
  },
};

const rows: Declared = {
  // The names are stored.
  tasks: { rows: purgeRows, past: purgeEndedByPanic, end: endOrg },
  follows: {
    org: (core, { after }, now) => void (after?.deleted_at != null && core.schedule.at('end', now)),
  },
  sweep(core, now) {
    formerMakers(core).sweep();
    formerSessions(core).sweep(now);
    return false;
  },
  clear(core) {
    formerMakers(core).clear();
    formerSessions(core).clear();
  },
};

export const areas: readonly Declared[] = [
  journal,
  replicas,
  limits,
  responses,
  audit,
  events,
  rows,
  expiry,
  approvals,
];
