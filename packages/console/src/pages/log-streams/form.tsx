// Creates a log stream, or gives it another target. Invariant: a signing secret is shown once, by `OneTime`;
// stored credentials are never shown, so a new target takes its own.
import { useState } from 'preact/hooks';
import { at, forget, here, vault } from '../../requests/api';
import { useChange } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import { OneTime } from '../../ui/values/one-time';
import { configOf, type Kind, kinds, type LogStream } from './kinds';

type Texts = Record<string, string>;

function ConfigFields({
  kind,
  texts,
  change,
  problems,
}: {
  kind: Kind;
  texts: Texts;
  change: (texts: Texts) => void;
  problems: ReturnType<typeof useProblems>;
}) {
  return (
    <>
      {kinds[kind].fields.map(({ name, optional, ...field }) => {
        const props = {
          ...field,
          optional,
          required: !optional,
          value: texts[name] ?? '',
          onValue: (text: string) => change({ ...texts, [name]: text }),
          error: problems.of(`config.${name}`),
        };
        return name === 'headers' ? <TextArea key={name} {...props} /> : <TextField key={name} {...props} />;
      })}
    </>
  );
}

const Secret = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <OneTime
    title="Signing secret"
    lead="The receiver uses it to verify that requests come from this service."
    text={secret}
    onClose={onClose}
  />
);

const FORMATS = [
  { value: 'svc', label: 'As in the audit log' },
  { value: 'ocsf', label: 'OCSF' },
];
const BEGINNINGS = [
  { value: 'now', label: 'Now' },
  { value: 'beginning', label: 'The beginning of the log' },
];

export function NewLogStream({ onClose }: { onClose: () => void }) {
  const [kind, setKind] = useState<Kind>('https');
  const [name, setName] = useState('');
  const [format, setFormat] = useState('svc');
  const [from, setFrom] = useState('now');
  const [texts, setTexts] = useState<Texts>({});
  const [secret, setSecret] = useState<string | null>(null);
  const problems = useProblems();
  const create = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/log-streams', {
      params: { path: here() },
      body: {
        name,
        kind,
        config: configOf(kind, texts),
        format: format as LogStream['format'],
        from: from as 'now' | 'beginning',
      },
    });
    await forget('log-streams');
    tell('Log stream created');
    if (data.secret) setSecret(data.secret);
    else onClose();
  };
  if (secret) return <Secret secret={secret} onClose={onClose} />;
  return (
    <Dialog
      title="New log stream"
      lead="Sends the audit log as it grows, in order. Entries contain no values."
      onClose={onClose}
      dirty={name !== '' || Object.values(texts).some(Boolean)}
    >
      <Form action="Create log stream" onSubmit={create} onCancel={onClose} problems={problems}>
        <TextField
          label="Name"
          value={name}
          onValue={setName}
          error={problems.of('name')}
          required
          maxLength={255}
        />
        <SelectField
          label="Target"
          value={kind}
          onValue={(value) => setKind(value as Kind)}
          choices={Object.entries(kinds).map(([value, { label }]) => ({ value, label }))}
          error={problems.of('kind')}
        />
        <ConfigFields kind={kind} texts={texts} change={setTexts} problems={problems} />
        <SelectField
          label="Format"
          value={format}
          onValue={setFormat}
          choices={FORMATS}
          error={problems.of('format')}
        />
        <SelectField
          label="Send from"
          value={from}
          onValue={setFrom}
          choices={BEGINNINGS}
          error={problems.of('from')}
        />
      </Form>
    </Dialog>
  );
}

export function NewTarget({ stream, onClose }: { stream: LogStream; onClose: () => void }) {
  const shown = Object.entries(stream.config).map(([name, value]) => [name, [value].flat().join(', ')]);
  const [texts, setTexts] = useState<Texts>(Object.fromEntries(shown));
  const [secret, setSecret] = useState<string | null>(null);
  const problems = useProblems();
  const changing = useChange(stream);
  const save = async () => {
    const { data } = await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/log-streams/{id}', {
        ...at(stream.id, header),
        body: { config: configOf(stream.kind, texts) },
      }),
    );
    await forget('log-streams');
    tell('Target saved');
    if (data.secret) setSecret(data.secret);
    else onClose();
  };
  if (secret) return <Secret secret={secret} onClose={onClose} />;
  return (
    <Dialog
      title="Change target"
      lead="Enter the credentials again: the new target replaces the stored one as a whole. The old target first gets the entries up to this change."
      onClose={onClose}
      dirty={Object.values(texts).some(Boolean)}
    >
      <Form action="Save target" onSubmit={save} onCancel={onClose} problems={problems}>
        <ConfigFields kind={stream.kind} texts={texts} change={setTexts} problems={problems} />
      </Form>
    </Dialog>
  );
}

/** Sends entries again from a sequence on. */
export function Seek({ stream, onClose }: { stream: LogStream; onClose: () => void }) {
  const [sequence, setSequence] = useState('');
  const problems = useProblems();
  const seek = async () => {
    await vault().api.POST('/orgs/{org_id}/log-streams/{id}/seek', {
      ...at(stream.id),
      body: { sequence: Number(sequence) },
    });
    await forget('log-streams');
    tell('Entries are sent again');
    onClose();
  };
  return (
    <Dialog
      title="Send entries again"
      lead="Entries from this sequence on are sent again, at 10 MB a minute at most."
      onClose={onClose}
      dirty={sequence !== ''}
    >
      <Form action="Send again" onSubmit={seek} onCancel={onClose} problems={problems}>
        <TextField
          label="From sequence"
          inputMode="numeric"
          pattern="[0-9]*"
          value={sequence}
          onValue={setSequence}
          error={problems.of('sequence')}
          hint={`At most ${stream.position.sequence}.`}
          required
        />
      </Form>
    </Dialog>
  );
}
