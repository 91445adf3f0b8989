// A resolver and an identity provider for tests, in place of `fetch`. The resolver speaks DNS-over-HTTPS by
// RFC 8484 or in the JSON form.
import { type Answer as DnsAnswer, decode, encode } from '@leichtgewicht/dns-packet';
import { vi } from 'vitest';
import { fromBase64Url } from '../../../src/crypto/bytes';

type Form = 'wire' | 'json';

/** A record in the answer section; `data` of the JSON form is `text` where it is given. */
export interface Answered {
  name: string;
  type: 'TXT' | 'CNAME' | 'A';
  data: string | string[];
  text?: string;
}

const NUMBERS = { A: 1, CNAME: 5, TXT: 16 } as const;
const CODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as const;

/** What the resolver knows and does; `asked` are the names that it was asked for. */
export interface Resolver {
  form: Form;
  records: Answered[];
  rcode: keyof typeof CODES;
  truncated: boolean;
  /** In place of any answer. */
  broken: (() => Promise<Response> | Response) | null;
  asked: string[];
  accepted: string[];
}

/** What is at other addresses. */
export type Elsewhere = (url: URL, init: RequestInit) => Response | Promise<Response> | undefined;

export const newResolver = (form: Form = 'wire'): Resolver => ({
  form,
  records: [],
  rcode: 'NOERROR',
  truncated: false,
  broken: null,
  asked: [],
  accepted: [],
});

function inWire(resolver: Resolver, dns: string): Response {
  const query = decode(fromBase64Url(dns) as Uint8Array);
  resolver.asked.push(query.questions?.[0]?.name as string);
  const bytes = encode({
    type: 'response',
    id: 0,
    flags: CODES[resolver.rcode] | (resolver.truncated ? 0x200 : 0),
    questions: query.questions ?? [],
    answers: resolver.records.map(({ name, type, data }) => ({ name, type, ttl: 60, data }) as DnsAnswer),
  });
  return new Response(new Uint8Array(bytes), { headers: { 'Content-Type': 'application/dns-message' } });
}

function inJson(resolver: Resolver, name: string): Response {
  resolver.asked.push(name);
  const quoted = (data: string | string[]) =>
    [data]
      .flat()
      .map((part) => JSON.stringify(part))
      .join(' ');
  const body = {
    Status: CODES[resolver.rcode],
    TC: resolver.truncated,
    Answer: resolver.records.map(({ name: owner, type, data, text }) => ({
      name: `${owner}.`,
      type: NUMBERS[type],
      TTL: 60,
      data: text ?? (type === 'TXT' ? quoted(data) : String(data)),
    })),
  };
  return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/dns-json' } });
}

/** Answers in place of `fetch` until the test ends. */
export function answerNames(resolver: Resolver, elsewhere: Elsewhere = () => undefined): void {
  vi.stubGlobal('fetch', async (target: string, init: RequestInit = {}) => {
    const url = new URL(target);
    if (url.hostname !== 'cloudflare-dns.com') return (await elsewhere(url, init)) ?? Response.error();
    const accept = new Headers(init.headers).get('accept') ?? '';
    const type = url.searchParams.get('type');
    // The egress guard looks up the addresses of hosts.
    if (type === 'A' || type === 'AAAA')
      return Response.json({ Status: 0, Answer: [{ name: 'x', type: 1, TTL: 60, data: '93.184.215.14' }] });
    resolver.accepted.push(accept);
    if (resolver.broken) return resolver.broken();
    const dns = url.searchParams.get('dns');
    if (dns !== null)
      return resolver.form === 'wire' ? inWire(resolver, dns) : new Response('', { status: 400 });
    return inJson(resolver, url.searchParams.get('name') as string);
  });
}

/** The discovery document of a provider. */
export const documentOf = (issuer: string, fields: object = {}) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  authorization_response_iss_parameter_supported: true,
  ...fields,
});
