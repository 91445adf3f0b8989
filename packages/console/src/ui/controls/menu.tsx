// A button that opens a list of actions (the ARIA menu button pattern, by Zag).
import * as menu from '@zag-js/menu';
import { normalizeProps, useMachine } from '@zag-js/preact';
import { Check, EllipsisVertical } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { createPortal } from 'preact/compat';
import { useId, useRef } from 'preact/hooks';
import { report } from '../toast';

export interface Action {
  label: string;
  onSelect: () => unknown;
  danger?: boolean;
  icon?: ComponentChildren;
  /** Whether this is the current choice. */
  isCurrent?: boolean;
}

/** @param label the accessible name of the menu, if its button shows only an icon */
export function Menu({
  label,
  actions,
  children,
}: {
  label: string;
  actions: (Action | false | null | undefined)[];
  children?: ComponentChildren;
}) {
  const shown = actions.filter((action): action is Action => !!action);
  const trigger = useRef<HTMLButtonElement>(null);
  const service = useMachine(menu.machine, {
    id: useId(),
    onSelect: ({ value }: { value: string }) => {
      // The menu disappears: a dialog that the action opens gives the focus back to its button.
      trigger.current?.focus();
      const result = shown[Number(value)]?.onSelect();
      if (result instanceof Promise) result.catch(report);
    },
    positioning: { placement: 'bottom-end' },
  });
  const api = menu.connect(service, normalizeProps);
  if (!shown.length) return null;
  return (
    <>
      <button
        {...api.getTriggerProps()}
        ref={trigger}
        class={children ? 'button plain' : 'button quiet icon'}
        aria-label={children ? undefined : label}
        title={label}
      >
        {children ?? <EllipsisVertical size={16} />}
      </button>
      {api.open &&
        createPortal(
          <div {...api.getPositionerProps()}>
            <ul {...api.getContentProps()} class="menu">
              {shown.map(({ label: name, danger, icon, isCurrent }, index) => (
                <li
                  key={name}
                  {...api.getItemProps({ value: String(index) })}
                  class={danger ? 'danger' : undefined}
                >
                  {icon}
                  <span class="grow">{name}</span>
                  {isCurrent && (
                    <>
                      <Check size={15} aria-hidden="true" />
                      <span class="unseen">chosen</span>
                    </>
                  )}
                </li>
              ))}
            </ul>
          </div>,
          document.body,
        )}
    </>
  );
}
