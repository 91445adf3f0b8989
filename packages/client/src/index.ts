// What this package exports.
export type { components, paths } from './api.js';
export type { Fetch } from './attempt.js';
export type { Api, Call } from './client.js';
export { covers, type EventType, eventTypes, secretTypes } from './constants.js';
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
export type { ListenOptions } from './listeners.js';
export type * from './options.js';
export { Secret } from './secret.js';
export type { Credential, OidcCredential, TerminalSession, TerminalStore, TokenSource } from './sources.js';
export type { Values } from './values.js';
export { createVault, type Vault } from './vault.js';
export type { Change } from './watcher.js';
