// Ids of secrets by name, as this isolate last saw them. A value is encrypted for a secret's id, which a
// request with a name does not contain. Invariant: a remembered id is a guess and decides nothing; if it is
// wrong, the gate has the Worker encrypt again.
import QuickLRU from 'quick-lru';
import type { Context } from '../../http/context';

/** A name in an environment, as in the request; null for the default one. */
export interface NamedSecret {
  environment: string | null;
  name: string;
}

const known = new QuickLRU<string, string>({ maxSize: 2500 });
const placeOf = ({ org }: Context, { environment, name }: NamedSecret) =>
  JSON.stringify([org, environment, name]);

export const knownId = (context: Context, secret: NamedSecret): string | null =>
  known.get(placeOf(context, secret)) ?? null;

/** Remembers an id and returns it. */
export function rememberId(context: Context, secret: NamedSecret, id: string): string {
  known.set(placeOf(context, secret), id);
  return id;
}
