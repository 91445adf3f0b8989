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
      description: 'allow http_request to call this host: api.stripe.com, *.example.com, localhost:3000; may be repeated',
      parse: allowedHost,
      repeat: true,
    },
    '--bind <name=host>': {
      description: 'send this secret only to this host, and allow the host; may be repeated',
      parse: binding,
      repeat: true,
    },
    '--allow-command <program>': { description: 'let run_command run only this program; may be repeated', repeat: true },
    '--allow-read': 'let the agent read values as plain text',
  },
  examples: {
    'mcp --env staging': 'Serve the secrets of staging that the agent credential can use',
    'mcp --env staging --allow-host api.stripe.com --bind STRIPE_KEY=api.stripe.com':
      'Also let it call Stripe, with a key that is sent nowhere else',
    'mcp --env staging --allow-command npm --allow-command psql': 'Let it run only these programs',
  },
  notes: [
    'An MCP client starts the server and communicates with it over stdin and stdout. It requires an agent credential, from SVC_TOKEN or the profile, and refuses API keys and member sessions.',
    'Values are masked in outputs, including common encodings of them. A program that receives a value can still send it elsewhere: restrict the credential, the hosts and the programs, and protect important secrets with an approval policy.',
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
