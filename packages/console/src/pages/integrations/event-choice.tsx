// Chooses which events are sent: all or some.

import type { EventType } from '@secrets-vault/client';
import { Choices } from '../../ui/forms/choices';
import { Segments } from '../../ui/lists/filters';
import { EVENT_GROUPS, wordsOf } from './events';

export type ChosenEvents = '*' | EventType[];

interface EventChoiceProps {
  value: ChosenEvents;
  onValue: (value: ChosenEvents) => void;
  /** The initial choice when switching from all to some. */
  usual: EventType[];
  error?: string;
  /** The hint if all are chosen. */
  all: string;
}

export function EventChoice({ value, onValue, usual, error, all }: EventChoiceProps) {
  const chosen: EventType[] = value === '*' ? [] : value;
  return (
    <div class="field">
      <span class="legend">Events</span>
      <Segments
        label="Events to send"
        value={value === '*' ? 'all' : 'some'}
        onValue={(which) => onValue(which === 'all' ? '*' : value === '*' ? usual : value)}
        choices={[
          { value: 'some', label: 'Selected events' },
          { value: 'all', label: 'All events' },
        ]}
      />
      {value === '*' ? (
        <p class="hint">{all}</p>
      ) : (
        <div class="event-groups">
          {[...EVENT_GROUPS].map(([group, kinds]) => (
            <Choices
              key={group}
              label={group}
              choices={kinds.map((kind) => ({ value: kind, label: wordsOf(kind) }))}
              value={chosen.filter((kind) => kinds.includes(kind))}
              onValue={(own) =>
                onValue([...chosen.filter((kind) => !kinds.includes(kind)), ...(own as EventType[])])
              }
            />
          ))}
        </div>
      )}
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
