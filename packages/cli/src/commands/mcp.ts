// svc mcp: an MCP server through which an AI agent calls upstreams, whose secrets stay in the vault. Options
// let values come to this machine.
import type { CommonOptions } from '../context.ts';
import { command } from '../definition/command.ts';
import { allowedOptions, checkMcpOptions, MCP_OPTIONS, type McpOptions, policyOf } from '../mcp/limits.ts';

type Options = CommonOptions & McpOptions;

export default command<Options>({
  needs: 'environment',
  options: MCP_OPTIONS,
  examples: {
    mcp: 'Let the agent call the upstreams of its credential',
    'mcp --env staging --bind STRIPE_KEY=api.stripe.com/v1,header=Authorization':
      'Let the agent call Stripe, with a key that is sent nowhere else',
    'mcp --env staging --allow-host api.example.com':
      'Let it send every secret that its credential can use to one host',
    'mcp --env staging --allow-run --allow-command psql':
      'Let it run one program, and so read the values that it can use',
  },
  notes: [
    'An MCP client starts the server and communicates with it over stdin and stdout. It requires an agent credential, from SVC_TOKEN or the profile, and refuses API keys and member sessions.',
    'Without options, http_request calls upstreams alone: the vault sends the request, and no value comes to this machine. The credential needs secrets:use, and must have neither secrets:read nor secrets:rotate.',
    'With --bind, --allow-host, --allow-run or --allow-read, values come to this machine. They are masked in responses, including common encodings of them. This guards against accidents. A host that transforms what it receives can still show a value: bind each secret to one host, path and header, and protect important secrets with an approval policy.',
    'Programs of --allow-run have an empty home directory of their own, which is removed when they end. They run as your user and can read your files by their paths.',
  ],
  async run(context, { options }) {
    const { agentOf, checkKeepsOut, introduction } = await import('../mcp/start.ts');
    checkMcpOptions(options);
    const { agent, token } = await agentOf(context);
    const allowed = allowedOptions(options, agent.mcp_limits ?? null);
    const [{ serve }, { Session }] = await Promise.all([
      import('../mcp/server.ts'),
      import('../mcp/session.ts'),
    ]);
    const { vault } = await context.vault();
    const { host } = context;
    const policy = policyOf(allowed, host.cwd);
    const reason = options.reason ?? host.env.SVC_REASON;
    const isLocal = policy.programs || policy.allowRead || policy.hosts.length + policy.bindings.size > 0;
    if (!isLocal) checkKeepsOut(agent);
    const environment = isLocal ? await context.environment() : (context.setting('environment')?.value ?? '');
    const session = new Session(
      vault,
      context.origin,
      environment,
      policy,
      host.cwd,
      host.env,
      reason,
      token,
    );
    context.out.note(...introduction(agent, session));
    await serve(host, session);
    return 0;
  },
});
