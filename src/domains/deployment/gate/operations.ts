// Operations of the deployment. They never run in an organisation's gate, which refuses them by credential kind.

import { refuse } from '../../../errors';
import { fail } from '../../../gate/outcome';
import type { Operation } from '../../../gate/types';

const elsewhere: Operation = { read: () => fail(refuse('NOT_FOUND')) };

export const deploymentOperations = { 'org.list': elsewhere, 'deployment.rewrap': elsewhere };
