// What a new event schedules: the delivery task, and the task that moves a closed range of events to D1.
import { COLLECTED_FOR } from './deliveries';
import type { Outbox } from './outbox';
import type { Rows } from './rows';
import type { Schedule } from './schedule';

/** Whether there is any endpoint for events. */
export const hasEndpoints = (rows: Pick<Rows, 'count'>): boolean => rows.count('webhook') > 0 || rows.count('integration') > 0;

/** Called for each new event. */
export function wake({ rows, outbox, schedule }: { rows: Rows; outbox: Outbox; schedule: Schedule }, now: number): void {
  if (hasEndpoints(rows)) schedule.at('deliveries', now + COLLECTED_FOR);
  if (outbox.canClose()) schedule.at('events', now);
}
