// The deployment's own actions, as a gate knows them: it answers none of them.
import { refuse } from '../../errors';
import type { Operation } from '../../gate/types';

export const deploymentOperations = {
  // Answered by the deployment itself; whoever comes to a gate with it is refused by kind.
  'deployment.rewrap': { read: () => ({ ok: false, refusal: refuse('NOT_FOUND') }) } satisfies Operation,
};
