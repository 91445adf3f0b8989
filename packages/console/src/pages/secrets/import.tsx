// Imports a dropped file, with a preview. Invariant: the file stays in the memory of this page, and nothing
// is written before the preview is shown.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useDrop } from '../../changes/unsaved';
import { counted } from '../../counted';
import { useGuard } from '../../navigation/guard';
import { environments, useEnvironment } from '../../organisation/environments';
import { forget, here, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { DropFiles } from '../../ui/forms/drop-files';
import { SelectField, TextArea, TextField } from '../../ui/forms/field';
import { Crumbs } from '../../ui/page';
import { ErrorNote, PageHead } from '../../ui/parts';
import { tell } from '../../ui/toast';

type ImportIn = components['schemas']['ImportIn'];
type Imported = components['schemas']['Imported'];

const SOURCES: [ImportIn['source'], string][] = [
  ['dotenv', '.env file'],
  ['svc', 'This service, or a JSON map of names and values'],
  ['vault', 'HashiCorp Vault or OpenBao'],
  ['doppler', 'Doppler'],
  ['infisical', 'Infisical'],
  ['aws-secrets-manager', 'AWS Secrets Manager'],
  ['aws-ssm', 'AWS Parameter Store'],
  ['gcp-secret-manager', 'Google Secret Manager'],
  ['azure-key-vault', 'Azure Key Vault'],
  ['1password', '1Password'],
  ['bitwarden-secrets-manager', 'Bitwarden Secrets Manager'],
  ['bitwarden', 'Bitwarden'],
  ['keeper', 'Keeper'],
  ['conjur', 'Conjur'],
];

/** The most likely source of a file. */
export const sourceOf = (name: string, text: string): ImportIn['source'] =>
  /\.json$/i.test(name) || /^\s*[[{]/.test(text) ? 'svc' : 'dotenv';

function Names({ title, names }: { title: string; names: string[] }) {
  if (!names.length) return null;
  return (
    <details class="card" open={names.length <= 20}>
      <summary>
        {title} <span class="count">{names.length}</span>
      </summary>
      <ul class="names mono">
        {names.slice(0, 500).map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
      {names.length > 500 && <p class="dim">And {names.length - 500} more</p>}
    </details>
  );
}

function Plan({ plan, done }: { plan: Imported; done: boolean }) {
  return (
    <section class="stack" aria-live="polite">
      <h2>{done ? 'Import result' : 'Preview'}</h2>
      <Names title={done ? 'Created' : 'Would be created'} names={plan.created} />
      <Names title={done ? 'Updated' : 'Would be updated'} names={plan.updated} />
      <Names title="Already exist and are skipped" names={plan.skipped} />
      <Names title="Cannot be imported" names={plan.failed.map(({ name, reason }) => `${name}: ${reason}`)} />
    </section>
  );
}

/** For a text that is not in a file. */
const Paste = ({ file, onText }: { file: Chosen | null; onText: (text: string) => void }) => (
  <details>
    <summary>Paste text instead</summary>
    <div class="below-summary">
      <TextArea
        label="Text"
        class="mono"
        rows={6}
        spellcheck={false}
        value={file?.name === PASTED ? file.text : ''}
        onValue={onText}
        hint="For example NAME=value lines. It stays in this page until you import it."
      />
    </div>
  </details>
);

const PASTED = 'Pasted text';

interface Chosen {
  name: string;
  text: string;
}

interface Options {
  source: ImportIn['source'];
  onConflict: ImportIn['onConflict'];
  prefix: string;
}

function How({
  options,
  environment,
  change,
  chooseEnvironment,
}: {
  options: Options;
  environment: string;
  change: (part: Partial<Options>) => void;
  chooseEnvironment: (slug: string) => void;
}) {
  return (
    <>
      <div class="columns">
        <SelectField
          label="Source"
          value={options.source}
          onValue={(value) => change({ source: value as ImportIn['source'] })}
          choices={SOURCES.map(([value, label]) => ({ value, label }))}
        />
        <SelectField
          label="Environment"
          value={environment}
          onValue={chooseEnvironment}
          choices={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
        />
      </div>
      <div class="columns">
        <SelectField
          label="If a secret exists"
          value={options.onConflict}
          onValue={(value) => change({ onConflict: value as ImportIn['onConflict'] })}
          choices={[
            { value: 'skip', label: 'Skip it' },
            { value: 'overwrite', label: 'Create a new version' },
            { value: 'fail', label: 'Stop the whole import' },
          ]}
        />
        <TextField
          label="Folder"
          optional
          class="mono"
          value={options.prefix}
          onValue={(prefix) => change({ prefix })}
          hint="Added before each name, such as billing/"
        />
      </div>
    </>
  );
}

export default function Import() {
  const [environment, chooseEnvironment] = useEnvironment();
  const [file, setFile] = useState<Chosen | null>(null);
  const [options, setOptions] = useState<Options>({ source: 'dotenv', onConflict: 'skip', prefix: '' });
  const [plan, setPlan] = useState<{ plan: Imported; done: boolean } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const change = (part: Partial<Options>) => {
    setOptions((before) => ({ ...before, ...part }));
    setPlan(null);
  };
  const onEnvironment = (slug: string) => {
    setPlan(null);
    chooseEnvironment(slug);
  };
  useDrop('read', () => setFile(null));
  useGuard(file && !plan?.done ? `${file.name} is not imported yet.` : undefined);
  const choose = (name: string, text: string) => {
    setFile(text ? { name, text } : null);
    change({ source: sourceOf(name, text) });
    setError(null);
  };
  const take = async ([taken]: File[]) => {
    if (taken) choose(taken.name, await taken.text());
  };
  const run = async (dryRun: boolean) => {
    setError(null);
    try {
      const { prefix, ...rest } = options;
      const { data } = await vault().api.POST('/orgs/{org_id}/integrations/import', {
        params: { path: here() },
        body: {
          ...rest,
          data: file?.text ?? '',
          environmentId: environment,
          dryRun,
          ...(prefix && { prefix }),
        },
      });
      setPlan({ plan: data, done: !dryRun });
      if (dryRun) return;
      await forget('secrets');
      tell(`${counted(data.created.length + data.updated.length, 'secret')} imported`);
    } catch (refused) {
      setError(refused);
    }
  };
  const count = plan ? plan.plan.created.length + plan.plan.updated.length : 0;
  return (
    <>
      <Crumbs places={[['/secrets', 'Secrets']]} />
      <PageHead
        title="Import secrets"
        lead="Import a .env file or the export of another tool. You see a preview before anything is written."
      />
      <div class="stack narrow">
        <DropFiles onFiles={take}>
          {file && (
            <>
              <strong class="mono">{file.name}</strong>{' '}
              <span class="dim">{counted(file.text.length, 'character')}. Drop another to replace it.</span>
            </>
          )}
        </DropFiles>
        <Paste file={file} onText={(text) => choose(PASTED, text)} />
        <How options={options} environment={environment} change={change} chooseEnvironment={onEnvironment} />
        {error ? <ErrorNote error={error} /> : null}
        <div class="row">
          <Button kind={plan && !plan.done ? 'plain' : 'primary'} disabled={!file} onPress={() => run(true)}>
            Preview
          </Button>
          {plan && !plan.done && (
            <Button kind="primary" disabled={!count} onPress={() => run(false)}>
              Import {counted(count, 'secret')}
            </Button>
          )}
          {plan?.done && (
            <Link href={`/secrets?environment=${environment}`}>View secrets in {environment}</Link>
          )}
        </div>
        {plan && <Plan {...plan} />}
      </div>
    </>
  );
}
