// What this package exports.
export type { components, paths } from './api.js';
export type { Fetch } from './attempt.js';
export type { Api, Call } from './client.js';
export {
  ApprovalRequiredError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  CredentialError,
  GoneError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  VaultError,
} from './errors.js';
export { type EventType, eventTypes } from './event-types.js';
export type { ListenOptions } from './listeners.js';
export type * from './options.js';
export { staysBelow } from './paths.js';
export { covers } from './scopes.js';
export { Secret } from './secret.js';
export { secretTypes } from './secret-types.js';
export type { Credential, OidcCredential, TerminalSession, TerminalStore, TokenSource } from './sources.js';
export type { Values } from './values.js';
export { createVault, Vault } from './vault.js';
export type { Change } from './watcher.js';
