// Exports a file for infrastructure tools. Invariant: the service generates the file; it is downloaded
// directly and not shown.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { useParameter } from '../../navigation/router';
import { environments, useEnvironment } from '../../organisation/environments';
import { here, vault } from '../../requests/api';
import { SelectField, TextArea } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Crumbs } from '../../ui/page';
import { PageHead } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { download } from '../../ui/values/download';

type Format = components['schemas']['GenerateIn']['format'];

const FORMATS: [Format, string][] = [
  ['dotenv', '.env file'],
  ['json', 'JSON'],
  ['yaml', 'YAML'],
  ['shell', 'Shell script'],
  ['kubernetes', 'Kubernetes Secret'],
  ['external-secrets', 'Kubernetes ExternalSecret'],
  ['helm', 'Helm values'],
  ['docker-env', 'Docker env file'],
  ['compose-secrets', 'Docker Compose secrets'],
  ['tfvars', 'Terraform variables'],
  ['tfvars-json', 'Terraform variables as JSON'],
  ['ansible', 'Ansible variables'],
  ['systemd', 'systemd environment file'],
  ['github-actions', 'GitHub Actions'],
  ['dev-vars', 'Wrangler .dev.vars'],
  ['properties', 'Java properties'],
];

/** The names that were selected in the list, if it led here. */
function selected(): string[] {
  const { names } = (history.state ?? {}) as { names?: unknown };
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

export default function Export() {
  const [environment, chooseEnvironment] = useEnvironment();
  const [format, setFormat] = useParameter('format');
  const [names, setNames] = useState(() => selected().join('\n'));
  const problems = useProblems();
  const chosen = (format || 'dotenv') as Format;
  const run = async () => {
    const only = names.split(/\s+/).filter(Boolean);
    const { data } = await vault().api.POST('/orgs/{org_id}/integrations/generate', {
      params: { path: here() },
      body: { format: chosen, environmentId: environment, ...(only.length && { names: only }) },
    });
    download(data.filename, data.contentType, data.content);
    tell(
      `${data.filename} downloaded`,
      'It contains values in plain text: delete it when you no longer need it.',
    );
  };
  return (
    <>
      <Crumbs places={[['/secrets', 'Secrets']]} />
      <PageHead
        title="Export secrets"
        lead="Download the values of an environment as a file. For programs, reading from the vault is safer."
      />
      <div class="narrow">
        <Form action="Download file" onSubmit={run} problems={problems}>
          <div class="columns">
            <SelectField
              label="Environment"
              value={environment}
              onValue={chooseEnvironment}
              choices={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
            />
            <SelectField
              label="Format"
              value={chosen}
              onValue={setFormat}
              choices={FORMATS.map(([value, label]) => ({ value, label }))}
            />
          </div>
          <TextArea
            label="Names"
            optional
            class="mono"
            value={names}
            onValue={setNames}
            error={problems.of('names')}
            hint="One per line. Leave empty for all active secrets that you can read."
            spellcheck={false}
          />
          <p class="note warn">
            The file contains values in plain text. The read is recorded in the audit log under your name.
          </p>
        </Form>
      </div>
    </>
  );
}
