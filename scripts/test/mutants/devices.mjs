// The mutants of devices and their proofs. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'proof-by-registered-key':
      'api/devices/dpop: is refused with a proof by another key, even if its header names the registered one',
    'proof-window': 'api/devices/dpop: too old or from the future',
    'proof-used-once': 'api/devices/dpop: uses a proof once, however many requests',
    'proof-typ': 'api/devices/dpop: is refused with anything but one well-formed proof',
    'proof-single-header': 'api/devices/dpop: is refused with two DPoP headers',
    'proof-method': 'api/devices/dpop: is refused with a proof for another method',
    'proof-url': 'api/devices/dpop: is refused with a proof for another URL',
    'proof-token': 'api/devices/dpop: for another token of the same device',
    'device-key-public': 'api/devices/dpop: shows a private key',
    'device-key-unique': 'api/devices/devices: has a key of its own',
    'blocked-device-not-assigned':
      'api/devices/dpop: when its member is removed, and is not valid again if the device is to be assigned to another',
    'permissions-bound-to-device':
      'api/devices/devices: creates only credentials bound to the same device and revoked with it, and grants nothing',
    'mcp-limits-within-creator':
      'api/credentials/mcp-limits: attack: an agent with limits neither creates nor becomes one with wider limits',
    'mcp-bound-stays-bound':
      'api/credentials/mcp-limits: attack: an agent with limits neither creates nor becomes one with wider limits',
    'mcp-common-stays-bound':
      'api/credentials/mcp-limits: attack: an agent with limits neither creates nor becomes one with wider limits',
    'rotated-key-keeps-device':
      'api/devices/devices: creates only credentials bound to the same device and revoked with it, and grants nothing',
    'grant-bound-to-no-device':
      'api/devices/devices: creates only credentials bound to the same device and revoked with it, and grants nothing',
    'device-usable': 'api/devices/devices: needs a device that exists',
    'bound-credential-of-older-gate': 'unit/rollout: does not know the operation that would create',
    'later-field-of-older-gate': 'unit/rollout: does not know the operation of a request with a field',
  }),
  {
    name: 'a token that is bound to a device needs no proof',
    tag: 'proof-required',
    change: { from: "refuse('DEVICE_PROOF_REQUIRED')", to: 'null' },
    notice: 'api/devices/dpop: is refused without a proof',
  },
  {
    name: 'a used proof is accepted',
    tag: 'proof-replay',
    change: 'never',
    notice: 'api/devices/dpop: is refused with a proof that was used before',
  },
  {
    name: 'a token that is bound to no device is accepted under the scheme DPoP',
    tag: 'dpop-scheme-of-bound-token',
    change: { from: 'isDpop ?', to: 'false ?' },
    notice:
      'api/devices/dpop: works under Bearer regardless of the DPoP header, and is refused under the DPoP scheme',
  },
  {
    name: 'a proof names any algorithm',
    tag: 'proof-alg',
    change: 'always',
    notice: 'api/devices/dpop: by the algorithm none, by HMAC',
  },
  {
    name: 'a key for which anyone can sign is registered',
    tag: 'device-key-strong',
    change: { from: 'isStrongPoint(fromBase64Url(key.x) as Uint8Array)', to: 'true' },
    notice:
      'api/devices/devices: accepts only P-256 and Ed25519 public keys, keeps only their required members, and never changes them',
  },
  {
    name: 'credentials outlive the block of their device',
    tag: 'blocked-device-ends-credentials',
    change: { from: 'device.blocked_at !== null', to: 'false' },
    notice: 'api/devices/dpop: when it is blocked or removed: immediately, regardless of the proof',
  },
  {
    name: 'credentials outlive the member of their device',
    tag: 'blocked-device-ends-credentials',
    change: {
      from: '(device.member_id !== null && hasMemberEnded(core, device.member_id, device.assigned_at ?? 0))',
      to: 'false',
    },
    notice:
      'api/devices/dpop: when its member is removed, and is not valid again if the device is to be assigned to another',
  },
  {
    name: 'credentials that ended with a device count as active',
    tag: 'count-by-device',
    change: { from: 'sum - n', to: 'sum' },
    notice: 'api/devices/devices: excludes credentials revoked with a device, and counts each once',
  },
  {
    name: 'who widens an agent is not accountable for it',
    tag: 'widener-accountable',
    change: {
      from: 'isLess(row, after) ? null',
      to: 'isLess(row, after) || true ? null',
    },
    notice:
      'api/approvals/widened: attack: who widens an agent becomes accountable for it; who narrows it does not',
  },
  {
    name: 'an agent creates one without its limits of svc mcp',
    tag: 'created-with-mcp-limits-of-creator',
    change: { from: '?? caller.mcp_limits', to: '?? null' },
    notice:
      'api/credentials/mcp-limits: attack: an agent with limits neither creates nor becomes one with wider limits',
  },
  {
    name: 'limits of svc mcp that are narrowed later do not reach descendants',
    tag: 'mcp-limits-of-lineage',
    change: { from: 'commonMcp(limits, link.mcp_limits)', to: 'limits ?? link.mcp_limits' },
    notice:
      'api/credentials/mcp-limits: attack: an agent with limits neither creates nor becomes one with wider limits',
  },
  {
    name: 'a bound credential creates an unbound one',
    tag: 'created-bound-to-device-of-creator',
    change: { from: '?? caller.device', to: '?? null' },
    notice:
      'api/devices/devices: creates only credentials bound to the same device and revoked with it, and grants nothing',
  },
];
