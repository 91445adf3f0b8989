// What is derived from the list of domains: nothing is declared twice, and nothing is left out.
import { describe, expect, it } from 'vitest';
import { type Action, fullNeed } from '../../src/auth/actions';
import { rowKinds } from '../../src/db/rows';
import { actions, domains, examples, jobs, operations, routes, tags } from '../../src/domains';
import { jobNames } from '../../src/gate/queue-messages';

const twice = (names: readonly string[]) => names.filter((name, at) => names.indexOf(name) !== at);

describe('domains', () => {
  it('declare each action, operation, tag and example once', () => {
    expect(twice(domains.flatMap((domain) => Object.keys(domain.actions)))).toEqual([]);
    expect(twice(domains.flatMap((domain) => Object.keys(domain.operations)))).toEqual([]);
    expect(twice(domains.flatMap((domain) => Object.keys(domain.tags)))).toEqual([]);
    expect(twice(domains.flatMap((domain) => Object.keys(domain.examples)))).toEqual([]);
    expect(Object.keys(examples).length).toBeGreaterThan(40);
  });

  it('own each kind of row once', () => {
    expect(domains.flatMap(({ rows }) => rows).sort()).toEqual(rowKinds().sort());
  });

  it('declare every job that a gate requests', () => {
    expect(Object.keys(jobs).sort()).toEqual([...jobNames].sort());
  });

  it('declare each route with an action, its operation and a described tag', () => {
    expect(routes.length).toBeGreaterThan(80);
    for (const route of routes) {
      expect(route.need, route.path).toEqual(actions[route.action]);
      expect(tags[route.tag], route.path).toMatch(/\.$/);
      // What the Worker answers itself, and what another route of the action asks, needs no operation of its
      // own.
      const operation = operations[route.operation ?? route.action];
      if (!route.public)
        expect(
          [operation?.read, operation?.change].filter(Boolean),
          `${route.method} ${route.path}`,
        ).toHaveLength(1);
    }
  });

  it('declare no action that no route uses, and no operation of none', () => {
    // On the paths of Vault's clients alone.
    const compatible = [
      'environment.mounts',
      'caller.lookup',
      'access_token.login',
      'access_token.create_child',
      'environment.capabilities',
      'access_token.revoke_token',
      ...['secret.read_path', 'secret.write_path', 'secret.delete_path', 'secret.restore_path'],
      ...['secret.describe_path', 'secret.show_path', 'secret.read_folder'],
      ...['secret.list_folders', 'secret.show_folder', 'secret.write_folder', 'secret.delete_folder'],
      // On the paths of SCIM alone.
      'scim.describe',
      ...['list', 'read', 'create', 'update', 'delete'].flatMap((verb) => [
        `scim.user_${verb}`,
        `scim.group_${verb}`,
      ]),
      // And of clients of AWS.
      ...['read', 'show', 'history', 'list', 'write', 'create', 'delete', 'restore', 'describe', 'label'].map(
        (call) => `secret.${call}_aws`,
      ),
      // On the paths of calls of upstreams.
      'secret.use',
      // What identity providers call.
      'auth.sso_logout',
    ];
    const unrouted = Object.keys(actions).filter(
      (action) => !routes.some((route) => route.action === action) && !compatible.includes(action),
    );
    // What the service itself does, as a job or a scheduled task.
    expect(unrouted).toEqual([
      ...[
        'database.late',
        'region.late',
        'replica.begin',
        'secret.rotation_due',
        'secret.auto_rotate',
        'audit.checkpoint',
        'secret.expiring',
      ],
      ...['secret.expired', 'credential.expiring', 'webhook.deliver', 'webhook.disable'],
      ...['log_stream.deliver', 'log_stream.disable'],
      ...['integration.deliver', 'integration.sync_auto', 'integration.sync_run', 'integration.sync_end'],
      'secret.use_end',
      'domain.check',
    ]);
    for (const action of unrouted) expect(actions[action as Action].kinds).toEqual(['system']);
    const asked = [...compatible, ...routes.flatMap((route) => [route.action, route.operation])];
    // A part of a containment is asked for by the report, and so has no route.
    expect(Object.keys(operations).filter((name) => !asked.includes(name))).toEqual([
      'secret.rotations_waiting',
      'secret.auto_rotate',
      'secret.rotation_due',
      'audit.checkpoint',
      'audit.checkpoint_store',
      'webhook.deliver',
      'webhook.disable',
      'log_stream.deliver',
      'log_stream.disable',
      'integration.deliver',
      'integration.sync_auto',
      'integration.sync_run',
      'integration.sync_take',
      'integration.sync_names',
      'integration.sync_permit',
      'integration.sync_plan',
      'integration.sync_next',
      'integration.sync_end',
      'use.begin',
      'use.answered',
      'use.alive',
      'use.ended',
      'use.token',
      'use.keep_token',
      'domain.held',
      'domain.check',
      'domain.checked',
      'credential.contain_part',
      'auth.sso_refused',
      'auth.sso_confirm_start',
      'auth.sso_confirm',
      'auth.sso_test',
      'auth.exchange_refused',
    ]);
  });

  it('deny by default: an action without a kind takes neither provider tokens nor the bootstrap token', () => {
    expect(fullNeed({ scopes: [] }).kinds).toEqual(['api_key', 'session', 'agent', 'workload', 'member']);
  });
});
