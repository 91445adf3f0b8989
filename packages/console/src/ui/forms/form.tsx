// Forms: an error about a field is shown at that field, other errors above the buttons, and the first field
// with an error gets the focus. Invariant: a refused form keeps all input.
import { VaultError } from '@secrets-vault/client';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { saved } from '../../changes/unsaved';
import { Button } from '../controls/button';
import { Refusal } from '../dialogs/refusal';

export interface Problems {
  /** The error of a field, by its name in the API. */
  of: (field: string) => string | undefined;
  error: unknown;
}

const pathsOf = (error: unknown): { path: string; message: string }[] =>
  error instanceof VaultError ? [...error.details] : [];

/** The service's errors for the last attempt. */
export function useProblems(): Problems & { set: (error: unknown) => void } {
  const [error, set] = useState<unknown>(null);
  const of = (field: string) => {
    const found = pathsOf(error).find(({ path }) => path === field || path.startsWith(`${field}.`));
    return found && found.message.slice(0, 1).toUpperCase() + found.message.slice(1);
  };
  return { error, set, of };
}

interface FormProps {
  /** The label of the button: a verb and its object. */
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
  // The fields with errors are known only after rendering.
  useLayoutEffect(() => {
    const first = error ? form.current?.querySelector<HTMLElement>('[aria-invalid="true"]') : null;
    setAtField(Boolean(first));
    first?.focus();
  }, [error]);
  const submit = async () => {
    problems.set(null);
    if (!form.current?.reportValidity()) return;
    const { current } = form;
    await onSubmit().then(
      () => saved(current),
      (refused) => problems.set(refused),
    );
  };
  return (
    <form ref={form} onSubmit={(event) => event.preventDefault()}>
      <div class="stack">{children}</div>
      {isAtField ? null : <Refusal error={error} />}
      <footer class="dialog-foot">
        {onCancel && <Button onPress={onCancel}>Cancel</Button>}
        <Button kind={danger ? 'danger' : 'primary'} type="submit" disabled={disabled} onPress={submit}>
          {action}
        </Button>
      </footer>
    </form>
  );
}
