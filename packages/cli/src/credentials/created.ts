// Shared by the commands for API keys, agents and session tokens. Invariant: a token is shown once, when it
// is created, and only on stdout.
import type { Context } from '../context.ts';
import { duration, list, type OptionSpec } from '../definition/command.ts';
import { usage } from '../errors.ts';
import type { Cell } from '../terminal/output.ts';
import { clean, relative } from '../text.ts';

/** The options that restrict a new credential. */
export const BOUNDS: Record<string, OptionSpec> = {
  '--scopes <scopes>': { description: 'permissions, separated by commas, such as secrets:read', parse: list },
  '--environments <slugs>': {
    description: 'only these environments, separated by commas; default: all that you can use',
    parse: list,
  },
  '--secrets <patterns>': {
    description: 'only these secret names, separated by commas, such as billing/*',
    parse: list,
  },
  '--upstreams <names>': {
    description: 'only these upstreams, separated by commas, such as stripe',
    parse: list,
  },
  '--ttl <duration>': { description: 'lifetime, such as 12h or 30d', parse: duration },
  '--addresses <ranges>': {
    description: 'only from these IP addresses, separated by commas, such as 203.0.113.0/24',
    parse: list,
  },
};

export interface Bounds {
  scopes?: string[];
  environments?: string[];
  secrets?: string[];
  upstreams?: string[];
  ttl?: number;
  addresses?: string[];
}

export function scopesOf({ scopes }: Bounds): string[] {
  if (!scopes?.length)
    throw usage('--scopes is required.', 'Pass only the scopes it needs, such as --scopes secrets:read');
  return scopes;
}

export const columns = {
  id: (row: Credential) => row.id,
  name: (row: Credential) => row.name,
  hint: (row: Credential) => row.hint,
  scopes: (row: Credential) => row.scopes.join(' '),
  'last used': (row: Credential) => time(row.last_used_at),
  expires: (row: Credential): Cell => (row.revoked_at ? 'revoked' : time(row.expires_at)),
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

export const time = (value: string | null | undefined): Cell =>
  value ? relative(value, Date.now()) : undefined;

/** Shows a new token: only the token on stdout, so that it can be piped, and its description on stderr. */
export function showToken({ out }: Context, data: { id: string; token: string | null }, what: string): void {
  out.result(data, () => {
    out.success(`${what} ${clean(data.id)}. Its token is shown only once:`);
    out.line(data.token ?? '');
  });
}
