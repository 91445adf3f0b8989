// The SAML Worker: it turns what an identity provider sent into plain data. It has no secret, no storage and
// no address, makes no requests, and is only reached through a service binding of the vault. So a flaw in the
// parsing of XML reaches nothing that the vault protects but the identity of whoever signs in.
import { WorkerEntrypoint } from 'cloudflare:workers';
import { type Provider, readMetadata } from './metadata';
import { type Request, signInUrl } from './request';
import { type Assertion, type Expected, readResponse } from './response';
import { Refused } from './xml';

/** What was read, or why it was refused. The reason quotes nothing of the document. */
export type Read<T> = { ok: true; value: T } | { ok: false; reason: string };

export default class Saml extends WorkerEntrypoint {
  /** The Worker has no address. This is what a request finds if somebody gives it one. */
  override fetch(): Response {
    return new Response(null, { status: 404 });
  }

  /** The identity provider that metadata describes. */
  metadata(xml: string): Promise<Read<Provider>> {
    return reading(async () => readMetadata(xml));
  }

  /** Where to send the browser for a sign-in, and the id that its response must name. */
  request(asked: Request): Promise<Read<string>> {
    return reading(() => signInUrl(asked));
  }

  /** What a response asserts. */
  response(encoded: string, expected: Expected): Promise<Read<Assertion>> {
    return reading(() => readResponse(encoded, expected));
  }
}

async function reading<T>(read: () => Promise<T>): Promise<Read<T>> {
  try {
    return { ok: true, value: await read() };
  } catch (error) {
    return { ok: false, reason: error instanceof Refused ? error.message : 'it cannot be read' };
  }
}
