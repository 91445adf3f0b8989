// Scans of text for leaked credentials.

import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { leaks } from './gate/leaks';
import { scanOperations } from './gate/operations';
import { scanRoutes } from './routes';

export const scans = {
  tags: {
    Scans: 'Finds credentials in text and files.',
  },
  actions,
  rows: [],
  sweep(core, now) {
    leaks(core).sweep(now);
    return false;
  },
  operations: scanOperations,
  routes: scanRoutes,
  examples: {
    'Scan.id': exampleId('scan'),
    'Scan.truncated': false,
    'Finding.rule': 'github-pat',
    'Finding.path': 'src/config.ts',
    'Finding.line': 12,
    'Finding.column': 9,
    'Finding.preview': 'ghp_…(40)',
    'Finding.secret_id': exampleId('secret'),
    'Finding.live': undefined,
    'Finding.credential_id': undefined,
    'Finding.is_caller': undefined,
    'Finding.revoked': undefined,
  },
} satisfies Domain;
