// What this package exports.
export type { Api, Call } from './api/client.js';
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
} from './api/errors.js';
export { type EventType, eventTypes } from './api/event-types.js';
export type { components, paths } from './api/openapi.js';
export { covers } from './api/scopes.js';
export { secretTypes } from './api/secret-types.js';
export type {
  Credential,
  OidcCredential,
  TerminalSession,
  TerminalStore,
  TokenSource,
} from './credentials/sources.js';
export type * from './options.js';
export { staysBelow } from './paths.js';
export type { ListenOptions } from './reads/listeners.js';
export type { Values } from './reads/values.js';
export type { Change } from './reads/watcher.js';
export { Secret } from './secret.js';
export type { Fetch } from './transport/attempt.js';
export { createVault, Vault } from './vault.js';
