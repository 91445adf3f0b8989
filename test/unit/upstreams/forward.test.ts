// Forwarding a call: its bounds, and what must be durable before its answer begins.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { forward } from '../../../src/domains/upstreams/call/forward';
import type { UsePlan, UsePorts } from '../../../src/domains/upstreams/call/use-plan';

afterEach(() => vi.unstubAllGlobals());

const plan: UsePlan = {
  upstream: { id: 'ups_1', name: 'api', base_url: 'https://api.example.com' },
  auth: [{ type: 'header', name: 'X-Key', value: '{{KEY}}' }],
  values: { KEY: { value: 'a-value-of-sixteen-bytes', isChosen: false } },
  max_request_bytes: 10,
  max_response_bytes: 10,
  timeout_seconds: 30,
  held: null,
};
const bytes = (text: string) => new TextEncoder().encode(text);
const streamOf = (...parts: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(bytes(part));
      controller.close();
    },
  });

/** Forwards one call to an upstream that answers so. */
function forwarded(
  answer: (init: RequestInit) => Response | Promise<Response>,
  body: ReadableStream<Uint8Array> | null = null,
  ports: Partial<UsePorts> = {},
  of: UsePlan = plan,
) {
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => answer(init));
  const told: unknown[] = [];
  const ends = new AbortController();
  const given = {
    call: {
      upstream: 'api',
      method: body ? 'POST' : 'GET',
      path: '/v1',
      query: '',
      headers: [],
      bytes: body ? null : 0,
      isWebSocket: false,
      whole: null,
    },
    body,
    route: 'https://vault.example.com/api/v1/orgs/org_1/use/api',
    egress: { allowPrivate: true },
  };
  const done = forward(of, given, {
    ends: ends.signal,
    answered: async (one) => {
      told.push(one);
      return true;
    },
    ended: async ({ how }) => void told.push(how),
    ownToken: async (_, get) => (await get()).token,
    defer: () => {},
    ...ports,
  });
  return { done, told, ends };
}

const textOf = async (done: Promise<unknown>) => ((await done) as Response).text();

describe('forward', () => {
  it('bounds: an upload past its bound is refused, and is not sent to its end', async () => {
    let sent = '';
    const received = Promise.withResolvers<void>();
    const { done } = forwarded(
      async ({ body }) => {
        try {
          for await (const part of body as unknown as AsyncIterable<Uint8Array>)
            sent += new TextDecoder().decode(part);
        } finally {
          received.resolve();
        }
        return new Response('stored');
      },
      streamOf('12345', '67890', 'past', 'more'),
    );
    expect(await done).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    await received.promise;
    expect(sent).toBe('1234567890');
  });

  it('bounds: an answer past its bound is broken off', async () => {
    const { done, told } = forwarded(() => new Response(streamOf('12345', '67890', 'past')));
    await expect(textOf(done)).rejects.toThrow();
    expect(told.at(-1)).toBe('too_large');
  });

  it('bounds: an answer that is as long as its bound is whole', async () => {
    const { done, told } = forwarded(() => new Response(streamOf('12345', '67890')));
    expect([await textOf(done), told.at(-1)]).toEqual(['1234567890', 'complete']);
  });

  it('bounds: an answer whose length is known to be past its bound is refused', async () => {
    const long = () => new Response(streamOf('12345678901'), { headers: { 'Content-Length': '11' } });
    expect(await forwarded(long).done).toMatchObject({ code: 'TARGET_REJECTED' });
  });

  it('bounds: an answer that takes too many steps to mask is refused, or broken off', async () => {
    const repeating = { ...plan, max_response_bytes: 100_000 };
    repeating.values = { KEY: { value: 'a'.repeat(4096), isChosen: false } };
    const text = 'a'.repeat(16_384);
    const inBody = forwarded(() => new Response(text), null, {}, repeating);
    await expect(textOf(inBody.done)).rejects.toThrow();
    expect(inBody.told.at(-1)).toBe('too_large');
    const head = () => new Response('', { headers: { 'X-Echo': text } });
    const inHeader = forwarded(head, null, {}, repeating);
    expect(await inHeader.done).toMatchObject({ code: 'TARGET_REJECTED' });
    expect(inHeader.told).toMatchObject([{ status: null, code: 'TARGET_REJECTED' }]);
  });

  it('audit: no answer begins before its entry is durable, nor if it may not', async () => {
    for (const may of [true, false]) {
      let durable = (_: boolean) => {};
      const entry = new Promise<boolean>((resolve) => {
        durable = resolve;
      });
      let isAnswered = false;
      const { done } = forwarded(() => new Response('answer'), null, { answered: () => entry });
      void done.then(() => {
        isAnswered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(isAnswered).toBe(false);
      durable(may);
      const answer = await done;
      expect('code' in answer ? answer.code : await answer.text()).toBe(may ? 'answer' : 'TOKEN_REVOKED');
    }
  });

  it('audit: no answer begins if its entry cannot be written', async () => {
    const answered = () => Promise.reject(new Error('no gate'));
    const { done } = forwarded(() => new Response('answer'), null, { answered });
    await expect(done).rejects.toThrow('no gate');
  });

  it('revocation: an answer that nobody reads just then is broken off at once', async () => {
    const { done, told, ends } = forwarded(() => new Response(new ReadableStream({ pull: () => {} })));
    const answer = (await done) as Response;
    ends.abort();
    expect(told.at(-1)).toBe('credential_ended');
    await expect(answer.text()).rejects.toThrow();
  });

  it('revocation: an upload is broken off, and what comes later is not sent', async () => {
    let sent = '';
    let more = (_: string) => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        more = (text) => controller.enqueue(bytes(text));
      },
    });
    const { done, ends, told } = forwarded(async ({ body }) => {
      for await (const part of body as unknown as AsyncIterable<Uint8Array>)
        sent += new TextDecoder().decode(part);
      return new Response('stored');
    }, body);
    more('early');
    while (sent !== 'early') await new Promise((resolve) => setTimeout(resolve, 1));
    ends.abort();
    more('late');
    expect(await done).toMatchObject({ code: 'TOKEN_REVOKED' });
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect([sent, told.at(-1)]).toEqual(['early', { status: null, code: 'TOKEN_REVOKED', request_bytes: 5 }]);
  });
});
