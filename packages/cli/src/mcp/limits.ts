// What the tools of svc mcp may do: by the options of the server, and by the limits that are stored with its
// agent credential. Invariant: an option allows nothing that the stored limits do not, so who writes the
// configuration of a server cannot widen an agent.
import type { components } from '@secrets-vault/client';
import type { OptionSpec } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { secretNamed } from '../secrets/lookup.ts';
import { clean } from '../text.ts';
import { allowedHost, type Binding, binding } from './hosts.ts';
import { allowedPrograms, RUN_GIVES_AWAY } from './programs.ts';
import type { Policy } from './session.ts';

/** The options of svc mcp, as they are written. */
export interface McpOptions {
  allowHost?: string[];
  bind?: string[];
  allowRun?: boolean;
  allowCommand?: string[];
  allowRead?: boolean;
}

/** The limits of an agent credential, as the vault stores them. */
export type McpLimits = NonNullable<components['schemas']['Agent']['mcp_limits']>;

const checked =
  (check: (text: string, flag: string) => unknown) =>
  (text: string, flag: string): string => {
    check(text, flag);
    return text;
  };

export const MCP_OPTIONS: Record<string, OptionSpec | string> = {
  '--allow-host <host>': {
    description:
      'let http_request send any unbound secret to this host: api.stripe.com, *.example.com, localhost:3000; may be repeated',
    parse: checked(allowedHost),
    repeat: true,
  },
  '--bind <binding>': {
    description:
      'let http_request send this secret only to this host, path and header: STRIPE_KEY=api.stripe.com/v1,header=Authorization; path and header may be left out; may be repeated',
    parse: checked(binding),
    repeat: true,
  },
  '--allow-run': `add run_command. This gives values away: ${RUN_GIVES_AWAY}`,
  '--allow-command <program>': {
    description: 'with --allow-run: run only this program, such as psql or ./deploy.sh; may be repeated',
    repeat: true,
  },
  '--allow-read': 'let the agent read values as plain text',
};

/** Refuses options that mean nothing together. */
export function checkMcpOptions({ allowRun, allowCommand }: McpOptions): void {
  // safety: mcp-allow-command-needs-run
  if (allowCommand && !allowRun)
    throw usage('--allow-command needs --allow-run.', `Know what it gives away: ${RUN_GIVES_AWAY}`);
}

/** Options as limits to store; undefined without any. */
export function limitsOf(options: McpOptions): McpLimits | undefined {
  checkMcpOptions(options);
  const { bind, allowHost, allowRun, allowCommand, allowRead } = options;
  if (!bind && !allowHost && !allowRun && !allowRead) return undefined;
  return {
    bindings: bind ?? [],
    hosts: allowHost ?? [],
    run: Boolean(allowRun),
    commands: allowCommand ?? null,
    read: Boolean(allowRead),
  };
}

/**
 * What a server may do: its options, or what the limits allow if it has none. Refuses an option beyond the
 * limits. A stored binding holds without the option too.
 */
export function allowedOptions(options: McpOptions, limits: McpLimits | null): McpOptions {
  if (!limits) return options;
  const { bindings, hosts, run, commands, read } = limits;
  if (!limitsOf(options))
    return {
      bind: bindings,
      allowHost: hosts,
      allowRun: run,
      allowCommand: (run && commands) || undefined,
      allowRead: read,
    };
  const beyond = [
    ...(options.bind ?? []).filter((one) => !bindings.includes(one)).map((one) => `--bind ${one}`),
    ...(options.allowHost ?? []).filter((one) => !hosts.includes(one)).map((one) => `--allow-host ${one}`),
    ...(options.allowRun && !run ? ['--allow-run'] : []),
    ...(options.allowRun && commands && !options.allowCommand ? ['--allow-run without --allow-command'] : []),
    ...(options.allowCommand ?? [])
      .filter((one) => commands && !commands.includes(one))
      .map((one) => `--allow-command ${one}`),
    ...(options.allowRead && !read ? ['--allow-read'] : []),
  ];
  // safety: mcp-stored-limits
  if (beyond.length)
    throw usage(
      `The agent credential does not allow ${beyond.map(clean).join(', ')}.`,
      'Leave it out, or ask someone who manages the agent to change its limits with svc agent update',
    );
  const bound = new Set((options.bind ?? []).map(secretOf));
  // safety: mcp-stored-bindings
  return {
    ...options,
    bind: [...(options.bind ?? []), ...bindings.filter((one) => !bound.has(secretOf(one)))],
  };
}

const secretOf = (text: string): string => secretNamed(binding(text, '--bind').name);

/** What the tools of a server in `root` may do. */
export function policyOf(
  { bind, allowHost, allowRun, allowCommand, allowRead }: McpOptions,
  root: string,
): Policy {
  const bindings = new Map<string, Binding[]>();
  for (const text of bind ?? []) {
    const { name, binding: one } = binding(text, '--bind');
    const secret = secretNamed(name);
    bindings.set(secret, [...(bindings.get(secret) ?? []), one]);
  }
  return {
    hosts: (allowHost ?? []).map((host) => allowedHost(host, '--allow-host')),
    bindings,
    programs: allowRun ? (allowCommand ? allowedPrograms(allowCommand, root) : 'any') : undefined,
    allowRead: Boolean(allowRead),
  };
}
