// Search over the live credentials of an organisation, of every kind: by name, by id, or by the token itself.
// Invariant: a pasted token is sent to the service in the body of a dry run, and is stored nowhere.
import { VaultError } from '@secrets-vault/client';
import { here, useRead, vault } from '../../requests/api';

export interface Found {
  id: string;
  kind: string;
  name: string;
  /** The visible last characters of its token. */
  hint: string;
  lastUsed: string | null;
}

interface Listed {
  id: string;
  name?: string | null;
  hint?: string;
  reason?: string;
  last_used_at?: string | null;
  lastUsedAt?: string | null;
}

export const KINDS: Record<string, string> = {
  api_key: 'API key',
  session: 'Session token',
  agent: 'Agent',
  provider: 'Provider token',
  break_glass: 'Break-glass token',
  scim: 'SCIM token',
  browser: 'Browser session',
  trust: 'Trust',
  member: 'Member',
  system: 'System',
};

const found = (kind: string, { data }: { data: { data: Listed[] } }): Found[] =>
  data.data.map((each) => ({
    id: each.id,
    kind,
    name: each.name ?? each.reason ?? '',
    hint: each.hint ?? '',
    lastUsed: each.last_used_at ?? each.lastUsedAt ?? null,
  }));

/** The newest hundred of each kind. Older ones can be found by id. */
export const useCredentials = () =>
  useRead(['credentials', 'incident'], async (signal) => {
    const { api } = vault();
    const list = { params: { path: here(), query: { limit: 100 } }, signal };
    const [keys, agents, tokens, providers, glasses, trusts] = await Promise.all([
      api.GET('/orgs/{org_id}/api-keys', list),
      api.GET('/orgs/{org_id}/agent-credentials', list),
      api.GET('/orgs/{org_id}/access-tokens', list),
      api.GET('/orgs/{org_id}/provider-tokens', list),
      api.GET('/orgs/{org_id}/break-glass-tokens', list),
      api.GET('/orgs/{org_id}/trusts', list),
    ]);
    const data = [
      ...found('api_key', keys as never),
      ...found('agent', agents as never),
      ...found('session', tokens as never),
      ...found('provider', providers as never),
      ...found('break_glass', glasses as never),
      ...found('trust', trusts as never),
    ];
    return { data };
  });

/** Whether a text is the id of a credential. */
export const isId = (text: string): boolean =>
  /^(key|tok|agt|prv|bgt|ses|trs|scm)_[A-Za-z0-9]{10,}$/.test(text);

/** The credential that a token belongs to; null if it is not a token of this organisation. */
export async function identify(token: string): Promise<string | null> {
  try {
    const { data } = await vault().api.POST('/orgs/{org_id}/credentials/contain', {
      params: { path: here() },
      body: { token, dry_run: true },
    });
    return data.credential.id;
  } catch (error) {
    if (error instanceof VaultError && error.status === 404) return null;
    throw error;
  }
}
