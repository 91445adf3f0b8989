// Which operation raises what: each is performed once, and what it raises is compared with
// docs/reference/events.md. Refusals, replays and changes that change nothing raise nothing.
import { beforeEach, describe, expect, it } from 'vitest';
import page from '../../../docs/reference/events.md?raw';
import { type EventType, eventTypes, type StoredEvent } from '../../../src/gate/outbox';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { approvalIn, approve, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { checkpoint } from '../../support/governance/audit';
import { newPolicy } from '../../support/governance/policies';
import { newStream } from '../../support/integrations/log-streams';
import { newUpstream } from '../../support/integrations/upstreams';
import { newGrant, newMember, newTeam } from '../../support/people';
import { newSignedIn } from '../../support/signin/browser';
import { newDevice } from '../../support/signin/device';
import { newIssuer, newTrust } from '../../support/signin/issuers';
import { newDomain } from '../../support/signin/sso';
import { few, slow } from '../../support/slow';
import { DAY, MINUTE } from '../../support/time';
import { BOOTSTRAP, type Caller, GENERATED, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();
beforeEach(() => {
  faults.clock = Math.ceil(Date.now() / MINUTE) * MINUTE + 1000;
});

/** Kinds that the domains of this list raise, and test. */
const ELSEWHERE: EventType[] = ['SECRET_SHARED', 'SECRET_LEAKED', 'WEBHOOK_DISABLED', 'LOG_STREAM_DISABLED'];

const later = (ms: number) => {
  faults.clock = (faults.clock ?? 0) + ms;
};
const run = (o: Caller) =>
  inCore(o, async (core) => {
    for (let turn = 0; turn < 6; turn++) await runTasks(core);
  });
const raisedSince = (o: Caller, head: number): Promise<StoredEvent[]> =>
  inCore(o, ({ outbox }) => outbox.from(head, 1000));
const headOf = (o: Caller) => inCore(o, ({ outbox }) => outbox.head());
/** What is raised while something is done. */
async function during(o: Caller, work: () => Promise<unknown>): Promise<StoredEvent[]> {
  const head = await headOf(o);
  await work();
  return raisedSince(o, head);
}

const newNaming = (o: Caller) => newPolicy(o, 'naming', { pattern: '^app/' });
const newTrusted = async (o: Caller) => newTrust(o, await newIssuer());

/** A prepared step: what it does, then what it raises by the table. */
type Step = (o: Caller) => Promise<{ o?: Caller; work(): Promise<unknown> }>;
const soon = { ttlSeconds: (8 * DAY) / 1000 };
const issue = (fields: object) => async (o: Caller) => {
  const { token } = await newProvider(o);
  return {
    work: () =>
      send('POST', '/api/v1/provider/issue', {
        token,
        body: { environment: 'production', value: 'v', ttlSeconds: 600, ...fields },
      }),
  };
};
const provide = (verb: string, fields: object) => async (o: Caller) => {
  const { token } = await newProvider(o);
  const { name } = await newSecret(o);
  return {
    work: () =>
      send('POST', `/api/v1/provider/${verb}`, {
        token,
        body: { environment: 'production', secretName: name, ...fields },
      }),
  };
};
const onSecret =
  (work: (o: Caller, id: string) => Promise<unknown>, fields = {}) =>
  async (o: Caller) => {
    const { id } = await newSecret(o, fields);
    return { work: () => work(o, id) };
  };
const onNew =
  <T extends { id: string }>(
    make: (o: Caller) => Promise<T>,
    work: (o: Caller, made: T) => Promise<unknown>,
  ) =>
  async (o: Caller) => {
    const made = await make(o);
    return { work: () => work(o, made) };
  };
const just = (work: (o: Caller) => Promise<unknown>) => async (o: Caller) => ({ work: () => work(o) });
const held = (decide: 'approve' | 'reject' | 'cancel' | null) => async () => {
  const { o, ann, asked } = await newOffice();
  await newApprovalPolicy(o, ['secret.rotate']);
  const { id } = await newSecret(o);
  const ask = () => asked.post(`/secrets/${id}/rotate`, { value: 'second' });
  if (decide === null) return { o, work: ask };
  const approval = approvalIn(await ask()).id;
  const answers = {
    approve: () => approve(ann, approval),
    reject: () => ann.o.post(`/approvals/${approval}/reject`),
    cancel: () => asked.post(`/approvals/${approval}/cancel`),
  };
  return { o, work: answers[decide] };
};

/** By what an audit entry calls it, or in words; several ways of one are numbered. */
const steps: Record<string, [EventType[], Step]> = {
  'secret.create': [['SECRET_CREATED'], just((o) => newSecret(o))],
  'secret.create by name': [
    ['SECRET_CREATED'],
    just((o) => o.call('PUT', '/secrets/by-name/a-name', { value: 'v' })),
  ],
  'secret.update a value': [
    ['SECRET_UPDATED'],
    onSecret((o, id) => o.patch(`/secrets/${id}`, { value: 'second' })),
  ],
  'secret.update metadata': [
    ['SECRET_UPDATED'],
    onSecret((o, id) => o.patch(`/secrets/${id}`, { description: 'x' })),
  ],
  'secret.rollback': [
    ['SECRET_UPDATED'],
    onSecret((o, id) => o.post(`/secrets/${id}/rollback`, { version: 1 })),
  ],
  'secret.rotate': [
    ['SECRET_ROTATED'],
    onSecret((o, id) => o.post(`/secrets/${id}/rotate`, { value: 'second' })),
  ],
  'secret.rotate to a generated value': [
    ['SECRET_ROTATED'],
    onSecret((o, id) => o.post(`/secrets/${id}/rotate`), GENERATED),
  ],
  'provider.issue a new name': [['SECRET_CREATED'], issue({ secretName: 'issued' })],
  'provider.issue an existing name': [
    ['SECRET_ROTATED'],
    async (o) => issue({ secretName: (await newSecret(o)).name })(o),
  ],
  'provider.rotate': [['SECRET_ROTATED'], provide('rotate', { newValue: 'second' })],
  'provider.revoke': [['SECRET_REVOKED'], provide('revoke', {})],
  'secret.delete': [['SECRET_DELETED'], onSecret((o, id) => o.del(`/secrets/${id}`))],
  'secret.delete for good': [['SECRET_DELETED'], onSecret((o, id) => o.del(`/secrets/${id}?permanent=true`))],
  'secret.restore': [
    ['SECRET_RESTORED'],
    async (o) => {
      const { id } = await newSecret(o);
      await o.del(`/secrets/${id}`);
      return { work: () => o.post(`/secrets/${id}/restore`) };
    },
  ],
  'secret.expiring': [
    ['SECRET_EXPIRING'],
    onSecret(async (o) => {
      later(DAY);
      await run(o);
    }, soon),
  ],
  'secret.expired': [
    ['SECRET_EXPIRED'],
    onSecret(
      async (o) => {
        later(DAY);
        await run(o);
      },
      { ttlSeconds: 60 },
    ),
  ],
  'secret.rotation_due': [
    ['SECRET_ROTATION_DUE'],
    onSecret(
      async (o) => {
        later(2 * DAY);
        await inCore(o, ({ schedule, now }) => schedule.at('rotation', now()));
        await run(o);
      },
      { rotate_every_seconds: DAY / 1000 },
    ),
  ],
  'api_key.create': [['CREDENTIAL_CREATED'], just((o) => newKey(o))],
  'api_key.rotate': [
    ['CREDENTIAL_CREATED'],
    onNew(newKey, (o, { id }) => o.post(`/api-keys/${id}/rotate`, { overlap_seconds: 60 })),
  ],
  'api_key.revoke': [['CREDENTIAL_REVOKED'], onNew(newKey, (o, { id }) => o.del(`/api-keys/${id}`))],
  'agent.create': [['CREDENTIAL_CREATED'], just((o) => newAgent(o))],
  'agent.revoke': [['CREDENTIAL_REVOKED'], onNew(newAgent, (o, { id }) => o.del(`/agent-credentials/${id}`))],
  'provider_token.create': [['CREDENTIAL_CREATED'], just((o) => newProvider(o))],
  'provider_token.revoke': [
    ['CREDENTIAL_REVOKED'],
    onNew(newProvider, (o, { id }) => o.del(`/provider-tokens/${id}`)),
  ],
  'break_glass.create': [['BREAK_GLASS_ISSUED'], just((o) => newBreakGlass(o))],
  'break_glass.revoke': [
    ['CREDENTIAL_REVOKED'],
    onNew(newBreakGlass, (o, { id }) => o.del(`/break-glass-tokens/${id}`)),
  ],
  'any request with a break-glass token': [
    ['BREAK_GLASS_USED'],
    onNew(newBreakGlass, (_o, token) => token.o.get('/secrets')),
  ],
  'credential.expiring': [
    ['CREDENTIAL_EXPIRING'],
    onNew(
      (o) => newAgent(o, soon),
      async (o) => {
        later(DAY);
        await run(o);
      },
    ),
  ],
  'credential.contain': [
    ['INCIDENT_OPENED', 'CREDENTIAL_REVOKED'],
    onNew(newKey, (o, { id }) => o.post(`/credentials/${id}/contain`, {})),
  ],
  'org.panic': [
    ['CREDENTIAL_REVOKED', 'INCIDENT_OPENED', 'CREDENTIAL_CREATED'],
    just((o) => o.post('/panic', { reason: 'stolen', api_keys: true })),
  ],
  'org.recover': [
    ['ORG_RECOVERED', 'CREDENTIAL_CREATED'],
    just((o) =>
      send('POST', `/api/v1/orgs/${o.id}/recovery`, {
        token: BOOTSTRAP,
        body: { reason: 'the key is lost' },
      }),
    ),
  ],
  'member.enrol': [
    ['ENROLMENT_CREATED'],
    onNew(newMember, (o, { id }) => o.post(`/members/${id}/enrolments`)),
  ],
  'member.create': [['MEMBER_ADDED'], just((o) => newMember(o))],
  'member.update': [
    ['MEMBER_CHANGED'],
    onNew(newMember, (o, { id }) => o.patch(`/members/${id}`, { role: 'viewer' })),
  ],
  'member.update a name': [
    ['MEMBER_CHANGED'],
    onNew(newMember, (o, { id }) => o.patch(`/members/${id}`, { name: 'Other' })),
  ],
  'member.suspend': [['MEMBER_CHANGED'], onNew(newMember, (o, { id }) => o.post(`/members/${id}/suspend`))],
  'member.resume': [
    ['MEMBER_CHANGED'],
    async (o) => {
      const { id } = await newMember(o);
      await o.post(`/members/${id}/suspend`);
      return { work: () => o.post(`/members/${id}/resume`) };
    },
  ],
  'member.delete with its grants': [
    ['MEMBER_REMOVED', 'GRANT_REMOVED'],
    async (o) => {
      const { id } = await newMember(o);
      await newGrant(o, 'member', id);
      return { work: () => o.del(`/members/${id}`) };
    },
  ],
  'team.delete with its grants': [
    ['GRANT_REMOVED'],
    async (o) => {
      const id = await newTeam(o);
      await newGrant(o, 'team', id);
      return { work: () => o.del(`/teams/${id}`) };
    },
  ],
  'grant.create': [['GRANT_CREATED'], onNew(newMember, (o, { id }) => newGrant(o, 'member', id))],
  'grant.delete': [
    ['GRANT_REMOVED'],
    async (o) => {
      const { id } = await newGrant(o, 'member', (await newMember(o)).id);
      return { work: () => o.del(`/grants/${id}`) };
    },
  ],
  'policy.create': [['POLICY_CREATED'], just((o) => newPolicy(o, 'naming', { pattern: '^app/' }))],
  'policy.update': [
    ['POLICY_CHANGED'],
    onNew(newNaming, (o, { id }) => o.patch(`/policies/${id}`, { enabled: false })),
  ],
  'policy.delete': [['POLICY_REMOVED'], onNew(newNaming, (o, { id }) => o.del(`/policies/${id}`))],
  'trust.create': [['CREDENTIAL_CREATED'], just(newTrusted)],
  'trust.update': [
    ['TRUST_CHANGED'],
    onNew(newTrusted, (o, { id }) => o.patch(`/trusts/${id}`, { claims: { sub: 'repo:acme/app:main' } })),
  ],
  'trust.delete': [['CREDENTIAL_REVOKED'], onNew(newTrusted, (o, { id }) => o.del(`/trusts/${id}`))],
  'domain.create': [['SSO_CHANGED'], just((o) => newDomain(o))],
  'domain.delete': [['SSO_CHANGED'], onNew(newDomain, (o, { id }) => o.del(`/domains/${id}`))],
  'a name that a naming policy refuses': [
    ['POLICY_VIOLATED'],
    async (o) => {
      await newPolicy(o, 'naming', { pattern: '^app/' });
      return { work: () => o.post('/secrets', { name: 'wrong', type: 'generic', value: 'v' }) };
    },
  ],
  'a request that an approval policy holds': [['APPROVAL_REQUESTED'], held(null)],
  'approval.approve': [['APPROVAL_DECIDED'], held('approve')],
  'approval.reject': [['APPROVAL_DECIDED'], held('reject')],
  'approval.cancel': [['APPROVAL_DECIDED'], held('cancel')],
  'log_stream.create': [['LOG_STREAM_CHANGED'], just((o) => newStream(o))],
  'log_stream.update': [
    ['LOG_STREAM_CHANGED'],
    onNew(
      (o) => newStream(o),
      (o, { id }) => o.patch(`/log-streams/${id}`, { name: 'Other' }),
    ),
  ],
  'log_stream.delete': [
    ['LOG_STREAM_CHANGED'],
    onNew(
      (o) => newStream(o),
      (o, { id }) => o.del(`/log-streams/${id}`),
    ),
  ],
  'upstream.create': [
    ['UPSTREAM_CHANGED'],
    onNew(
      (o) => newSecret(o),
      (o, { name }) => newUpstream(o, {}, name),
    ),
  ],
  'upstream.update': [
    ['UPSTREAM_CHANGED'],
    onNew(
      (o) => newUpstream(o),
      (o, { id }) => o.patch(`/upstreams/${id}`, { rate_limit: 1 }),
    ),
  ],
  'upstream.delete': [
    ['UPSTREAM_CHANGED'],
    onNew(
      (o) => newUpstream(o),
      (o, { id }) => o.del(`/upstreams/${id}`),
    ),
  ],
  'device.create': [['DEVICE_REGISTERED'], just((o) => newDevice(o))],
  'device.assign to a member': [
    ['DEVICE_ASSIGNED'],
    async (o) => {
      const { id } = await newDevice(o);
      const member = await newMember(o);
      return { work: () => o.post(`/devices/${id}/assign`, { member_id: member.id }) };
    },
  ],
  'device.assign to nobody': [
    ['DEVICE_UNASSIGNED'],
    async (o) => {
      const { id } = await newDevice(o);
      await o.post(`/devices/${id}/assign`, { member_id: (await newMember(o)).id });
      return { work: () => o.post(`/devices/${id}/assign`, { member_id: null }) };
    },
  ],
  'device.block': [['DEVICE_BLOCKED'], onNew(newDevice, (o, { id }) => o.post(`/devices/${id}/block`))],
  'device.delete': [['DEVICE_REMOVED'], onNew(newDevice, (o, { id }) => o.del(`/devices/${id}`))],
  'audit.checkpoint': [['AUDIT_CHECKPOINT'], just((o) => checkpoint(o))],
};

/** The table of the page: what raises each kind, and an example. */
const documented = new Map(
  page
    .split('\n')
    .filter((line) => /^\| `[A-Z_]+` /.test(line))
    .map((line) => line.slice(2, -2).split(' | '))
    .map(([kind = '', by = '', example = '']) => [
      kind.replaceAll('`', '') as EventType,
      { by, data: JSON.parse(example.replaceAll('`', '')) as object },
    ]),
);
const actionOf = (what: string) => (/^[a-z_]+\.[a-z_]+/.exec(what) ?? [what])[0];

describe('events: their causes', () => {
  it('the page lists each kind once, with an example', () => {
    expect([...documented.keys()].sort()).toEqual(
      eventTypes.filter((type) => !ELSEWHERE.includes(type)).sort(),
    );
  });

  it.each(few(Object.keys(steps), 21))('%s', async (what) => {
    const [expected, prepare] = steps[what] as [EventType[], Step];
    const org = await newOrg();
    const { o = org, work } = await prepare(org);
    const raised = await during(o, work);
    expect(raised.map(({ type }) => type)).toEqual(expected);
    for (const { type, data } of raised) {
      const { by, data: example } = documented.get(type) as { by: string; data: object };
      expect(by).toContain(actionOf(what));
      if (!('all' in data) && type !== 'APPROVAL_DECIDED')
        expect(Object.keys(data).sort()).toEqual(Object.keys(example).sort());
      expect(JSON.stringify(data).length).toBeLessThan(20_000);
    }
  });

  slow('auth.enrol', async () => {
    const { o } = await newSignedIn();
    expect((await raisedSince(o, 0)).map(({ type }) => type)).toEqual([
      'MEMBER_ADDED',
      'CREDENTIAL_CREATED',
      'MEMBER_ENROLLED',
    ]);
  });

  slow('member.delete with revoke_credentials', async () => {
    const { o, bob } = await newOffice();
    const found = await during(o, () => o.del(`/members/${bob.member.id}?revoke_credentials=true`));
    expect(found.map(({ type }) => type)).toEqual(['CREDENTIAL_REVOKED', 'MEMBER_REMOVED']);
  });

  const quiet: [string, (o: Caller) => Promise<{ work(): Promise<unknown> }>][] = [
    ['a read', onSecret((o, id) => o.get(`/secrets/${id}`))],
    [
      'a member who joins a team, and one with the same name',
      onNew(newMember, async (o, { id }) => {
        const { name } = (await o.get(`/members/${id}`)).json;
        await newTeam(o, id);
        return o.patch(`/members/${id}`, { name });
      }),
    ],
    ['a session token', just((o) => newSession(o))],
    [
      'a value that is there already',
      onSecret(async (o, id) =>
        o.patch(`/secrets/${id}`, { value: (await o.get(`/secrets/${id}`)).json.value }),
      ),
    ],
    [
      'metadata that is there already',
      onSecret((o, id) => o.patch(`/secrets/${id}`, { description: 'x' }), { description: 'x' }),
    ],
    [
      'a name that is taken',
      onSecret(async (o, id) =>
        newSecret(o, { name: (await o.get(`/secrets/${id}`)).json.name }).catch(() => null),
      ),
    ],
    [
      'a version that is stale',
      onSecret((o, id) => o.patch(`/secrets/${id}`, { value: 'x' }, { 'If-Match': '"v9"' })),
    ],
    ['a secret that is not there', just((o) => o.del('/secrets/sec_0000000000000000000000'))],
    ['a body that is not valid', just((o) => o.post('/secrets', { name: 1 }))],
    [
      'a key that is revoked already',
      async (o) => {
        const { id } = await newKey(o);
        await o.del(`/api-keys/${id}`);
        return { work: () => o.del(`/api-keys/${id}`) };
      },
    ],
    [
      'a caller who may not',
      async (o) => {
        const { id } = await newSecret(o);
        const key = await newKey(o, { scopes: ['secrets:list'] });
        return { work: () => key.o.del(`/secrets/${id}`) };
      },
    ],
    [
      'a replay',
      async (o) => {
        const body = { name: 'once', type: 'generic', value: 'v' };
        await o.post('/secrets', body, { 'Idempotency-Key': 'k' });
        return { work: () => o.post('/secrets', body, { 'Idempotency-Key': 'k' }) };
      },
    ],
  ];
  it.each(quiet)('nothing: %s', async (_what, prepare) => {
    const o = await newOrg();
    const { work } = await prepare(o);
    expect(await during(o, work)).toEqual([]);
  });
});
