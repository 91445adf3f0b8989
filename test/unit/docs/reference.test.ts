// The reference pages of docs/reference agree with the tables that decide: scopes with what each allows,
// roles, and error codes.
import { describe, expect, it } from 'vitest';
import approvalsGuide from '../../../docs/guides/approvals.md?raw';
import errorsPage from '../../../docs/reference/errors.md?raw';
import scopesPage from '../../../docs/reference/scopes.md?raw';
import { ACTION_GROUPS } from '../../../packages/console/src/pages/audit/actions';
import type { Action } from '../../../src/auth/actions';
import { allScopes, providerScopes, roleScopes } from '../../../src/auth/scopes';
import { heldOperations } from '../../../src/db/schema';
import { actions } from '../../../src/domains';
import { catalogue } from '../../../src/errors';
import { NAMELESS } from '../../../src/gate/audit/filter';

/** The part of a page under a heading. */
const section = (page: string, heading: string): string =>
  page.split('\n## ').find((part) => part.startsWith(heading)) ?? '';

/** What stands in backticks, in order. */
const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string);

/** The rows of the first table of a part, by the name in their first cell. */
const tableOf = (part: string): Map<string, string[]> =>
  new Map(
    part
      .split('\n')
      .filter((line) => line.startsWith('| `') || /^\| [a-z]/.test(line))
      .map((line) => line.slice(1, -1).split(' | '))
      .map(([first = '', ...cells]) => [quoted(first)[0] ?? first.trim(), cells]),
  );

const all = Object.keys(actions) as Action[];
const isOfProviders = (action: Action) =>
  actions[action].kinds.includes('provider') && action !== 'caller.read';
const sorted = (names: readonly string[]) => [...names].sort();

describe('console: the filter of the audit log', () => {
  it('offers every action', () => {
    const offered = ACTION_GROUPS.flatMap(([, named]) => named);
    const written = new Set([...all, ...NAMELESS]);
    expect(offered.filter((name) => !written.has(name))).toEqual([]);
    expect([...written].filter((name) => !offered.includes(name))).toEqual([]);
  });
});

describe('documentation: scopes', () => {
  const allowed = section(scopesPage, 'What each scope allows');
  const rows = tableOf(allowed);

  it('each one is listed with exactly the actions that it allows', () => {
    const named = [...rows]
      .filter(([scope]) => scope !== 'scope')
      .map(([scope, cells]) => [scope, sorted(quoted(cells[1] ?? ''))]);
    const expected = allScopes
      .map(
        (scope) =>
          [
            scope,
            sorted(all.filter((action) => (actions[action].scopes as string[]).includes(scope))),
          ] as const,
      )
      .filter(([, found]) => found.length);
    expect(Object.fromEntries(named)).toEqual(Object.fromEntries(expected));
  });

  it('those that allow nothing yet are named as such', () => {
    const reserved = allScopes.filter((scope) => !scope.endsWith('*') && !rows.has(scope));
    expect(sorted(quoted(allowed.split('These scopes can be given')[1] ?? ''))).toEqual(sorted(reserved));
  });

  it('every action that requires none is listed', () => {
    const found = quoted(section(scopesPage, 'What needs no scope')).filter((name) => name in actions);
    expect(sorted(found)).toEqual(sorted(all.filter((action) => actions[action].scopes.length === 0)));
  });

  it('a break-glass token is listed with its actions', () => {
    const kinds = section(scopesPage, 'Kinds of credential');
    const own = quoted((tableOf(kinds).get('break-glass token') ?? []).join()).filter(
      (name) => name in actions,
    );
    expect(sorted(own)).toEqual(
      sorted(all.filter((action) => actions[action].kinds.includes('break_glass'))),
    );
  });

  it('the actions that always require a confirmation are listed', () => {
    const named = section(scopesPage, 'Kinds of credential').split('These need a confirmation')[1] ?? '';
    expect(sorted(quoted(named))).toEqual(sorted(all.filter((action) => actions[action].fresh)));
  });

  it('those of provider tokens are listed with the scopes their creator needs', () => {
    const found = tableOf(section(scopesPage, 'Provider tokens'));
    for (const [scope, needed] of Object.entries(providerScopes))
      expect(quoted((found.get(scope) ?? []).join())).toEqual([
        ...all.filter((action) => action === `provider.${scope}`),
        needed,
      ]);
    expect(all.filter(isOfProviders)).toHaveLength(Object.keys(providerScopes).length);
  });

  it('each role is listed with its scopes', () => {
    const found = tableOf(section(scopesPage, 'Roles and grants'));
    for (const [role, scopes] of Object.entries(roleScopes))
      expect(quoted((found.get(role) ?? []).join())).toEqual(scopes);
  });
});

describe('documentation: errors', () => {
  it('each code is listed with its status', () => {
    const found = [...tableOf(errorsPage)]
      .filter(([code]) => code in catalogue)
      .map(([code, cells]) => [code, Number(cells[0])]);
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(Object.entries(catalogue).map(([code, { status }]) => [code, status])),
    );
  });
});

describe('documentation: approvals', () => {
  it('each operation that a policy can hold is listed with what it holds', () => {
    const found = [...tableOf(section(approvalsGuide, 'What each operation holds'))].filter(
      ([name]) => name !== 'operation',
    );
    expect(found.map(([name]) => name)).toEqual([...heldOperations]);
    for (const [name, [holds = '']] of found) expect(holds.length, name).toBeGreaterThan(20);
  });
});
