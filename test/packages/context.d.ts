// What the global set-up gives to tests.
import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** The origin of the service. */
    vaultUrl: string;
    /** The directory of its state. */
    vaultState: string;
  }
}
