// Forms: what the service says is wrong with a field stands at that field, the rest above the buttons, and the first such field gets the
// focus. Invariant: a form that is refused keeps all that was typed.
import { ApprovalRequiredError, VaultError } from '@secrets-vault/client';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from './button';
import { ErrorNote } from './parts';

export interface Problems {
  /** What is wrong with a field, by its name in the API. */
  of: (field: string) => string | undefined;
  error: unknown;
}

const pathsOf = (error: unknown): { path: string; message: string }[] => (error instanceof VaultError ? [...error.details] : []);

/** What the service said about the last attempt. */
export function useProblems(): Problems & { set: (error: unknown) => void } {
  const [error, set] = useState<unknown>(null);
  const of = (field: string) => {
    const found = pathsOf(error).find(({ path }) => path === field || path.startsWith(`${field}.`));
    return found && found.message.slice(0, 1).toUpperCase() + found.message.slice(1);
  };
  return { error, set, of };
}

/** A change that waits for approval: where it waits. */
export const Held = ({ error }: { error: ApprovalRequiredError }) => (
  <div class="note warn" role="alert">
    <p>
      A policy holds this until it is approved. <Link href={`/approvals/${error.approval.id}`}>See the request</Link>, and do it again once
      it is approved.
    </p>
  </div>
);

interface FormProps {
  /** The words of the button: a verb and what it acts on. */
  action: string;
  onSubmit: () => Promise<unknown>;
  onCancel?: () => void;
  problems: Problems & { set: (error: unknown) => void };
  danger?: boolean;
  disabled?: boolean;
  children: ComponentChildren;
}

export function Form({ action, onSubmit, onCancel, problems, danger, disabled, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const { error } = problems;
  const [isAtField, setAtField] = useState(false);
  // Which fields say what is wrong is known once they are drawn.
  useLayoutEffect(() => {
    const first = error ? form.current?.querySelector<HTMLElement>('[aria-invalid="true"]') : null;
    setAtField(Boolean(first));
    first?.focus();
  }, [error]);
  const submit = async () => {
    problems.set(null);
    if (!form.current?.reportValidity()) return;
    await onSubmit().catch((refused) => problems.set(refused));
  };
  return (
    <form ref={form} onSubmit={(event) => event.preventDefault()}>
      <div class="stack">{children}</div>
      {error instanceof ApprovalRequiredError ? <Held error={error} /> : error && !isAtField ? <ErrorNote error={error} /> : null}
      <footer class="dialog-foot">
        {onCancel && <Button onPress={onCancel}>Cancel</Button>}
        <Button kind={danger ? 'danger' : 'primary'} type="submit" disabled={disabled} onPress={submit}>
          {action}
        </Button>
      </footer>
    </form>
  );
}
