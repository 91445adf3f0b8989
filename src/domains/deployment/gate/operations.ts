// What the deployment itself answers, as a gate knows it: whoever comes to a gate with it is refused by kind.

import { refuse } from '../../../errors';
import { fail } from '../../../gate/outcome';
import type { Operation } from '../../../gate/types';

const elsewhere: Operation = { read: () => fail(refuse('NOT_FOUND')) };

export const deploymentOperations = { 'org.list': elsewhere, 'deployment.rewrap': elsewhere };
