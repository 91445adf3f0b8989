// What a new event schedules: the delivery task, and the task that moves a closed range of events to D1.
import { COLLECTED_FOR } from './deliveries';
import { part } from './part';
import type { Rows } from './rows/store';

/** Whether there is any endpoint for events. */
export const hasEndpoints = (rows: Pick<Rows, 'count'>): boolean => rows.count('webhook') > 0 || rows.count('integration') > 0;

part(({ rows, outbox, schedule }) =>
  outbox.follow((now) => {
    if (hasEndpoints(rows)) schedule.at('deliveries', now + COLLECTED_FOR);
    if (outbox.canClose()) schedule.at('events', now);
  }),
);
