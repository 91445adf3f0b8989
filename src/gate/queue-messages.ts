// Queue messages. Invariant: they contain ids and kinds, never a value or a token.

/** Jobs that a gate requests from the Worker, because they need keys that gates do not have. */
export const jobNames = [
  'rotate',
  'checkpoint',
  'deliver',
  'notify',
  'sync',
  'log_stream',
  'domains',
] as const;
export type JobName = (typeof jobNames)[number];

export type QueueMessage =
  | { kind: 'probe'; id: string }
  | { kind: 'job'; job: JobName; org: string; id?: string };

/**
 * `max_retries` of the queue's consumer in wrangler.toml: a message that fails once more goes to the
 * dead-letter queue.
 */
export const MAX_RETRIES = 10;
