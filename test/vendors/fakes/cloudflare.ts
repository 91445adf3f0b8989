// What Cloudflare's API has in common, by https://developers.cloudflare.com/api: bearer tokens, and an
// envelope around each result.
import type { FakeAnswer, FakeRequest } from './server.ts';

export const ok = (result: unknown): FakeAnswer => ({
  status: 200,
  body: { success: true, errors: [], messages: [], result },
});

export const refused = (status: number, code: number): FakeAnswer => ({
  status,
  body: { success: false, errors: [{ code, message: `made up: ${code}` }], messages: [], result: null },
});

/** What is wrong with a request before anything is looked up; null where nothing is. */
export function unauthorized({ headers }: FakeRequest, token: string): FakeAnswer | null {
  const given = headers.authorization;
  if (given === undefined) return refused(400, 9106);
  if (!/^Bearer [A-Za-z0-9_-]{8,}$/.test(given)) return refused(400, 6003);
  return given === `Bearer ${token}` ? null : refused(403, 10000);
}
