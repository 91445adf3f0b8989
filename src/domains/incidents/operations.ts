// What can be done on a bad day, as the gate does it.
import { contain, part } from './contain';
import { graph } from './graph';
import { panic } from './panic';

export const incidentOperations = {
  'org.panic': panic,
  'credential.contain': contain,
  'credential.contain_part': part,
  'credential.graph': graph,
};
