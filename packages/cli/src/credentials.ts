// What the commands of API keys, agents and session tokens share. Invariant: a token is shown once, when it is made, and on stdout alone.
import { duration, list, type OptionSpec } from './command.ts';
import type { Context } from './context.ts';
import { usage } from './errors.ts';
import type { Cell } from './output.ts';
import { clean, relative } from './text.ts';

/** What bounds a new credential. */
export const BOUNDS: Record<string, OptionSpec> = {
  '--scopes <scopes>': { description: 'what it may do, separated by commas, such as secrets:read', parse: list },
  '--environments <slugs>': { description: 'where, separated by commas; everywhere that you may by default', parse: list },
  '--secrets <patterns>': { description: 'for which names, separated by commas, such as billing/*', parse: list },
  '--ttl <duration>': { description: 'its lifetime, such as 12h or 30d', parse: duration },
  '--addresses <ranges>': { description: 'from which addresses, separated by commas, such as 203.0.113.0/24', parse: list },
};

export interface Bounds {
  scopes?: string[];
  environments?: string[];
  secrets?: string[];
  ttl?: number;
  addresses?: string[];
}

export function scopesOf({ scopes }: Bounds): string[] {
  if (!scopes?.length) throw usage('--scopes is missing.', 'Give it what it needs, such as --scopes secrets:read');
  return scopes;
}

export const columns = {
  id: (row: Credential) => row.id,
  name: (row: Credential) => row.name,
  hint: (row: Credential) => row.hint,
  scopes: (row: Credential) => row.scopes.join(' '),
  'last used': (row: Credential) => time(row.last_used_at),
  ends: (row: Credential): Cell => (row.revoked_at ? 'revoked' : time(row.expires_at)),
};

interface Credential {
  id: string;
  name: string | null;
  hint: string;
  scopes: string[];
  last_used_at: string | null;
  expires_at?: string | null;
  revoked_at?: string | null;
}

export const time = (value: string | null | undefined): Cell => (value ? relative(value, Date.now()) : undefined);

/** Shows a new token: alone on stdout, so that it can be piped, and what it is on stderr. */
export function showToken({ out }: Context, data: { id: string; token: string | null }, what: string): void {
  out.result(data, () => {
    out.success(`${what} ${clean(data.id)}. Its token is shown only this once:`);
    out.line(data.token ?? '');
  });
}
