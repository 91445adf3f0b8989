// svc proxy: runs a command that calls upstreams with the SDKs and tools that it has. Invariants: the command
// gets a token of this run in place of each key, and the vault places the keys; nothing but a certificate is
// written to disk.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { CommonOptions, Context } from '../context.ts';
import { command, list } from '../definition/command.ts';
import { usage } from '../errors.ts';
import type { Gateway } from '../proxy/forward.ts';
import { awaitDecision } from '../requests/approvals.ts';
import { NotStarted } from '../run/child.ts';
import { everything } from '../secrets/lookup.ts';
import { clean } from '../text.ts';
import { runOnce } from './run.ts';

interface Options extends CommonOptions {
  only?: string[];
}

export default command<Options>({
  needs: 'vault',
  args: { '<command...>': 'command and its arguments' },
  passThrough: true,
  options: {
    '--only <names>': { description: 'only these upstreams, separated by commas', parse: list },
  },
  examples: {
    'proxy -- node agent.js': 'Run a program that uses its SDKs as if it had the keys',
    'proxy --only stripe -- curl https://api.stripe.com/v1/balance': 'Call an API with curl',
  },
  notes: [
    'The command gets base URLs for its SDKs, such as OPENAI_BASE_URL, and HTTPS_PROXY with a certificate of this run, for tools that take no base URL. The vault places the keys. Other hosts are reached as without svc proxy.',
    'In place of keys the command gets a token, which is good at this proxy alone and until the command ends.',
    'Signals are forwarded, and svc exits with the exit code of the command, as svc run does. With --wait, a call that needs an approval waits for it.',
    'The credential needs secrets:use. The command runs as your user, and can use what you have stored with svc login: store a credential that reads no values.',
  ],
  async run(context, { rest, options }) {
    const { vault, org_id, bearer } = await context.vault();
    const rows = await everything(async (query) => {
      const { data } = await vault.api.GET('/orgs/{org_id}/upstreams', {
        params: { path: { org_id }, query },
      });
      return data;
    });
    const [{ chosenTargets }, { Authority }, { newToken }, { startProxy }, variables] = await Promise.all([
      import('../proxy/targets.ts'),
      import('../proxy/authority.ts'),
      import('../proxy/access.ts'),
      import('../proxy/server.ts'),
      import('../proxy/variables.ts'),
    ]);
    const targets = chosenTargets(rows, options.only);
    if (targets.length === 0)
      throw usage('There is no upstream that this credential may use.', 'Make one: svc upstream add stripe');
    const token = newToken();
    const authority = await Authority.create([...new Set(targets.map(({ host }) => host))]);
    const gateway: Gateway = {
      origin: context.origin,
      org: org_id,
      reason: options.reason ?? (context.host.env.SVC_REASON || undefined),
      token: bearer,
      held: (approval) => heldCall(context, approval),
    };
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'svc-proxy-'));
    const running = await startProxy(targets, { gateway, authority, token });
    try {
      const { env } = context.host;
      const certificates = variables.writeCertificates(folder, authority.certificate, env);
      const sdk = variables.sdkVariables(targets, running, token);
      context.out.note(`Upstreams: ${targets.map(({ name }) => clean(name)).join(', ')}`);
      return await runOnce(
        context,
        rest,
        variables.programEnv(env, sdk, { proxy: running.proxy, token, certificates }),
      );
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      context.out.fail(error);
      return error.exitCode;
    } finally {
      running.close();
      fs.rmSync(folder, { recursive: true, force: true });
    }
  },
});

/** A held call: whether it may be repeated. Without --wait the program repeats it, once it is approved. */
async function heldCall(
  context: Context,
  { id, status }: { id: string; status: string },
): Promise<string | null> {
  if (status === 'approved') return id;
  context.out.note(`A call waits for approval ${id}: ${context.origin}/console/approvals/${id}`);
  if (!context.options.wait) return null;
  return (await awaitDecision(context, id)).status === 'approved' ? id : null;
}
