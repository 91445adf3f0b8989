// Operations on secrets in the gate.

import type { Operation } from '../../../gate/request/call';
import { awsReads } from './aws/reads';
import { awsWrites } from './aws/writes';
import { readAll, readFolder } from './bulk';
import { create, remove, restore, rollback, rotate, update } from './changes';
import { type CompareInput, compare } from './compare';
import { folderLists } from './folders/folder-lists';
import { folderWrites } from './folders/folder-writes';
import { type ListInput, list } from './lists';
import { pathOperations } from './paths';
import { put } from './put';
import { secretRead, secretReadByName } from './reads';
import { aboutSecret } from './state';
import { type VersionsInput, versions } from './versions';

export const secretOperations = {
  'secret.create': create,
  'secret.put': put,
  'secret.list': { byReplica: true, read: list } satisfies Operation<ListInput>,
  'secret.compare': { read: compare } satisfies Operation<CompareInput>,
  'secret.read': secretRead,
  'secret.read_by_name': secretReadByName,
  'secret.read_all': readAll,
  'secret.read_folder': readFolder,
  ...folderLists,
  ...folderWrites,
  'secret.versions': { subject: aboutSecret, read: versions } satisfies Operation<VersionsInput>,
  'secret.update': update,
  'secret.rotate': rotate,
  'secret.rollback': rollback,
  'secret.delete': remove,
  'secret.restore': restore,
  ...pathOperations,
  ...awsReads,
  ...awsWrites,
};
