// The class and activity of OCSF events, by action.
import { expect, it } from 'vitest';
import type { Action } from '../../../src/auth/actions';
import { actions } from '../../../src/domains';
import { ocsfOf } from '../../../src/domains/log-streams/ocsf';
import type { Entry } from '../../../src/gate/audit/entry';

const eventOf = (action: string) =>
  ocsfOf(
    'org_x',
    { action, actor: { id: null, kind: 'member', name: null }, outcome: 'success', time: '' } as Entry,
    '',
  ) as { class_uid: number; activity_id: number };
const kindOf = (action: string) => {
  const { class_uid, activity_id } = eventOf(action);
  return `${class_uid}/${activity_id}`;
};

it('OCSF: sign-ins and the ends of sessions are Authentication', () => {
  const ofKind = (kind: string) =>
    Object.keys(actions)
      .filter((action) => kindOf(action) === kind)
      .sort();
  expect(ofKind('3002/1')).toEqual([
    'auth.confirm',
    'auth.device_token',
    'auth.enrol',
    'auth.exchange',
    'auth.login',
    'auth.refresh',
    'auth.sso',
  ] satisfies Action[]);
  expect(ofKind('3002/2')).toEqual(['auth.logout', 'auth.session_end', 'auth.sso_logout'] satisfies Action[]);
});

it('OCSF: the activity of an API Activity follows from the verb', () => {
  for (const [action, activity] of [
    ['secret.create', 1],
    ['scim.user_create', 1],
    ['team_member.add', 1],
    ['secret.read_all', 2],
    ['scim.group_list', 2],
    ['org.search', 2],
    ['scim.user_update', 3],
    ['webhook.rotate_secret', 3],
    ['member.suspend', 3],
    ['secret.promote', 3],
    ['scim.user_delete', 4],
    ['secret.delete_folder', 4],
    ['secret.share_revoke', 4],
    ['approval.approve', 99],
  ] satisfies [Action, number][])
    expect(kindOf(action), action).toBe(`6003/${activity}`);
});
