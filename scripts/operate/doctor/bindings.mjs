// Whether a configuration names everything that the Worker's code uses. Pure. Invariant: `Env` in src/env.ts
// is the only list.

/** Secrets and bindings that a deployment may do without. */
const OPTIONAL = new Set(['METRICS_TOKEN', 'SAML']);

/**
 * The members of `Env` that every deployment has.
 * @param {string} source src/env.ts
 * @returns {{ name: string, type: string }[]}
 */
export function neededBindings(source) {
  const body = /export interface Env \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? '';
  return [...body.matchAll(/^ {2}(\w+)\??: (.+);$/gm)]
    .map(([, name, type]) => ({ name, type }))
    .filter(({ name }) => !OPTIONAL.has(name));
}

/**
 * What the configuration lacks, in words.
 * @param {any} config wrangler.toml as read
 * @param {{ name: string, type: string }[]} needed
 * @returns {string[]}
 */
export function lackingBindings(config, needed) {
  const names = (list = []) => new Set(list.map(({ binding, name }) => binding ?? name));
  const places = [
    [/^D1Database/, 'd1_databases', names(config.d1_databases)],
    [/^DurableObjectNamespace/, 'durable_objects.bindings', names(config.durable_objects?.bindings)],
    [/^Queue\b/, 'queues.producers', names(config.queues?.producers)],
    [/^Fetcher$/, 'assets', names(config.assets && [config.assets])],
    [
      /^string$/,
      'vars, or secrets.required',
      new Set([
        ...Object.keys(config.vars ?? {}),
        ...(config.secrets?.required ?? []),
        ...names(config.secrets_store_secrets),
      ]),
    ],
  ];
  const lacking = needed.flatMap(({ name, type }) => {
    const [, where, has] = places.find(([pattern]) => pattern.test(type)) ?? [];
    if (!where) return [`${name}, of a kind that this check does not know (${type})`];
    return has.has(name) ? [] : [`${name} in ${where}`];
  });
  const classes = new Set((config.migrations ?? []).flatMap(({ new_sqlite_classes: made = [] }) => made));
  for (const { name, class_name: of } of config.durable_objects?.bindings ?? [])
    if (!classes.has(of)) lacking.push(`the class ${of} of ${name} in migrations.new_sqlite_classes`);
  const consumed = new Set((config.queues?.consumers ?? []).map(({ queue }) => queue));
  for (const { queue } of config.queues?.producers ?? [])
    if (!consumed.has(queue)) lacking.push(`the queue ${queue} in queues.consumers`);
  if (!config.triggers?.crons?.length) lacking.push('a schedule in triggers.crons');
  return lacking;
}
