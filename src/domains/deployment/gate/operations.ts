// Operations of the deployment. They never run in an organisation's gate, which refuses them by credential
// kind.

import { refuse } from '../../../errors';
import type { Operation } from '../../../gate/request/call';
import { fail } from '../../../gate/request/outcome';

const elsewhere: Operation = { read: () => fail(refuse('NOT_FOUND')) };

export const deploymentOperations = { 'org.list': elsewhere, 'deployment.rewrap': elsewhere };
