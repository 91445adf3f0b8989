// Tabs whose selection is in the address, so that a tab can be linked to (the ARIA tabs pattern, by Zag).
import { normalizeProps, useMachine } from '@zag-js/preact';
import * as tabs from '@zag-js/tabs';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { leaving } from '../../navigation/guard';
import { useParameter } from '../../navigation/router';

export interface Tab {
  id: string;
  label: string;
  /** A count beside the label. */
  count?: number;
  content: () => ComponentChildren;
}

/** @param name the parameter of the address that holds the selection */
export function Tabs({ label, name = 'tab', items }: { label: string; name?: string; items: Tab[] }) {
  const [chosen, choose] = useParameter(name);
  const value = items.some(({ id }) => id === chosen) ? chosen : (items[0]?.id ?? '');
  const service = useMachine(tabs.machine, {
    id: useId(),
    value,
    onValueChange: (details: { value: string }) =>
      leaving(() => choose(details.value === items[0]?.id ? '' : details.value)),
  });
  const api = tabs.connect(service, normalizeProps);
  const list = useRef<HTMLDivElement>(null);
  // On a phone the selected tab may be outside the visible area.
  useEffect(() => {
    list.current?.querySelector('[data-selected]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [value]);
  return (
    <div {...api.getRootProps()}>
      <div {...api.getListProps()} ref={list} class="tabs" aria-label={label}>
        {items.map(({ id, label: name, count }) => (
          <button key={id} {...api.getTriggerProps({ value: id })}>
            {name}
            {count ? <span class="count">{count}</span> : null}
          </button>
        ))}
      </div>
      {items.map(({ id, content }) => (
        <div key={id} {...api.getContentProps({ value: id })} class="tab-panel">
          {id === value && content()}
        </div>
      ))}
    </div>
  );
}
