// svc mcp: an MCP server through which an AI agent sends HTTP requests with secrets, without getting the
// values.
import { command } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { allowedOptions, checkMcpOptions, MCP_OPTIONS, type McpOptions, policyOf } from '../mcp/limits.ts';

type Options = CommonOptions & McpOptions;

export default command<Options>({
  needs: 'environment',
  options: MCP_OPTIONS,
  examples: {
    'mcp --env staging --bind STRIPE_KEY=api.stripe.com/v1,header=Authorization':
      'Let the agent call Stripe, with a key that is sent nowhere else',
    'mcp --env staging --allow-host api.example.com':
      'Let it send every secret that its credential can use to one host',
    'mcp --env staging --allow-run --allow-command psql':
      'Let it run one program, and so read the values that it can use',
  },
  notes: [
    'An MCP client starts the server and communicates with it over stdin and stdout. It requires an agent credential, from SVC_TOKEN or the profile, and refuses API keys and member sessions.',
    'Values are masked in responses, including common encodings of them. This guards against accidents. A host that transforms what it receives can still show a value: bind each secret to one host, path and header, and protect important secrets with an approval policy.',
    'Programs of --allow-run have an empty home directory of their own, which is removed when they end. They run as your user and can read your files by their paths.',
  ],
  async run(context, { options }) {
    const { agentOf, introduction } = await import('../mcp/start.ts');
    checkMcpOptions(options);
    const { agent, token } = await agentOf(context);
    const allowed = allowedOptions(options, agent.mcp_limits ?? null);
    const environment = await context.environment();
    const [{ serve }, { Session }] = await Promise.all([
      import('../mcp/server.ts'),
      import('../mcp/session.ts'),
    ]);
    const { vault } = await context.vault();
    const { host } = context;
    const policy = policyOf(allowed, host.cwd);
    const reason = options.reason ?? host.env.SVC_REASON;
    const session = new Session(vault, environment, policy, host.cwd, host.env, reason, token);
    context.out.note(...introduction(agent, session));
    await serve(host, session);
    return 0;
  },
});
