// The links of a member to identities of providers: who sees them, and what they show.
import { afterEach, expect, it, vi } from 'vitest';
import { newKey } from '../../support/credentials';
import { add, newMember } from '../../support/people';
import {
  claimsOf,
  connected,
  deleteConnection,
  newConnection,
  newSsoBrowser,
} from '../../support/signin/sso-signin';
import { codeOf, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

it('links: list the identities of a member, also those of deleted connections, for whoever lists members', async () => {
  const { o, provider, connection, at } = await connected({ jit: 1 });
  const claims = claimsOf(at('bea'));
  const browser = newSsoBrowser();
  await browser.signIn(provider, claims);
  const { id } = (await browser.session()).member;
  const link = { connection_id: connection, issuer: provider.issuer.url, subject: claims.sub };
  const path = `/members/${id}/links`;
  expect((await o.get(path)).json).toMatchObject({
    data: [{ ...link, live: true }],
    has_more: false,
    next_cursor: null,
  });
  await deleteConnection(o, connection);
  expect((await o.get(path)).json.data).toMatchObject([{ ...link, live: false }]);
  const none = await newMember(o, 'viewer');
  expect((await o.get(`/members/${none.id}/links`)).json.data).toEqual([]);
  const reader = await newKey(o, { scopes: ['members:read'] });
  expect((await reader.o.get(path)).json.data).toHaveLength(1);
  const other = await newKey(o, { scopes: ['sso:read'] });
  expect(codeOf(await other.o.get(path))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  const elsewhere = await connected();
  expect(codeOf(await elsewhere.o.get(path))).toEqual([404, 'NOT_FOUND']);
});

it('pages: links come page by page', async () => {
  const { o, provider } = await connected();
  const { id: member_id } = await newMember(o, 'viewer');
  const connection_id = await newConnection(o, provider);
  const issuer = provider.issuer.url;
  await add(
    o,
    'sso_link',
    ['a', 'b', 'c'].map((subject, n) => ({
      id: `lnk_00000000000000000000${n}`,
      member_id,
      connection_id,
      issuer,
      subject,
      created_at: Date.now(),
    })),
  );
  const path = `/members/${member_id}/links`;
  const first = (await o.get(`${path}?limit=2`)).json;
  expect([first.data.length, first.has_more]).toEqual([2, true]);
  const rest = (await o.get(`${path}?limit=2&cursor=${encodeURIComponent(first.next_cursor)}`)).json;
  expect(rest).toMatchObject({ data: [{ subject: 'c' }], has_more: false });
});
