// Checks on members and devices. Pure.
import { DAY } from '../../../db/rows';
import { type Role, roles } from '../../../db/schema';
import { iso, isoOrNull } from '../../../http/wire';
import { counted, findingOf, newTally, statusBy } from '../finding';
import type { DeviceFacts, MemberFacts } from '../payloads';
import type { Finding, Inventory } from '../wire';

/** Days that an owner or admin may go without a passkey. */
const GRACE = 7;

export interface PeopleChecks {
  addMembers(rows: MemberFacts[]): void;
  addDevices(rows: DeviceFacts[]): void;
  findings(): Finding[];
  inventory(): Pick<Inventory, 'members' | 'devices'>;
}

export function newPeopleChecks(now: number): PeopleChecks {
  const bare = newTally();
  const unassigned = newTally();
  const byRole = Object.fromEntries(roles.map((role) => [role, 0])) as Record<Role, number>;
  const seen = { members: 0, suspended: 0, privileged: 0, devices: 0, assigned: 0, blocked: 0 };

  const judgeMember = (row: MemberFacts) => {
    const { id, name, role, created_at, enrolled_at, enrolment_ends_at, suspended_at, passkeys } = row;
    seen.members++;
    byRole[role]++;
    // A suspended member cannot sign in, with or without a passkey.
    if (suspended_at !== null) return void seen.suspended++;
    if (passkeys > 0) return;
    const isPrivileged = role === 'owner' || role === 'admin';
    if (isPrivileged && created_at <= now - GRACE * DAY) seen.privileged++;
    const isInvited = enrolment_ends_at !== null && enrolment_ends_at > now;
    bare.add(() => ({
      id,
      name,
      environment: null,
      time: iso(created_at),
      detail: `This ${role} has no passkey${isInvited ? ' yet: an enrolment link is open' : ' and no open enrolment link'}.`,
      facts: { role, enrolled_at: isoOrNull(enrolled_at), enrolment_ends_at: isoOrNull(enrolment_ends_at) },
    }));
  };
  const judgeDevice = ({ id, name, platform, member_id, created_at, blocked_at }: DeviceFacts) => {
    seen.devices++;
    if (blocked_at !== null) seen.blocked++;
    if (member_id !== null) seen.assigned++;
    else if (blocked_at === null)
      unassigned.add(() => ({
        id,
        name,
        environment: null,
        time: iso(created_at),
        detail: 'This device is not blocked and is not assigned to a member.',
        facts: { platform, created_at: iso(created_at) },
      }));
  };

  return {
    addMembers: (rows) => rows.forEach(judgeMember),
    addDevices: (rows) => rows.forEach(judgeDevice),
    findings: () => [
      findingOf('members-without-passkey', {
        status: statusBy({ fail: seen.privileged > 0, warn: bare.count > 0 }),
        tested: `Whether each of ${counted(seen.members - seen.suspended, 'member')} who is not suspended has a passkey, which is required to sign in. Warn: one has none. Fail: an owner or admin has had none for more than ${GRACE} days after the invitation.`,
        examined: seen.members - seen.suspended,
        tally: bare,
      }),
      findingOf('devices-unassigned', {
        status: seen.devices === 0 ? 'not_applicable' : statusBy({ warn: unassigned.count > 0 }),
        tested: seen.devices
          ? `Whether each of ${counted(seen.devices, 'registered device')} that is not blocked is assigned to a member. Warn: one is not.`
          : 'No device is registered.',
        examined: seen.devices,
        tally: unassigned,
      }),
    ],
    inventory: () => ({
      members: {
        total: seen.members,
        by_role: byRole,
        without_passkey: bare.count,
        suspended: seen.suspended,
      },
      devices: { total: seen.devices, assigned: seen.assigned, blocked: seen.blocked },
    }),
  };
}
