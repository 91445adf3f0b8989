// A client of a recording, and what all clients know. Each operation is added to the history of its objects.
import { isAnswered, isOpen } from './caller.mjs';

/** How long clients use the same names, in milliseconds. New ones keep the history of each short. */
const EPOCH = 5000;
const NAMES = 3;
/** How many credentials, and how many budgets, are in use at a time. */
const IN_USE = 3;
/** How many secrets that had a name are remembered. */
const REMEMBERED = 4;

/**
 * @typedef {import('./caller.mjs').Input} Input
 * @typedef {import('./caller.mjs').Output} Output
 * @typedef {import('./caller.mjs').Request} Request
 * @typedef {import('./caller.mjs').Answer} Answer
 * @typedef {{ id: string, version: number, value?: string }} Known a secret as it was seen
 * @typedef {{ id: string, token: string, session?: { id: string, token: string } }} Credential
 * an API key, and its session token
 * @typedef {{ at: string, key: string }} Link
 * @typedef {{ object: string, limit: number, since: number, token?: string, link?: Link }} Budget
 * the rate limit of an agent, or the views of a link
 * @typedef {ReturnType<typeof newWorld>} World
 * @typedef {ReturnType<typeof newClient>} Client
 */

/**
 * What all clients know.
 * @param {{
 *   org: string, shared: string, random: () => number, onRevoked: () => void, hasReplicas?: boolean,
 * }} options
 * `shared` is a secret that is never changed
 */
export function newWorld({ org, shared, random, onRevoked, hasReplicas = false }) {
  const begun = performance.now();
  let made = 0;
  /** @type {{ credentials: Credential[], budgets: Budget[] }} */
  const used = { credentials: [], budgets: [] };
  /** @type {Map<string, Known[]>} */
  const secrets = new Map();
  return {
    api: `/api/v1/orgs/${org}`,
    shared,
    random,
    onRevoked,
    hasReplicas,
    used,
    /** @template {'credentials' | 'budgets'} K @param {K} kind @param {(typeof used)[K][number]} one */
    use(kind, one) {
      used[kind] = /** @type {any} */ ([...used[kind].slice(1 - IN_USE), one]);
    },
    unique: () => `${++made}`,
    /** @param {number} from @param {number} to */
    between: (from, to) => from + Math.floor(random() * (to - from + 1)),
    /** @template T @param {T[]} list @returns {T | undefined} */
    any: (list) => list[Math.floor(random() * list.length)],
    /** The names that clients use now, in a folder. */
    names() {
      const folder = `EPOCH_${Math.floor((performance.now() - begun) / EPOCH)}/`;
      return { folder, names: Array.from({ length: NAMES }, (_, n) => `${folder}${n}`) };
    },
    /** @param {string} name @param {Known} one */
    remember(name, one) {
      const others = (secrets.get(name) ?? []).filter(({ id }) => id !== one.id);
      secrets.set(name, [...others, one].slice(-REMEMBERED));
    },
    /** @param {string} name */
    known: (name) => secrets.get(name) ?? [],
  };
}

/**
 * @param {World} world
 * @param {{ client: number, token: string, send: ReturnType<import('./caller.mjs').newCaller>['send'],
 *   history: ReturnType<import('./caller.mjs').newHistory> }} options
 */
export function newClient(world, { client, token, send, history }) {
  /**
   * Does an operation. `inputs` has that of each object, and `outputs` finds theirs in the answer: an object
   * without one is left out. So is an operation without effect whose outcome is not known.
   * @param {Request} request
   * @param {Record<string, Input>} inputs
   * @param {(answer: Answer) => Record<string, Output>} outputs
   * @param {{ isRepeated?: boolean, loss?: number }} [options]
   * @returns {Promise<Answer | null>}
   */
  async function operate(request, inputs, outputs, options) {
    const call = history.now();
    const outcome = await send({ token, ...request }, options);
    const end = history.now();
    const found = isAnswered(outcome) ? outputs(outcome) : {};
    const region = isAnswered(outcome) ? outcome.headers.get('svc-region') : null;
    const by = region === null ? {} : { region };
    for (const [object, input] of Object.entries(inputs)) {
      const output = found[object] ?? null;
      if (output) history.lines.push({ client, object, ...by, input, output, call, return: end });
      else if (isOpen(outcome) && hasEffect(input))
        history.lines.push({ client, object, input, output, call, return: null });
    }
    return isAnswered(outcome) ? outcome : null;
  }
  return {
    world,
    operate,
    /**
     * Its last read of all secrets.
     * @type {{ at: string, etag: string, outputs: Record<string, Output> } | null}
     */
    last: null,
  };
}

/** @param {Input} input */
const hasEffect = ({ op, limit }) => op !== 'read' && (op !== 'use' || limit !== undefined);

/** The status of an answer, which must be one of these. @param {Answer} answer @param {number[]} statuses */
export function statusOf({ status, json }, statuses) {
  if (!statuses.includes(status)) throw new Error(`${status} is unexpected: ${JSON.stringify(json)}`);
  return status;
}
