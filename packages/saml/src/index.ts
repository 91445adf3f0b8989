// The SAML Worker: it turns what an identity provider sent into plain data. It has no secret, no storage and
// no address, makes no requests, and is only reached through a service binding of the vault. So a flaw in the
// parsing of XML reaches nothing that the vault protects but the identity of whoever signs in.
import { WorkerEntrypoint } from 'cloudflare:workers';
import type { Read, SamlAssertion, SamlCalls, SamlExpected, SamlProvider, SamlRequest } from './calls';
import { readMetadata } from './metadata';
import { signInUrl } from './request';
import { readResponse } from './response';
import { Refused } from './xml';

export default class Saml extends WorkerEntrypoint implements SamlCalls {
  /** The Worker has no address. This is what a request finds if somebody gives it one. */
  override fetch(): Response {
    return new Response(null, { status: 404 });
  }

  metadata(xml: string): Promise<Read<SamlProvider>> {
    return reading(async () => readMetadata(xml));
  }

  request(asked: SamlRequest): Promise<Read<string>> {
    return reading(() => signInUrl(asked));
  }

  response(encoded: string, expected: SamlExpected): Promise<Read<SamlAssertion>> {
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
