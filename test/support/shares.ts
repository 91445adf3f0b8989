// Links for tests: created, and viewed as the page does it.
import { type Caller, send } from './world';

export interface NewLink {
  id: string;
  url: string;
  key: string;
  expires_at: string;
}

/** A new link to a secret. */
export async function newLink(
  o: Caller,
  secret: string,
  fields: Record<string, unknown> = {},
): Promise<NewLink> {
  const { json, status, text } = await o.post(`/secrets/${secret}/share`, {
    kind: 'link',
    expires_in: 3600,
    max_views: 3,
    ...fields,
  });
  if (status !== 201) throw new Error(`no link: ${status} ${text}`);
  return { ...json, key: new URL(json.url).hash.slice(1) };
}

let addresses = 0;
/** An address that nothing has been refused to yet: refused views are limited by address. */
const freshAddress = () => `198.51.${(++addresses >> 8) & 255}.${addresses & 255}`;

/** What the page of a link asks on a click. */
export const view = ({ id, key }: { id: string; key: string }, passphrase?: string, ip = freshAddress()) =>
  send('POST', `/s/${id}`, {
    body: { key, ...(passphrase !== undefined && { passphrase }) },
    headers: { 'CF-Connecting-IP': ip, 'User-Agent': 'a browser' },
  });
