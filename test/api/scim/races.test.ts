// SCIM under races and faults: requests at once leave what one order of them would, and a request that a
// provider repeats after a lost reply does nothing twice.
import { expect, it } from 'vitest';
import type { TeamMemberRow } from '../../../src/db/schema';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newIdp, newUser, person } from '../../support/signin/scim';
import { type Caller, newOrg, useWorld } from '../../support/world';

useWorld();

const membersOf = async (o: Caller) => (await o.get('/members?limit=100')).json.data as { id: string }[];
const placesOf = (o: Caller, id: string) =>
  inCore(o, ({ rows }) => rows.within('team_member', id) as TeamMemberRow[]);
const off = { op: 'replace', value: { active: false } };

it('SCIM: of several creates of one userName or address at once, one succeeds', async () => {
  const o = await newOrg();
  const idp = await newIdp(o);
  const other = await newIdp(o);
  const before = (await membersOf(o)).length;
  const sent = person();
  const answers = await Promise.all([
    ...Array.from({ length: 4 }, () => idp.post('/Users', sent)),
    other.post('/Users', { ...person(), userName: sent.userName }),
    other.post('/Users', { ...person(), emails: sent.emails }),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
  expect(await membersOf(o)).toHaveLength(before + 1);
});

it('SCIM: a change that races a deletion changes the member or finds none, and brings nobody back', async () => {
  const o = await newOrg();
  const idp = await newIdp(o);
  for (const gap of [0, 1, 2, 3]) {
    const { id } = await newUser(idp);
    const group = (await idp.post('/Groups', { displayName: `g${gap}` })).json;
    const joins = { op: 'add', path: 'members', value: [{ value: id }] };
    const requests = [
      () => idp.patch(`/Users/${id}`, off),
      () => idp.put(`/Users/${id}`, { ...person(), active: true }),
      () => idp.patch(`/Groups/${group.id}`, joins),
    ];
    requests.splice(gap, 0, () => idp.del(`/Users/${id}`));
    const answers = await Promise.all(requests.map((request) => request()));
    const deleted = answers.splice(gap, 1)[0]?.status;
    expect(deleted).toBe(204);
    for (const { status } of answers) expect([200, 400, 404]).toContain(status);
    expect((await idp.get(`/Users/${id}`)).status).toBe(404);
    expect((await membersOf(o)).map((one) => one.id)).not.toContain(id);
    expect(await placesOf(o, id)).toEqual([]);
    expect((await idp.get(`/Groups/${group.id}`)).json.members ?? []).toEqual([]);
  }
});

it('SCIM: a group that is deleted while people join it leaves no places', async () => {
  const o = await newOrg();
  const idp = await newIdp(o);
  const { id } = await newUser(idp);
  const group = (await idp.post('/Groups', { displayName: 'g' })).json;
  const joins = { op: 'add', path: 'members', value: [{ value: id }] };
  const [joined, gone] = await Promise.all([
    idp.patch(`/Groups/${group.id}`, joins),
    idp.del(`/Groups/${group.id}`),
  ]);
  expect([200, 404]).toContain(joined?.status);
  expect(gone?.status).toBe(204);
  expect(await placesOf(o, id)).toEqual([]);
});

it.each(['before', 'after'] as const)(
  'SCIM: a request that is cut off (%s it takes effect) and repeated is done once',
  async (fate) => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const before = (await membersOf(o)).length;
    /** Sends a request whose call of the gate fails, and then again. */
    const twice = async (request: () => Promise<{ status: number }>) => {
      const from = faults.gate;
      faults.rpc = (n) => (n === from + 1 ? { fate, retryable: false } : null);
      const first = await request();
      faults.rpc = null;
      return [first.status, (await request()).status];
    };
    const sent = person();
    const isDone = fate === 'after';
    const [cut, again] = await twice(() => idp.post('/Users', sent));
    expect(cut).toBe(503);
    expect(again).toBe(isDone ? 409 : 201);
    expect(await membersOf(o)).toHaveLength(before + 1);
    const found = await idp.get(`/Users?filter=${encodeURIComponent(`userName eq "${sent.userName}"`)}`);
    const { id } = found.json.Resources[0];
    expect(await twice(() => idp.patch(`/Users/${id}`, off))).toEqual([503, 200]);
    expect((await idp.get(`/Users/${id}`)).json.active).toBe(false);
    expect(await twice(() => idp.del(`/Users/${id}`))).toEqual([503, isDone ? 404 : 204]);
    expect(await membersOf(o)).toHaveLength(before);
  },
);
