// A value that stays out of logs. Invariant: only `reveal()` returns it; everything that prints, copies or
// serialises a secret gets `[redacted]`, or its name and version.

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
  /** The version of the value. */
  readonly version: number;
  // A private field: spread, structuredClone, Object.keys and inspectors cannot read it.
  readonly #value: string;

  /** @internal */
  constructor(value: string, about: { name: string; environment: string; version: number }) {
    this.#value = value;
    this.name = about.name;
    this.environment = about.environment;
    this.version = about.version;
  }

  /**
   * Returns the value. Pass it directly to the code that needs it.
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

  /** `[redacted]`, also in comparisons and concatenation. */
  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  /** The output of `console.log` and `util.inspect` in Node.js and Bun. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }

  /** The output of `console.log` in Deno. */
  [Symbol.for('Deno.customInspect')](): string {
    return REDACTED;
  }
}
