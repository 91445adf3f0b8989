// What the parts of the compliance report share: its type, and the statuses of findings, the worst first.
import type { components } from '@secrets-vault/client';
import { Badge, type Tone } from '../../ui/parts';

export type Report = components['schemas']['ComplianceReport'];
export type Status = Report['findings'][number]['status'];

export const statuses: [Status, string, Tone][] = [
  ['fail', 'Fail', 'bad'],
  ['warn', 'Warn', 'warn'],
  ['pass', 'Pass', 'good'],
  ['not_applicable', 'Not applicable', 'plain'],
];

export const StatusBadge = ({ status }: { status: Status }) => {
  const [, label, tone] = statuses.find(([one]) => one === status) ?? [status, status, 'plain' as Tone];
  return <Badge tone={tone}>{label}</Badge>;
};
