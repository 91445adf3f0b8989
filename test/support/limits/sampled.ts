// Long lists of faults and attacks: `npm test` tries a sample of them, `FAULTS=all` (as in npm run test:long)
// all.
import { env } from 'cloudflare:workers';

const isAll = (env as { FAULTS?: string }).FAULTS === 'all';

/** Every n-th of a list, from a place on; all of it with FAULTS=all. */
export const sampled = <T>(list: readonly T[], every: number, from = 0): T[] =>
  isAll ? [...list] : list.filter((_, at) => at % every === from % every);
