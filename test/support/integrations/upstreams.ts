// Upstreams for tests.
import { readToken } from '../../../src/auth/authentication/token';
import type { UseCall } from '../../../src/domains/upstreams/call/use-plan';
import type { Begun } from '../../../src/domains/upstreams/gate/use';
import type { Refusal } from '../../../src/errors';
import type { Ask, Reply } from '../../../src/gate/request/call';
import { askOf, gateOf } from '../gate';
import { type Caller, newSecret } from '../world';

/** A valid body of a new upstream that places one secret. */
export const upstreamIn = (secret: string, fields: Record<string, unknown> = {}) => ({
  name: `u-${crypto.randomUUID().slice(0, 8)}`,
  base_url: 'https://api.example.com',
  environment: 'production',
  auth: [{ type: 'header', name: 'Authorization', value: `Bearer {{${secret}}}` }],
  allow: [{ methods: ['GET', 'POST'], paths: ['/v1/*'] }],
  ...fields,
});

/** The largest body of an upstream: what deciders are shown bounds `auth` and `allow` as wholes. */
export const largestUpstream = () => ({
  name: 'u'.repeat(63),
  base_url: `https://api.example.com/${'p'.repeat(2000)}`,
  auth: Array.from({ length: 5 }, (_, n) => ({
    type: 'header',
    name: `X-${n}${'h'.repeat(61)}`,
    value: `{{S${n}${'S'.repeat(250)}}}${'v'.repeat(760)}`,
    guessable: false,
  })),
  allow: [
    {
      methods: ['GET', 'POST'],
      paths: Array.from({ length: 25 }, (_, n) => `/${n}${'p'.repeat(250)}`),
      headers: Object.fromEntries([[`x-${'h'.repeat(62)}`, 'g'.repeat(256)]]),
    },
  ],
  max_request_bytes: 104_857_600,
  max_response_bytes: 1_073_741_824,
  timeout_seconds: 60,
  rate_limit: 1000,
});

/** A new upstream, with a secret of its own if none is named. */
export async function newUpstream(o: Caller, fields: Record<string, unknown> = {}, name?: string) {
  const secret = name ?? (await newSecret(o)).name;
  const { json, status, text } = await o.post('/upstreams', upstreamIn(secret, fields));
  if (status !== 201) throw new Error(`no upstream: ${status} ${text}`);
  return { ...json, secret } as { id: string; name: string; secret: string; revision: number };
}

/** What the gate answers to the Worker about a call: a refusal's code, what it wants, or its data. */
async function asked(o: Caller, fields: Partial<Ask>, bearer: Ask['bearer']) {
  const ask = await askOf(o, 'secret.use', bearer, fields);
  const { outcome } = (await gateOf(o).call(ask)) as unknown as Reply;
  if (outcome.kind === 'refused') return { code: outcome.refusal.code, refusal: outcome.refusal };
  if (outcome.kind === 'more') return { wants: outcome.wants };
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return { data: outcome.data as any };
}
export type Used = Awaited<ReturnType<typeof asked>> & {
  code?: string;
  refusal?: Refusal;
  wants?: string;
  data?: Begun;
};

const call = {
  method: 'GET',
  path: '/v1/x',
  query: '',
  headers: [],
  bytes: 0,
  isWebSocket: false,
  whole: null,
};

/** Asks whether a call may begin. */
export const begin = (
  o: Caller,
  name: string,
  input: Partial<UseCall> = {},
  approval?: Partial<NonNullable<Ask['approval']>>,
  fields: Partial<Ask> = {},
): Promise<Used> => {
  const { kind, org, hash } = readToken(o.token) as NonNullable<ReturnType<typeof readToken>>;
  return asked(
    o,
    {
      operation: 'use.begin',
      named: { use: name },
      input: { ...call, upstream: name, ...input },
      ...(approval && {
        approval: { id: null, method: 'GET', path: '/use', digest: 'd', isFound: true, ...approval },
        again: true,
      }),
      ...fields,
    },
    { kind, org, hash },
  );
};

/** What the Worker tells of a call. */
export const tell = async (
  o: Caller,
  what: 'answered' | 'alive' | 'ended',
  input: object,
  fields: Partial<Ask> = {},
) =>
  (
    await asked(
      o,
      { action: 'secret.use_end', operation: `use.${what}`, input, path_org: null, ...fields },
      'system',
    )
  ).data as { may?: boolean };
