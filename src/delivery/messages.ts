// Queue messages. Invariant: they hold ids and kinds, never a value or a token.

/** What a gate asks the Worker to do, for it needs keys that no gate has. */
export type JobName = 'rotate' | 'checkpoint' | 'deliver' | 'notify' | 'sync';

export type QueueMessage = { kind: 'probe'; id: string } | { kind: 'job'; job: JobName; org: string; id?: string };
