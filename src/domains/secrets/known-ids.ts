// Which secret a name had, as this isolate last saw it: a value is encrypted for a secret's id, which a request that gives a name does not
// know. Invariant: what is remembered is a guess and decides nothing; where it is wrong, the gate has the Worker encrypt again.
import QuickLRU from 'quick-lru';
import type { Context } from '../../http/context';

/** A name in an environment, as the request spells it; null for the default one. */
export interface NamedSecret {
  environment: string | null;
  name: string;
}

const known = new QuickLRU<string, string>({ maxSize: 2500 });
const placeOf = ({ org }: Context, { environment, name }: NamedSecret) => JSON.stringify([org, environment, name]);

export const knownId = (context: Context, secret: NamedSecret): string | null => known.get(placeOf(context, secret)) ?? null;

/** Remembers an id, and answers it. */
export function rememberId(context: Context, secret: NamedSecret, id: string): string {
  known.set(placeOf(context, secret), id);
  return id;
}
