// svc mcp: an MCP server that lets an AI agent use secrets without seeing them.
import { command } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { type AllowedHost, allowedHost, binding } from '../mcp/hosts.ts';
import { secretNamed } from '../secrets.ts';

interface Options extends CommonOptions {
  allowHost?: AllowedHost[];
  bind?: { name: string; host: AllowedHost }[];
  allowCommand?: string[];
  allowRead?: boolean;
}

export default command<Options>({
  needs: 'environment',
  options: {
    '--allow-host <host>': {
      description: 'a host that http_request may call: api.stripe.com, *.example.com, localhost:3000; may be repeated',
      parse: allowedHost,
      repeat: true,
    },
    '--bind <name=host>': {
      description: 'let a secret go to this host alone, and allow the host; may be repeated',
      parse: binding,
      repeat: true,
    },
    '--allow-command <program>': { description: 'let run_command run this program alone; may be repeated', repeat: true },
    '--allow-read': 'let the agent read values in plain text',
  },
  examples: {
    'mcp --env staging': 'Serve the secrets of staging that the agent credential reaches',
    'mcp --env staging --allow-host api.stripe.com --bind STRIPE_KEY=api.stripe.com':
      'Also let it call Stripe, with a key that goes nowhere else',
    'mcp --env staging --allow-command npm --allow-command psql': 'Let it run these programs, and no other',
  },
  notes: [
    'An MCP client starts it and speaks with it over stdin and stdout. It takes an agent credential, from SVC_TOKEN or the profile, and refuses API keys and sessions of members.',
    'Values are masked in outputs, also where they are encoded in usual ways. A program that is given a value can still send it elsewhere: limit the credential, the hosts and the programs, and hold what matters by an approval policy.',
  ],
  async run(context, { options }) {
    const { agentOf, introduction } = await import('../mcp/start.ts');
    const { agent, token } = await agentOf(context);
    const environment = await context.environment();
    const [{ serve }, { Session }] = await Promise.all([import('../mcp/server.ts'), import('../mcp/session.ts')]);
    const bindings = new Map<string, AllowedHost[]>();
    for (const { name, host } of options.bind ?? []) bindings.set(secretNamed(name), [...(bindings.get(name) ?? []), host]);
    const hosts = [...(options.allowHost ?? []), ...[...bindings.values()].flat()];
    const policy = { hosts, bindings, commands: options.allowCommand, allowRead: Boolean(options.allowRead) };
    const { vault } = await context.vault();
    const { host } = context;
    const reason = options.reason ?? host.env.SVC_REASON;
    const session = new Session(vault, environment, policy, host.cwd, host.env, reason, token);
    context.out.note(introduction(agent, environment));
    await serve(host, session);
    return 0;
  },
});
