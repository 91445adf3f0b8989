// Operations of incident response in the gate: panic, containment and the graph of a credential.
import { contain, part } from './contain';
import { graph } from './graph';
import { panic } from './panic';

export const incidentOperations = {
  'org.panic': panic,
  'credential.contain': contain,
  'credential.contain_part': part,
  'credential.graph': graph,
};
