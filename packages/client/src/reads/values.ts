// The values of an environment.
import type { Secret } from '../secret.js';

/**
 * Secrets by name. It prints without values.
 *
 * @example
 * const values = await vault.values();
 * for (const [name, secret] of values) use(name, secret.reveal());
 * for (const name of values.withheld) await vault.get(name, { reason: 'nightly backup' });
 */
export class Values extends Map<string, Secret> {
  /** The slug of the environment. */
  readonly environment: string;
  /** When secrets expire, by name, of those that do. */
  readonly expiresAt: ReadonlyMap<string, Date>;
  /** Names that an approval policy withholds. Read each one with `get` to request approval. */
  readonly withheld: readonly string[];
  /**
   * Names of secrets whose stored value was altered or is missing. The vault records an integrity violation.
   */
  readonly unreadable: readonly string[];

  /** @internal */
  constructor(
    environment: string,
    secrets: Iterable<readonly [string, Secret]>,
    others: Pick<Values, 'withheld'> & Partial<Pick<Values, 'expiresAt' | 'unreadable'>>,
  ) {
    super(secrets);
    this.environment = environment;
    this.expiresAt = others.expiresAt ?? new Map();
    this.withheld = others.withheld;
    this.unreadable = others.unreadable ?? [];
  }
}
