// The credential of svc mcp. Invariant: only an agent credential is accepted, so that a model can do no more
// than its agent is permitted to.
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { clean } from '../text.ts';
import { nameOf } from './hosts.ts';
import type { McpLimits } from './limits.ts';
import { RUN_GIVES_AWAY } from './programs.ts';
import type { Session } from './session.ts';

export interface Agent {
  id: string;
  name: string | null;
  scopes: string[];
  environments: string[] | null;
  secrets: string[] | null;
  expires_at: string | null;
  /** A vault before release 0.5.0 has none. */
  mcp_limits?: McpLimits | null;
}

/**
 * The agent and its credential. Any other credential is refused; an API key is refused before it is sent
 * anywhere.
 */
export async function agentOf(context: Context): Promise<{ agent: Agent; token: string }> {
  const identity = context.identity();
  const stored =
    identity?.kind === 'stored' ? await context.store.load(context.origin, context.profile) : undefined;
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

const KINDS: Record<string, string> = {
  api_key: 'an API key',
  session: 'a session token',
  member: "a member's session",
};

const notAnAgent = (what: string) =>
  new CliError(`svc mcp requires an agent credential, but this is ${what}.`, {
    exit: 'refused',
    code: 'AGENT_CREDENTIAL_NEEDED',
    next: "Create one with only the permissions the agent needs: svc agent create NAME --scopes secrets:read --environments staging --secrets 'app/*' --ttl 7d. Then pass it as SVC_TOKEN, or store it: svc login --key-stdin --profile agent",
  });

/** The lines shown to the person at the start. */
export function introduction(agent: Agent, { environment, policy, reachable }: Session): string[] {
  const { id, name, scopes, secrets, expires_at, mcp_limits } = agent;
  const list = (some: string[] | null) =>
    some?.length ? some.map(clean).join(', ') : 'all that its creator can access';
  const { programs, allowRead } = policy;
  return [
    `svc mcp: agent ${clean(name ?? '')} (${clean(id)}), environment ${clean(environment)}`,
    `  scopes: ${list(scopes)}`,
    `  secrets: ${list(secrets)}`,
    `  expires: ${expires_at ?? 'never'}`,
    `  limits: ${mcp_limits ? 'stored with the credential' : 'the options of this server alone. Store them: svc agent update ID --bind …'}`,
    `  http_request: ${reachable.length ? [...new Set(reachable.map(nameOf))].join(', ') : 'no host is allowed. Add one with --bind or --allow-host'}`,
    ...(programs
      ? [
          `  run_command: ${programs === 'any' ? 'every program' : [...programs.keys()].map(clean).join(', ')}`,
        ]
      : []),
    ...(programs ? [`WARNING: --allow-run: ${RUN_GIVES_AWAY}.`] : []),
    ...(allowRead
      ? [
          'WARNING: --allow-read: the agent can read every value that the credential can read, except bound ones.',
        ]
      : []),
  ];
}
