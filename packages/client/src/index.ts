// What the package gives.
export type { components, paths } from './api.js';
export type { Fetch } from './attempt.js';
export type { Api, Call } from './client.js';
export * from './errors.js';
export { Secret } from './secret.js';
export type { Credential } from './sources.js';
export { type CallOptions, createVault, type SecretInfo, type SetOptions, type Vault, type VaultOptions } from './vault.js';
