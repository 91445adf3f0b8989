// Operations of incident response in the gate: panic, containment and the graph of a credential.
import { contain } from './contain';
import { graph } from './graph';
import { recordOperations } from './incidents';
import { panic } from './panic';
import { part } from './report-parts';

export const incidentOperations = {
  'org.panic': panic,
  'credential.contain': contain,
  'credential.contain_part': part,
  'credential.graph': graph,
  ...recordOperations,
};
