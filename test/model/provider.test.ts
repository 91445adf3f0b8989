// Random histories of one name, by providers and people, against a model of a few lines: which version is
// current, what can be read at which time, and what was revoked for good.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { faults } from '../support/faults';
import { runs } from '../support/slow';
import { newOrg, send, useWorld } from '../support/world';
import { problemOf } from './invariants';

useWorld();

/** A secret as its history says; `values[n - 1]` is version n's. */
interface Model {
  values: string[];
  expires: number | null;
  lifetime: number | null;
  revoked: boolean;
  revokedThrough: number;
}

type Step =
  | { do: 'issue'; ttl: number }
  | { do: 'rotate' | 'revoke' | 'delete' | 'rotate by hand' }
  | { do: 'roll back'; version: number }
  | { do: 'live'; ttl: number | null }
  | { do: 'wait'; seconds: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('issue' as const), ttl: fc.constantFrom(60, 61, 600) }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constantFrom('rotate', 'rotate', 'rotate', 'revoke', 'revoke', 'delete', 'rotate by hand'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('roll back' as const), version: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('live' as const), ttl: fc.constantFrom(null, 1, 90) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1, 59, 60, 61, 600) }),
  },
) as fc.Arbitrary<Step>;

/**
 * What the current version, and each version by its number, answers: its value, or the code of the refusal.
 */
function readable(model: Model, now: number): string[] {
  const all = model.values.map((value, i) => (i + 1 <= model.revokedThrough ? 'SECRET_REVOKED' : value));
  const over = model.revoked
    ? 'SECRET_REVOKED'
    : model.expires !== null && model.expires <= now
      ? 'SECRET_EXPIRED'
      : null;
  return over ? all.map(() => over) : all;
}

async function run(steps: Step[]) {
  const o = await newOrg();
  const { token } = (await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] }))
    .json;
  const name = { secretName: 'db/password', environment: 'production' };
  const provider = (verb: string, body: object) =>
    send('POST', `/api/v1/provider/${verb}`, { token, body: { ...name, ...body } });
  let clock = Math.ceil(Date.now() / 1000) * 1000;
  faults.clock = clock;
  let model: Model | null = null;
  let id = '';
  const next = (value: string) => model?.values.push(value);
  const alive = () => model !== null && !model.revoked && (model.expires === null || model.expires > clock);

  for (const [i, one] of steps.entries()) {
    const value = `value ${i}`;
    if (one.do === 'wait') {
      clock += one.seconds * 1000;
      faults.clock = clock;
    } else if (one.do === 'issue') {
      const answer = await provider('issue', { value, ttlSeconds: one.ttl });
      expect(answer.status).toBe(model ? 200 : 201);
      model ??= { values: [], expires: null, lifetime: null, revoked: false, revokedThrough: 0 };
      next(value);
      Object.assign(model, { expires: clock + one.ttl * 1000, lifetime: one.ttl, revoked: false });
      if (id) expect(answer.json.secretId).toBe(id);
      id = answer.json.secretId;
      expect(answer.json).toMatchObject({
        version: model.values.length,
        expiresAt: new Date(model.expires as number).toISOString(),
      });
    } else if (one.do === 'rotate') {
      const answer = await provider('rotate', { newValue: value });
      expect(answer.status).toBe(!model ? 404 : model.revoked ? 409 : 200);
      if (!model || model.revoked) continue;
      next(value);
      model.expires = model.lifetime === null ? null : clock + model.lifetime * 1000;
      expect(answer.json).toMatchObject({
        version: model.values.length,
        expiresAt: model.expires === null ? null : new Date(model.expires).toISOString(),
      });
    } else if (one.do === 'revoke') {
      const answer = await provider('revoke', {});
      expect(answer.status).toBe(model ? 200 : 404);
      if (model && !model.revoked)
        Object.assign(model, { revoked: true, revokedThrough: model.values.length });
    } else if (id === '' || !model) continue;
    else if (one.do === 'delete') {
      expect((await o.del(`/secrets/${id}`)).status).toBe(204);
      id = '';
      model = null;
    } else if (one.do === 'rotate by hand') {
      const answer = await o.post(`/secrets/${id}/rotate`, { value });
      expect(answer.status).toBe(alive() ? 200 : 410);
      if (alive()) next(value);
    } else if (one.do === 'roll back') {
      const answer = await o.post(`/secrets/${id}/rollback`, { version: one.version });
      const isThere = one.version <= model.values.length;
      expect(answer.status).toBe(
        !alive() ? 410 : !isThere ? 404 : one.version <= model.revokedThrough ? 410 : 200,
      );
      if (answer.status === 200) next(model.values[one.version - 1] as string);
    } else if (one.do === 'live') {
      const answer = await o.patch(`/secrets/${id}`, { ttlSeconds: one.ttl });
      expect(answer.status).toBe(model.revoked ? 410 : 200);
      if (!model.revoked)
        Object.assign(model, {
          expires: one.ttl === null ? null : clock + one.ttl * 1000,
          lifetime: one.ttl,
        });
    }

    const { status, json } = await o.get('/secrets/by-name/db/password');
    const bulk = (await o.get('/environments/production/values')).json.values;
    if (!model) {
      expect([status, bulk]).toEqual([404, {}]);
      continue;
    }
    const expected = readable(model, clock);
    expect(json.value ?? json.error.code).toBe(expected.at(-1));
    expect(bulk).toEqual(status === 200 ? { 'db/password': expected.at(-1) } : {});
    const versions = await Promise.all(expected.map((_, n) => o.get(`/secrets/${id}?version=${n + 1}`)));
    expect(versions.map((answer) => answer.json.value ?? answer.json.error.code)).toEqual(expected);
  }
  expect(await problemOf(o)).toBe(null);
}

it('model: every history of a provider name agrees with it, to the second', {
  timeout: 120_000,
}, async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), run), {
    numRuns: runs(60, 4),
  });
});
