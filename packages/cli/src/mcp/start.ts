// Who svc mcp works for. Invariant: an agent credential and nothing else, so that what a model can do is bounded by what was given to an agent.
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { clean } from '../text.ts';

export interface Agent {
  id: string;
  name: string | null;
  scopes: string[];
  environments: string[] | null;
  secrets: string[] | null;
  expires_at: string | null;
}

/** The agent whose credential is used, and the credential; or a refusal. A key is refused before it is sent anywhere. */
export async function agentOf(context: Context): Promise<{ agent: Agent; token: string }> {
  const identity = context.identity();
  const stored = identity?.kind === 'stored' ? await context.store.load(context.origin, context.profile) : undefined;
  if (stored?.kind === 'terminal') throw notAnAgent("a member's session");
  if (identity?.kind === 'ci') throw notAnAgent('the identity of a job');
  const token = identity?.kind === 'variable' ? identity.token : (stored?.token ?? '');
  // safety: mcp-no-key
  if (token.startsWith('svc_live_')) throw notAnAgent('an API key');
  const { vault } = await context.vault();
  const { data } = await vault.api.GET('/whoami');
  const who = data as unknown as Agent & { kind: string };
  // safety: mcp-agent-only
  if (who.kind !== 'agent') throw notAnAgent(KINDS[who.kind] ?? 'a credential of another kind');
  return { agent: who, token };
}

const KINDS: Record<string, string> = { api_key: 'an API key', session: 'a session token', member: "a member's session" };

const notAnAgent = (what: string) =>
  new CliError(`svc mcp takes an agent credential, and this is ${what}.`, {
    exit: 'refused',
    code: 'AGENT_CREDENTIAL_NEEDED',
    next: "Create one that can do no more than the agent needs: svc agent create NAME --scopes secrets:read --environments staging --secrets 'app/*' --ttl 7d. Then pass it as SVC_TOKEN, or store it: svc login --key-stdin --profile agent",
  });

/** What is told to the person at the start. */
export function introduction(agent: Agent, environment: string): string {
  const { id, name, scopes, secrets, expires_at } = agent;
  const list = (some: string[] | null) => (some?.length ? some.map(clean).join(', ') : 'all that its creator reaches');
  return [
    `svc mcp: agent ${clean(name ?? '')} (${clean(id)}), environment ${clean(environment)}`,
    `  scopes: ${list(scopes)}`,
    `  secrets: ${list(secrets)}`,
    `  ends: ${expires_at ?? 'never'}`,
  ].join('\n');
}
