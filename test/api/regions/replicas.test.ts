// Replicas: reads answered in the caller's region. None is stale, none is admitted that its gate would
// refuse, and each has one audit entry.
import { describe, expect, it } from 'vitest';
import { leases } from '../../../src/gate/replicas/leases';
import { dismiss } from '../../../src/gate/replicas/serve';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore, loseStorage } from '../../support/gate';
import { slow } from '../../support/slow';
import { from, inReplica, regionOf, replicated, silence, warm } from '../../support/storage/replicas';
import { codeOf, newSecret, useWorld } from '../../support/world';

useWorld();

describe('replicas', () => {
  it('a replica answers reads of a secret, by id and by name, values, lists and whoami', async () => {
    const o = await replicated();
    const { id, name } = await newSecret(o, { value: 'one' });
    for (const path of [
      `/secrets/${id}`,
      `/secrets/by-name/${name}`,
      '/environments/production/values',
      '/secrets',
    ]) {
      const { json, status } = await warm(o, path, 'oc');
      const { json: atGate } = await o.get(path);
      expect([status, json]).toEqual([200, atGate]);
    }
  });

  slow('a change is seen by the next read, whoever answers', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'value 0' });
    for (const region of ['weur', 'oc']) await warm(o, `/secrets/${id}`, region);
    const answered = new Set<string | null>();
    for (let n = 1; n < 30; n++) {
      await o.patch(`/secrets/${id}`, { value: `value ${n}` });
      for (const region of ['weur', 'oc', 'none']) {
        const answer = await o.get(`/secrets/${id}`, from(region));
        expect(answer.json.value).toBe(`value ${n}`);
        answered.add(regionOf(answer));
      }
    }
    await warm(o, `/secrets/${id}`, 'oc');
    expect([...answered]).toContain('gate');
  });

  slow('revocation: no request is admitted after the reply, from any region', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    for (let n = 0; n < 5; n++) {
      const key = await newKey(o);
      for (const region of ['weur', 'oc']) await warm(key.o, `/secrets/${id}`, region);
      expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
      for (const region of ['weur', 'oc', 'none'])
        expect(codeOf(await key.o.get(`/secrets/${id}`, from(region)))).toEqual([401, 'TOKEN_REVOKED']);
    }
  });

  it('a replica that says nothing costs a second', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    await warm(o, `/secrets/${id}`, 'oc');
    await inReplica(o, 'oc', (replica) => {
      replica.answer = () => new Promise(() => {});
    });
    const answer = await o.get(`/secrets/${id}`, from('oc'));
    expect([answer.status, regionOf(answer)]).toEqual([200, 'gate']);
  });

  it('audit: each answered read has one entry, which names its region', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    await warm(o, `/secrets/${id}`, 'oc');
    const ids = new Map<string | null, string | null>();
    for (let n = 0; n < 10; n++) {
      const answer = await o.get(`/secrets/${id}`, from('oc'));
      ids.set(answer.headers.get('request-id'), regionOf(answer));
    }
    await new Promise((done) => setTimeout(done, 1500));
    const { data } = (await o.get(`/audit-log?action=secret.read&limit=100`)).json;
    for (const [request, region] of ids) {
      const entries = data.filter((one: { request_id: string }) => one.request_id === request);
      expect(entries).toHaveLength(1);
      expect(entries[0].region).toBe(region === 'gate' ? undefined : region);
    }
    expect([...ids.values()]).toContain('oc');
  });
});

describe('replicas: rate limits', () => {
  slow(
    'requests over all regions are never more than the limit, and no fewer while all regions answer',
    async () => {
      const o = await replicated();
      const { id } = await newSecret(o, { value: 'one' });
      const agent = (
        await o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'], rate_limit: 60 })
      ).json;
      let admitted = 0;
      const answered = new Set<string | null>();
      for (let n = 0; n < 90; n++) {
        const answer = await o
          .as(agent.token)
          .get(`/secrets/${id}`, from(['weur', 'oc', 'none'][n % 3] as string));
        if (answer.status === 200) admitted++;
        else expect(codeOf(answer)).toEqual([429, 'RATE_LIMITED']);
        answered.add(regionOf(answer));
      }
      expect(admitted).toBe(60);
      expect(answered).toContain('oc');
    },
  );
});

describe('replicas: regions', () => {
  it('attack: a session that ends is refused by the replica of a region that was just taken out', async () => {
    const o = await replicated(['oc']);
    const { id } = await newSecret(o);
    const session = await newSession(o);
    await warm(session.o, `/secrets/${id}`, 'oc');
    // The replica is not told to leave yet.
    faults.isAlarmHeld = true;
    expect((await o.patch('', { regions: [] })).headers.get('svc-regions-waited-out')).toBeNull();
    expect((await o.del(`/access-tokens/${session.id}`)).status).toBe(204);
    await inReplica(o, 'oc', ({ core, lease }) => {
      expect(lease?.until).toBeGreaterThan(Date.now());
      expect(core.rows.get('credential', session.id)?.revoked_at).not.toBeNull();
    });
  });

  slow('a region that is taken out answers no more, and its replica deletes what it holds', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    await warm(o, `/secrets/${id}`, 'oc');
    const { json } = await o.get('');
    expect(json.replicas).toMatchObject([
      { region: 'weur', status: 'starting' },
      { region: 'oc', status: 'serving', behind: 0 },
    ]);
    await o.patch('', { regions: ['weur'] });
    expect(regionOf(await o.get(`/secrets/${id}`, from('oc')))).not.toBe('oc');
    await inCore(o, async (core) => {
      for (let tries = 0; leases(core).regions().includes('oc') && tries < 100; tries++) {
        await new Promise((done) => setTimeout(done, 100));
        await dismiss(core, core.now());
      }
      expect(leases(core).regions()).not.toContain('oc');
    });
  });

  slow(
    'a replica that does not acknowledge delays a change until its lease has ended, and is named',
    async () => {
      const o = await replicated();
      const { id } = await newSecret(o, { value: 'one' });
      await warm(o, `/secrets/${id}`, 'oc');
      await inCore(o, silence);
      const changed = await o.patch(`/secrets/${id}`, { value: 'two' });
      expect(changed.status).toBe(200);
      expect(changed.headers.get('svc-regions-waited-out')).toBe('oc');
      for (const region of ['weur', 'oc', 'none'])
        expect((await o.get(`/secrets/${id}`, from(region))).json.value).toBe('two');
      const { data } = (await o.get('/audit-log?action=region.late')).json;
      expect(data[0].request_id).toBe(changed.headers.get('request-id'));
    },
  );
});

describe('replicas: the gate ends', () => {
  slow(
    'a change that no replica had acknowledged is not told by the next gate before their leases have ended',
    async () => {
      const o = await replicated();
      const { id } = await newSecret(o, { value: 'one' });
      await warm(o, `/secrets/${id}`, 'oc');
      await inCore(o, silence);
      const changed = o.patch(`/secrets/${id}`, { value: 'two' }).catch(() => null);
      await new Promise((done) => setTimeout(done, 50));
      await evict(o).catch(() => {});
      const [first, second] = await Promise.all([
        o.get(`/secrets/${id}`, from('none')),
        o.get(`/secrets/${id}`, from('oc')),
      ]);
      // Whoever answers after the gate told the new value has it too.
      if (first.json.value === 'two')
        expect((await o.get(`/secrets/${id}`, from('oc'))).json.value).toBe('two');
      expect(['one', 'two']).toContain(second.json.value);
      await changed;
    },
  );

  slow('a gate that lost its storage waits for all regions', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    await warm(o, `/secrets/${id}`, 'oc');
    await loseStorage(o);
    await o.patch(`/secrets/${id}`, { value: 'two' });
    for (const region of ['oc', 'none', 'weur'])
      expect((await o.get(`/secrets/${id}`, from(region))).json.value).toBe('two');
    await warm(o, `/secrets/${id}`, 'oc');
  });
});
