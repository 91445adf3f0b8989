// Toasts for results and errors. Invariant: a message is plain text, and an error links to its documentation.
import { ApprovalRequiredError } from '@secrets-vault/client';
import { normalizeProps, useMachine } from '@zag-js/preact';
import * as toast from '@zag-js/toast';
import { X } from 'lucide-preact';
import { useId } from 'preact/hooks';
import { BASE } from '../navigation/router';
import { explain } from '../requests/errors';

const store = toast.createStore({ placement: 'bottom-end', overlap: false, max: 4 });

/**
 * Shows a success message.
 * @param undo takes the change back, if it can be; offered while the message is shown
 */
export const tell = (title: string, description?: string, undo?: () => Promise<unknown>): void => {
  store.create({
    title,
    description,
    type: 'success',
    duration: undo ? 12_000 : 5000,
    meta: { undo },
  });
};

/** Shows what the member has to do themselves. */
export const warn = (title: string, description: string): void => {
  store.create({ title, description, type: 'warning', duration: 12_000 });
};

/** Shows that a policy holds the action, with a link to the request. */
const tellHeld = ({ approval }: ApprovalRequiredError): void => {
  store.create({
    title: 'A policy holds this until it is approved',
    description: 'Repeat the action once it is approved.',
    type: 'warning',
    duration: 12_000,
    meta: { docs: `${BASE}/approvals/${encodeURIComponent(approval.id ?? '')}`, words: 'View request' },
  });
};

/** Shows an error with the service's message. */
export function report(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  if (error instanceof ApprovalRequiredError) {
    tellHeld(error);
    return;
  }
  const { title, help, docs } = explain(error);
  store.create({ title, description: help, type: 'error', duration: 12_000, meta: { docs } });
}

interface Meta {
  docs?: string;
  words?: string;
  undo?: () => Promise<unknown>;
}

function Toast({
  actor,
  index,
  parent,
}: {
  actor: toast.Options<string>;
  index: number;
  parent: toast.GroupService;
}) {
  const service = useMachine(toast.machine, { ...actor, parent, index });
  const api = toast.connect(service, normalizeProps);
  const { docs, words = 'About this error', undo } = (actor.meta ?? {}) as Meta;
  // The message goes first, so that a second press takes nothing back.
  const takeBack = () => {
    api.dismiss();
    undo?.().catch(report);
  };
  return (
    <div {...api.getRootProps()} class="toast">
      <div>
        <p {...api.getTitleProps()} class="toast-title">
          {api.title}
        </p>
        {api.description && (
          <p {...api.getDescriptionProps()} class="dim">
            {api.description}{' '}
            {docs && (
              <a href={docs} target="_blank" rel="noreferrer">
                {words}
              </a>
            )}
          </p>
        )}
      </div>
      {undo && (
        <button type="button" class="button plain small" onClick={takeBack}>
          Undo
        </button>
      )}
      <button type="button" class="button quiet icon small" aria-label="Close message" onClick={api.dismiss}>
        <X size={16} />
      </button>
    </div>
  );
}

export function Toasts() {
  const service = useMachine(toast.group.machine, { id: useId(), store });
  const api = toast.group.connect(service, normalizeProps);
  return (
    <div {...api.getGroupProps()} class="toasts">
      {api.getToasts().map((each, index) => (
        <Toast key={each.id} actor={each} index={index} parent={service} />
      ))}
    </div>
  );
}
