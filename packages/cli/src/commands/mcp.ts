// svc mcp: an MCP server through which an AI agent sends HTTP requests with secrets, without getting the values.
import { command } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { usage } from '../errors.ts';
import { type AllowedHost, allowedHost, type Binding, binding } from '../mcp/hosts.ts';
import { allowedPrograms, type Programs, RUN_GIVES_AWAY } from '../mcp/programs.ts';
import { secretNamed } from '../secrets.ts';

interface Options extends CommonOptions {
  allowHost?: AllowedHost[];
  bind?: { name: string; binding: Binding }[];
  allowRun?: boolean;
  allowCommand?: string[];
  allowRead?: boolean;
}

export default command<Options>({
  needs: 'environment',
  options: {
    '--allow-host <host>': {
      description: 'let http_request send any unbound secret to this host: api.stripe.com, *.example.com, localhost:3000; may be repeated',
      parse: allowedHost,
      repeat: true,
    },
    '--bind <binding>': {
      description:
        'let http_request send this secret only to this host, path and header: STRIPE_KEY=api.stripe.com/v1,header=Authorization; path and header may be left out; may be repeated',
      parse: binding,
      repeat: true,
    },
    '--allow-run': `add run_command. This gives values away: ${RUN_GIVES_AWAY}`,
    '--allow-command <program>': {
      description: 'with --allow-run: run only this program, such as psql or ./deploy.sh; may be repeated',
      repeat: true,
    },
    '--allow-read': 'let the agent read values as plain text',
  },
  examples: {
    'mcp --env staging --bind STRIPE_KEY=api.stripe.com/v1,header=Authorization':
      'Let the agent call Stripe, with a key that is sent nowhere else',
    'mcp --env staging --allow-host api.example.com': 'Let it send every secret that its credential can use to one host',
    'mcp --env staging --allow-run --allow-command psql': 'Let it run one program, and so read the values that it can use',
  },
  notes: [
    'An MCP client starts the server and communicates with it over stdin and stdout. It requires an agent credential, from SVC_TOKEN or the profile, and refuses API keys and member sessions.',
    'Values are masked in responses, including common encodings of them. This guards against accidents. A host that transforms what it receives can still show a value: bind each secret to one host, path and header, and protect important secrets with an approval policy.',
    'Programs of --allow-run have an empty home directory of their own, which is removed when they end. They run as your user and can read your files by their paths.',
  ],
  async run(context, { options }) {
    const { agentOf, introduction } = await import('../mcp/start.ts');
    const bindings = new Map<string, Binding[]>();
    for (const { name, binding } of options.bind ?? []) bindings.set(secretNamed(name), [...(bindings.get(name) ?? []), binding]);
    const programs = programsOf(options, context.host.cwd);
    const { agent, token } = await agentOf(context);
    const environment = await context.environment();
    const [{ serve }, { Session }] = await Promise.all([import('../mcp/server.ts'), import('../mcp/session.ts')]);
    const { vault } = await context.vault();
    const { host } = context;
    const policy = { hosts: options.allowHost ?? [], bindings, programs, allowRead: Boolean(options.allowRead) };
    const reason = options.reason ?? host.env.SVC_REASON;
    const session = new Session(vault, environment, policy, host.cwd, host.env, reason, token);
    context.out.note(...introduction(agent, session));
    await serve(host, session);
    return 0;
  },
});

/** What run_command may run: nothing without --allow-run. */
function programsOf({ allowRun, allowCommand }: Options, root: string): Programs | 'any' | undefined {
  // safety: mcp-allow-command-needs-run
  if (allowCommand && !allowRun) throw usage('--allow-command needs --allow-run.', `Know what it gives away: ${RUN_GIVES_AWAY}`);
  if (!allowRun) return undefined;
  return allowCommand ? allowedPrograms(allowCommand, root) : 'any';
}
