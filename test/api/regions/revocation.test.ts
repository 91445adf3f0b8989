// Revocation with replicas: of requests that are under way from all regions, none that begins after the reply
// to a revocation is admitted. TRIALS says how often each kind is tried: a few times in npm test, more in npm
// run test:long.
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { signIn } from '../../support/signin/browser';
import { newDevice, provenBy } from '../../support/signin/device';
import { newIssuer, newTrust, newWorkload } from '../../support/signin/issuers';
import { few } from '../../support/slow';
import { from, regionOf, replicated } from '../../support/storage/replicas';
import { type Answer, type Caller, newSecret, useWorld } from '../../support/world';

useWorld();

const { TRIALS } = env as unknown as { TRIALS?: string };
const trials = Number(TRIALS || 2);
const REGIONS = ['weur', 'enam', 'oc'];
/**
 * Trials of an organisation: its first key has a rate limit, which all reads of a trial may count against.
 */
const PER_ORG = 25;
/** How often one waits for an answer of a replica. */
const MOST_READS = 12;

interface Trial {
  /** Who reads. */
  readers: Pick<Caller, 'get'>[];
  end(): Promise<Answer>;
}

const kinds: Record<string, (o: Caller) => Promise<Trial>> = {
  async 'API key'(o) {
    const key = await newKey(o);
    const session = await newSession(key.o);
    return { readers: [key.o, session.o], end: () => o.del(`/api-keys/${key.id}`) };
  },
  async session(o) {
    const session = await newSession(o);
    return { readers: [session.o], end: () => o.del(`/access-tokens/${session.id}`) };
  },
  async agent(o) {
    const agent = await newAgent(o);
    return { readers: [agent.o], end: () => o.del(`/agent-credentials/${agent.id}`) };
  },
  async member(o) {
    const { member, token } = await signIn(o, 'developer');
    return { readers: [o.as(token)], end: () => o.del(`/members/${member?.id}`) };
  },
  async 'suspended member'(o) {
    const { member, token } = await signIn(o, 'developer');
    return { readers: [o.as(token)], end: () => o.post(`/members/${member?.id}/suspend`) };
  },
  async device(o) {
    const { id, keys } = await newDevice(o);
    const { token } = await newSession(o, { device_id: id });
    return { readers: [provenBy(o.as(token), keys)], end: () => o.post(`/devices/${id}/block`) };
  },
  async trust(o) {
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const { o: workload } = await newWorkload(o, trust, await issuer.sign());
    return { readers: [workload], end: () => o.del(`/trusts/${trust.id}`) };
  },
  async contain(o) {
    const key = await newKey(o);
    const session = await newSession(key.o);
    return { readers: [key.o, session.o], end: () => o.post(`/credentials/${key.id}/contain`) };
  },
  async panic(o) {
    const agent = await newAgent(o);
    const session = await newSession(o);
    return { readers: [agent.o, session.o], end: () => o.post('/panic', { reason: 'a drill' }) };
  },
};

/** Reads all the time from a region. Says which answers were to requests that began after the end. */
function readingFrom(reader: Pick<Caller, 'get'>, path: string, region: string) {
  const state = { hasEnded: false, isOver: false, byReplica: 0, reads: 0 };
  const late: number[] = [];
  const run = async () => {
    for (let after = 0; after < 2 && !state.isOver; ) {
      const isLate = state.hasEnded;
      const answer = await reader.get(path, from(region));
      await new Promise((done) => setTimeout(done, 5));
      state.reads++;
      if (regionOf(answer) === region) state.byReplica++;
      if (isLate) {
        late.push(answer.status);
        after++;
      }
    }
  };
  return { state, late, done: run() };
}

/** Tries it once. Returns how many requests replicas answered, and how many were made. */
async function tryOnce(o: Caller, path: string, make: (o: Caller) => Promise<Trial>) {
  const { readers, end } = await make(o);
  const reading = REGIONS.map((region, at) =>
    readingFrom(readers[at % readers.length] as Trial['readers'][number], path, region),
  );
  const isWarm = () => reading.every(({ state }) => state.byReplica > 0 || state.reads >= MOST_READS);
  while (!isWarm()) await new Promise((done) => setTimeout(done, 5));
  const { status, text } = await end();
  for (const { state } of reading) state.hasEnded = true;
  expect([200, 204], text).toContain(status);
  await Promise.all(reading.map(({ done }) => done));
  for (const { late } of reading) expect(late).toEqual([401, 401]);
  return {
    byReplicas: reading.reduce((sum, { state }) => sum + state.byReplica, 0),
    reads: reading.reduce((sum, { state }) => sum + state.reads, 0),
  };
}

describe('revocation: with reads under way from all regions, none is admitted after the reply', () => {
  for (const [kind, make] of few(Object.entries(kinds), 3))
    it(`${kind}, ${trials} times`, { timeout: 60_000 + trials * 10_000 }, async () => {
      const all = { reads: 0, byReplicas: 0 };
      for (let done = 0; done < trials; ) {
        const o = await replicated(REGIONS);
        const { id } = await newSecret(o, { value: 'one' });
        for (let n = 0; n < PER_ORG && done < trials; n++, done++) {
          const { reads, byReplicas } = await tryOnce(o, `/secrets/${id}`, make);
          all.reads += reads;
          all.byReplicas += byReplicas;
        }
      }
      // A bound credential is the gate's.
      if (kind !== 'device') expect(all.byReplicas).toBeGreaterThan(0);
      console.log(`${kind}: ${trials} trials, ${all.reads} reads, ${all.byReplicas} by replicas`);
    });
});
