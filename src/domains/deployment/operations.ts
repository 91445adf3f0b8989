// What the deployment itself answers, as a gate knows it: whoever comes to a gate with it is refused by kind.
import { refuse } from '../../errors';
import type { Operation } from '../../gate/types';

const elsewhere: Operation = { read: () => ({ ok: false, refusal: refuse('NOT_FOUND') }) };

export const deploymentOperations = { 'org.list': elsewhere, 'deployment.rewrap': elsewhere };
