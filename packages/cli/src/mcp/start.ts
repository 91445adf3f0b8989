// The credential of svc mcp. Invariant: only an agent credential is accepted, so that a model can do no more
// than its agent is permitted to.
import { covers } from '@secrets-vault/client';
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
  upstreams?: string[] | null;
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

/** Scopes with which whoever holds the token gets values. */
const REVEALING = ['secrets:read', 'secrets:rotate'];

/**
 * Refuses a credential that gets values, where the server is to use upstreams alone: the token lies on this
 * machine, and nothing on it shall lead to a value.
 */
export function checkKeepsOut({ scopes }: Agent): void {
  const held = REVEALING.filter((scope) => covers(scopes, scope));
  // safety: mcp-keeps-values-out
  if (held.length > 0)
    throw new CliError(
      `This credential has ${held.join(' and ')}: whoever finds its token on this machine gets values. Without --bind, --allow-host, --allow-run and --allow-read, svc mcp calls upstreams alone, and does not take it.`,
      {
        exit: 'refused',
        code: 'CREDENTIAL_READS_VALUES',
        next: 'Create one that only uses upstreams: svc agent create NAME --scopes secrets:use --upstreams stripe. Or allow where values go, such as --bind STRIPE_KEY=api.stripe.com/v1,header=Authorization',
      },
    );
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
    next: 'Create one with only the permissions the agent needs: svc agent create NAME --scopes secrets:use --upstreams stripe --ttl 7d. Then pass it as SVC_TOKEN, or store it: svc login --key-stdin --profile agent',
  });

/** The lines shown to the person at the start. */
export function introduction(agent: Agent, session: Session): string[] {
  const { environment, policy, reachable, placesValues } = session;
  const { id, name, scopes, secrets, upstreams, expires_at, mcp_limits } = agent;
  const list = (some: string[] | null) =>
    some?.length ? some.map(clean).join(', ') : 'all that its creator can access';
  const { programs, allowRead } = policy;
  return [
    `svc mcp: agent ${clean(name ?? '')} (${clean(id)})${environment && `, environment ${clean(environment)}`}`,
    `  scopes: ${list(scopes)}`,
    `  upstreams: ${list(upstreams ?? null)}`,
    `  secrets: ${list(secrets)}`,
    `  expires: ${expires_at ?? 'never'}`,
    ...(placesValues
      ? [
          `  limits: ${mcp_limits ? 'stored with the credential' : 'the options of this server alone. Store them: svc agent update ID --bind …'}`,
        ]
      : []),
    `  http_request: ${['upstreams', ...new Set(reachable.map(nameOf))].join(', ')}`,
    ...(reachable.length > 0
      ? [
          'WARNING: values come to this machine, and go from it to the hosts above. An upstream keeps them in the vault: svc upstream add.',
        ]
      : []),
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
