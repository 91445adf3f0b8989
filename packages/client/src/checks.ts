// What callers pass, for programs without types. Invariant: an option is used as it was given, or refused by
// its name.
import type { BoundOptions, VaultBinding, VaultOptions } from './options.js';
import { Secret } from './secret.js';

type Test = (value: unknown) => boolean;

const text: Test = (value) => typeof value === 'string' && value !== '';
/** What a header can hold: the platform's own error does not name the option. */
const header: Test = (value) => text(value) && /^[\t\x20-\x7e\x80-\xff]+$/.test(value as string);
const from =
  (least: number, most = Number.POSITIVE_INFINITY): Test =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most;
const any: Test = () => true;

const OPTIONS: { [Name in keyof VaultOptions]?: Test } = {
  environment: text,
  reason: header,
  cache: (value) => typeof value === 'boolean' || value === 'watch',
  maxAge: from(0),
  staleFor: from(0),
  retries: from(0),
  maxRetryAfter: from(0),
  // A longer one would overflow, and end at once.
  timeout: from(1, 2 ** 31 - 1),
  concurrency: from(1),
  fetch: (value) => typeof value === 'function',
};

const VALUE: Test = (value) => typeof value === 'string' || value instanceof Secret;
const CALL = { environment: text, signal: any, reason: header, call: header, approval: header };
const CHANGE = { ...CALL, ifMatch: header };

/** The options of each method. */
const CALLS = {
  get: CALL,
  find: CALL,
  values: {
    ...CALL,
    prefix: (value: unknown) =>
      [value].flat().length > 0 && [value].flat().every((one) => typeof one === 'string'),
  },
  set: { ...CHANGE, type: text, description: any, tags: any, ttlSeconds: any, create: any },
  rotate: { ...CHANGE, value: VALUE, generate: any },
};

function check(given: object, tests: Record<string, Test | undefined>): void {
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && tests[name]?.(value) === false)
      throw new TypeError(`${name} is not valid here.`);
}

/**
 * Refuses an option of {@link createVault} that is of another kind. Others are ignored: programs pass a whole
 * `.svc.json`.
 */
export function checkOptions(options: VaultOptions | BoundOptions): void {
  if (!options) throw new TypeError('createVault takes an object of options.');
  check(options, OPTIONS);
}

/**
 * The binding that the options name. Refuses one that is none, such as one that the Worker's configuration
 * lacks, and options that belong to a vault with an address.
 */
export function bindingOf(options: VaultOptions | BoundOptions): VaultBinding | null {
  if (!('binding' in options)) return null;
  const { binding } = options;
  if (typeof binding?.fetch !== 'function')
    throw new TypeError('binding must be a service binding to the entrypoint Vault.');
  const other = ['url', 'credential', 'fetch'].find(
    (name) => (options as unknown as Record<string, unknown>)[name] !== undefined,
  );
  if (other) throw new TypeError(`${other} is not valid here.`);
  return binding;
}

/** Refuses an option of a method that is of another kind, or that it does not know. */
export function checkCall(method: keyof typeof CALLS, name: unknown, call: object): void {
  const tests = CALLS[method];
  if (!text(name)) throw new TypeError('name must be a text.');
  const other = Object.keys(call).find((option) => !(option in tests));
  if (other) throw new TypeError(`${other} is not an option of ${method}.`);
  check(call, tests);
}

/** Refuses a listener, and options of it, that would be called in vain when something changes. */
export function checkListener(listener: unknown, options: unknown): void {
  if (typeof listener !== 'function') throw new TypeError('listener must be a function.');
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null) throw new TypeError('options must be an object.');
  for (const [name, value] of Object.entries(options)) {
    if (name !== 'onError') throw new TypeError(`${name} is not an option of onChange.`);
    if (value !== undefined && typeof value !== 'function')
      throw new TypeError('onError must be a function.');
  }
}

/** Refuses a value that is none. */
export function checkValue(value: unknown): void {
  if (!VALUE(value)) throw new TypeError('value must be a text or a Secret.');
}
