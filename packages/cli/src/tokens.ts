// The forms of the vault's tokens in a text, of any owner. Pure. Invariant: this is the only list of them in
// svc, and tests compare it with the service's own.

const FORMS = [
  // Credentials, an earlier form of agent credentials, and the keys of enrolment and share links.
  'svc(?:_live|sess|ag|_agent|prov|bg|scim|enrol|share)_[A-Za-z0-9]{30,}',
  // The refresh token of svc login.
  'svcref_org_[A-Za-z0-9_.-]{30,}',
  // The device code of svc login: its user code, random bytes and a tag.
  'svcdc_[A-Z]{8}\\.[A-Za-z0-9_.-]{30,}',
  // The JWT of a member's session, by the start of its claims: {"sid":"ses_.
  'eyJ[A-Za-z0-9_-]{20,}\\.eyJzaWQiOiJzZXNf[A-Za-z0-9_-]{30,}\\.[A-Za-z0-9_-]{30,}',
];

/** A token anywhere in a text. */
export const TOKEN = new RegExp(FORMS.join('|'));

/** All tokens in a text. */
export const TOKENS = new RegExp(FORMS.join('|'), 'g');
