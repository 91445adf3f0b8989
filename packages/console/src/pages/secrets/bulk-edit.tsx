// Edits tags, lifetimes and rotation of several secrets. Invariant: each secret is a request of its own
// that names the state that was shown, and has a row with its result; those that failed, and those that
// were not reached when the member stopped, stay selected. The row of one that somebody else changed shows
// what differs: a further edit is made to that state.
import { ApprovalRequiredError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { ChangedError, wordsOf } from '../../changes/changed-error';
import { counted } from '../../counted';
import { at, forget, vault } from '../../requests/api';
import { explain } from '../../requests/errors';
import { change, currentOf } from '../../requests/seen';
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import { useStop } from '../../ui/dialogs/stop';
import { SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Badge, type Tone } from '../../ui/parts';
import { type Choice, type Draft, patchOf } from './bulk';
import { checkTags, tagsOf } from './change';
import { amount } from './create';
import type { Secret } from './secret';

type Input = Omit<Draft, 'tags'> & { tags: string };

const UNTOUCHED: Input = {
  tags: '',
  untag: '',
  lifetime: 'keep',
  lifetimeDays: '90',
  rotation: 'keep',
  rotationDays: '90',
};

interface Result {
  secret: Secret;
  tone: Tone;
  label: string;
  /** Why it was not changed. */
  why?: string;
  /** Makes the next edit apply to the state that `why` tells of. */
  accept?: () => void;
}

async function edit(secret: Secret, draft: Draft): Promise<Result> {
  // A list that has not been read again does not show what an earlier edit set.
  const body = patchOf(currentOf(secret), draft);
  if (!Object.keys(body).length) return { secret, tone: 'plain', label: 'as it was' };
  try {
    await change(secret, (header) =>
      vault().api.PATCH('/orgs/{org_id}/secrets/{id}', { ...at(secret.id, header), body }),
    );
    return { secret, tone: 'good', label: 'changed' };
  } catch (error) {
    if (error instanceof ApprovalRequiredError) return { secret, tone: 'warn', label: 'waits for approval' };
    const refused = { secret, tone: 'bad', label: 'not changed' } as const;
    if (!(error instanceof ChangedError)) return { ...refused, why: explain(error).title };
    return { ...refused, why: `${error.message}: ${wordsOf(error.differences)}`, accept: error.accept };
  }
}

/** The names, before anything happens to the secrets. */
export const Names = ({ secrets }: { secrets: Secret[] }) => (
  <ul class="names mono">
    {secrets.map(({ id, name }) => (
      <li key={id}>{name}</li>
    ))}
  </ul>
);

/** A row for each secret. */
const Results = ({ results, total, isDone }: { results: Result[]; total: number; isDone: boolean }) => (
  <>
    <p role="status">
      {isDone
        ? `${results.length < total ? 'Stopped. ' : ''}${counted(results.filter(({ tone }) => tone === 'good').length, 'secret')} changed`
        : `${results.length.toLocaleString()} of ${counted(total, 'secret')} done`}
    </p>
    <ul class="timeline long">
      {results.map(({ secret, tone, label, why }) => (
        <li key={secret.id}>
          <span class="grow truncate mono">{secret.name}</span>
          {why && <span class="dim small">{why}</span>}
          <Badge tone={tone}>{label}</Badge>
        </li>
      ))}
    </ul>
  </>
);

interface FieldsProps {
  input: Input;
  set: (part: Partial<Input>) => void;
  problems: ReturnType<typeof useProblems>;
}

function Fields({ input, set, problems }: FieldsProps) {
  const choices = (none: string) => [
    { value: 'keep', label: 'Leave as it is' },
    { value: 'days', label: 'Set, in days' },
    { value: 'none', label: none },
  ];
  return (
    <>
      <TextArea
        label="Add or replace tags"
        optional
        class="mono"
        value={input.tags}
        onValue={(tags) => set({ tags })}
        error={problems.of('tags')}
        hint="One per line, such as team: core"
      />
      <TextArea
        label="Remove tags"
        optional
        class="mono"
        rows={2}
        value={input.untag}
        onValue={(untag) => set({ untag })}
        hint="One key per line"
      />
      <SelectField
        label="Lifetime"
        value={input.lifetime}
        onValue={(lifetime) => set({ lifetime: lifetime as Choice })}
        choices={choices('No lifetime')}
      />
      {input.lifetime === 'days' && (
        <TextField
          label="Expires in (days from now)"
          required
          value={input.lifetimeDays}
          onValue={(lifetimeDays) => set({ lifetimeDays })}
          error={problems.of('ttlSeconds')}
          {...amount}
        />
      )}
      <SelectField
        label="Rotation"
        value={input.rotation}
        onValue={(rotation) => set({ rotation: rotation as Choice })}
        choices={choices('Never, unless a policy says so')}
      />
      {input.rotation === 'days' && (
        <TextField
          label="Rotate every (days)"
          required
          value={input.rotationDays}
          onValue={(rotationDays) => set({ rotationDays })}
          error={problems.of('rotate_every_seconds')}
          {...amount}
        />
      )}
    </>
  );
}

interface Props {
  environment: string;
  secrets: Secret[];
  /** Called with those that were not changed, for the selection. */
  onClose: (rest: Secret[]) => void;
}

export function EditSeveral({ environment, secrets: chosen, onClose }: Props) {
  // The list behind may be read again: a change names what was shown here.
  const [secrets] = useState(chosen);
  const [input, setInput] = useState(UNTOUCHED);
  const [results, setResults] = useState<Result[] | null>(null);
  const problems = useProblems();
  const isSame = JSON.stringify(input) === JSON.stringify(UNTOUCHED);
  const finished = new Set(
    results?.filter(({ tone }) => tone === 'good' || tone === 'plain').map(({ secret }) => secret.id),
  );
  const [isDone, setDone] = useState(false);
  const { begin, stop } = useStop();
  const isRunning = results !== null && !isDone;
  const close = () => {
    if (isRunning) return stop();
    for (const { accept } of results ?? []) accept?.();
    onClose(secrets.filter(({ id }) => !finished.has(id)));
  };
  const act = async () => {
    checkTags(input.tags);
    const draft = { ...input, tags: tagsOf(input.tags) };
    const run = begin();
    setResults([]);
    for (const secret of secrets) {
      if (run.isStopped) break;
      const result = await edit(secret, draft);
      setResults((before) => [...(before ?? []), result]);
    }
    setDone(true);
    await forget('secrets');
  };
  return (
    <Dialog
      title={`Edit ${counted(secrets.length, 'secret')} in ${environment}`}
      onClose={close}
      dirty={!isSame && !results}
    >
      {results ? (
        <div class="stack">
          <Results results={results} total={secrets.length} isDone={isDone} />
          <footer class="dialog-foot">
            <Button kind={isDone ? 'primary' : 'plain'} onPress={close}>
              {isDone ? 'Done' : 'Stop'}
            </Button>
          </footer>
        </div>
      ) : (
        <Form
          action={`Edit ${counted(secrets.length, 'secret')}`}
          onSubmit={act}
          onCancel={close}
          problems={problems}
          disabled={isSame}
        >
          <Names secrets={secrets} />
          <Fields input={input} set={(part) => setInput({ ...input, ...part })} problems={problems} />
        </Form>
      )}
    </Dialog>
  );
}
