// Actions on devices and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'device.list': { scopes: ['devices:read'] },
  'device.read': { scopes: ['devices:read'] },
  'device.create': { scopes: ['devices:write'] },
  'device.update': { scopes: ['devices:write'] },
  'device.assign': { scopes: ['devices:write'] },
  // Both end the validity of credentials bound to the device.
  'device.block': { scopes: ['devices:write'], urgent: true },
  'device.delete': { scopes: ['devices:write'], urgent: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    devices: keyof typeof actions;
  }
}
