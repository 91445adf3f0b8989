// A value that stays out of logs. Invariant: only `reveal()` gives it; everything that prints, copies or serialises a secret sees
// `[redacted]`, or its name and version.

const REDACTED = '[redacted]';

/**
 * A secret's value, with its name and version. It prints as `[redacted]`.
 *
 * @example
 * const secret = await vault.get('DATABASE_URL');
 * console.log(`${secret}`); // [redacted]
 * connect(secret.reveal());
 */
export class Secret {
  /** The secret's name. */
  readonly name: string;
  /** The slug of its environment. */
  readonly environment: string;
  /** The version that the value is of. */
  readonly version: number;
  // A private field: neither spread, structuredClone, Object.keys nor an inspector's listing reaches it.
  readonly #value: string;

  /** @internal */
  constructor(value: string, about: { name: string; environment: string; version: number }) {
    this.#value = value;
    this.name = about.name;
    this.environment = about.environment;
    this.version = about.version;
  }

  /**
   * The value itself. Pass it straight to what needs it.
   *
   * @example
   * const sql = postgres((await vault.get('DATABASE_URL')).reveal());
   */
  reveal(): string {
    return this.#value;
  }

  /** `[redacted]`. */
  toString(): string {
    return REDACTED;
  }

  /** `[redacted]`. */
  toJSON(): string {
    return REDACTED;
  }

  /** `[redacted]`, also where JavaScript would compare or add. */
  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  /** What `console.log` and `util.inspect` of Node.js and Bun print. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }

  /** What `console.log` of Deno prints. */
  [Symbol.for('Deno.customInspect')](): string {
    return REDACTED;
  }
}
