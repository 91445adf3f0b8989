// What identity providers send, as it is read: addresses of other types, filters on members, and odd text.
import { describe, expect, it } from 'vitest';
import { readFilter, readGroupPatch, readUser, readUserPatch } from '../../../src/domains/scim/reading';

const patch = (...Operations: object[]) => ({ Operations });
const refused = (scimType: string) => ({
  code: 'VALIDATION_FAILED',
  details: [expect.objectContaining({ path: expect.stringContaining(scimType) })],
});

describe('SCIM: the address of a user', () => {
  const replace = (path: string, value: unknown) => readUserPatch(patch({ op: 'Replace', path, value }));

  it('SCIM: comes from the address for work or the primary one', () => {
    for (const path of [
      'emails',
      'emails.value',
      'emails[type eq "work"]',
      'emails[type eq "work"].value',
      'emails[primary eq true].value',
      'emails[type eq "Work" and primary eq true].value',
      'urn:ietf:params:scim:schemas:core:2.0:User:emails[type eq "work"].value',
    ])
      expect(replace(path, 'a@example.com'), path).toEqual({ email: 'a@example.com' });
  });

  it('SCIM: is not changed by addresses of other types', () => {
    const other = 'a@elsewhere.example';
    for (const path of [
      'emails[type eq "home"].value',
      'emails[type eq "other"].value',
      'emails[type eq "work"].display',
      'emails[type eq "work"].type',
      'emails[primary eq false].value',
    ])
      expect(replace(path, other), path).toEqual({});
    expect(
      readUserPatch(patch({ op: 'Add', path: 'emails', value: [{ value: other, type: 'home' }] })),
    ).toEqual({});
    expect(
      readUserPatch(patch({ op: 'Add', value: { 'emails[type eq "other"].value': other, active: false } })),
    ).toEqual({ active: false });
    expect(readUserPatch(patch({ op: 'Remove', path: 'emails[type eq "other"].value' }))).toEqual({});
    expect(readUserPatch(patch({ op: 'Remove', path: 'emails[type eq "work"].value' }))).toMatchObject(
      refused('mutability'),
    );
  });

  it('SCIM: of a whole user, or a list that replaces, is the primary one, that for work, or the first', () => {
    const home = { value: 'h@example.com', type: 'home' };
    const work = { value: 'w@example.com', type: 'work' };
    expect(readUser({ emails: [home, work] })).toEqual({ email: work.value });
    expect(readUser({ emails: [home] })).toEqual({ email: home.value });
    expect(replace('emails', [home])).toEqual({ email: home.value });
  });

  it('SCIM: is chosen by type or primary alone', () => {
    expect(replace('emails[value eq "a@example.com"].value', 'b@example.com')).toMatchObject(
      refused('invalidPath'),
    );
  });
});

it('SCIM: a removal from a group that is not understood is refused, not passed over', () => {
  for (const path of [
    'members[value eq "a" or value eq "b"]',
    'members[type eq "User" and value eq "a"]',
    'members[display eq "a"]',
    'members.value',
  ])
    for (const op of ['Remove', 'Add'])
      expect(readGroupPatch(patch({ op, path, value: 'x' })), `${op} ${path}`).toMatchObject(
        refused('invalidPath'),
      );
});

describe('SCIM: filters', () => {
  it('SCIM: a text is one of JSON', () => {
    expect(readFilter('displayName eq "caf\\u00e9 \\"a\\""')).toEqual([
      { attribute: 'displayname', value: 'café "a"' },
    ]);
    for (const bad of ['"a\nb"', '"\u0000"', '"a\\x"', '"\\u12"'])
      expect(readFilter(`userName eq ${bad}`), bad).toMatchObject(refused('invalidFilter'));
  });

  it('SCIM: an address of another type is nobody', () => {
    expect(readFilter('emails[type eq "work"].value eq "a"')).toEqual([{ attribute: 'emails', value: 'a' }]);
    expect(readFilter('emails[type eq "home"].value eq "a"')).toEqual([{ attribute: 'none', value: 'a' }]);
  });
});
