// Links that show one version of a secret.
import type { Domain } from '../domain';
import { actions } from './actions';

export const shares = { tags: {}, actions, rows: ['share'], operations: {}, routes: [], examples: {} } satisfies Domain;
