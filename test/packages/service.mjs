// Global set-up of the packages' tests: one service for all of them.
import { startVault } from './vault.mjs';

/** @param {import('vitest/node').TestProject} project */
export default async function setup(project) {
  const { url, state, stop } = await startVault();
  project.provide('vaultUrl', url);
  project.provide('vaultState', state);
  return stop;
}
