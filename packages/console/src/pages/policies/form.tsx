// The dialog that creates or changes a policy, with a live preview of the secrets it affects.
import type { components } from '@secrets-vault/client';
import { useLocation } from 'wouter-preact';
import { byLine, changedOf } from '../../changes/merge';
import { environments } from '../../organisation/environments';
import { at, forget, here, vault } from '../../requests/api';
import { useEdit } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { Checkbox, TextArea, TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { ChecksField, RadioField } from '../../ui/forms/options';
import { tell, warn } from '../../ui/toast';
import { typeChoices } from '../secrets/type-names';
import { commonOf, configOf, type Draft, draftOf, emptyDraft } from './draft';
import { ApprovalFields, type FieldsProps, NamingFields, RotationFields } from './kinds';
import { Preview } from './preview';
import { type Kind, kindLabels, kindLeads, type Policy } from './words';
import '../../styles/access.css';

const fields = { naming: NamingFields, rotation: RotationFields, approval: ApprovalFields };

const Where = ({ draft, change, problems }: FieldsProps) => (
  <details open={draft.environments.length + draft.types.length > 0 || draft.names !== ''}>
    <summary>Secrets it applies to</summary>
    <div class="stack below-summary">
      <ChecksField
        label="Environments"
        value={draft.environments}
        onValue={(chosen) => change({ environments: chosen })}
        options={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
        hint="Leave empty to apply to all."
        error={problems.of('applies_to.environments')}
      />
      <TextArea
        label="Names"
        optional
        class="mono"
        rows={2}
        spellcheck={false}
        value={draft.names}
        onValue={(names) => change({ names })}
        error={problems.of('applies_to.names')}
        hint="One pattern per line. * matches any characters. Leave empty to apply to all."
      />
      <ChecksField
        label="Types"
        value={draft.types}
        onValue={(types) => change({ types })}
        options={typeChoices}
        hint="Leave empty to apply to all."
        error={problems.of('applies_to.types')}
      />
    </div>
  </details>
);

const kinds: Kind[] = ['approval', 'rotation', 'naming'];

/** All fields that a change may send. */
const fieldsOf = (draft: Draft) => ({ ...commonOf(draft), config: configOf(draft).config });

/** @param policy the policy to change; omitted to create one */
export function PolicyForm({ policy, onClose }: { policy?: Policy; onClose: () => void }) {
  const { first, draft, setDraft, isSame, changing } = useEdit(
    policy,
    (of) => (of ? draftOf(of) : emptyDraft()),
    { names: byLine },
  );
  const problems = useProblems();
  const [, go] = useLocation();
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const patch = changedOf(fieldsOf(first), fieldsOf(draft));
  const save = async () => {
    const { api } = vault();
    if (policy) {
      await changing((header) =>
        api.PATCH('/orgs/{org_id}/policies/{id}', { ...at(policy.id, header), body: patch }),
      );
      await forget('policies');
      tell(`${draft.name} saved`);
      return onClose();
    }
    const body = { ...commonOf(draft), ...configOf(draft) } as components['schemas']['PolicyIn'];
    const { data } = await api.POST('/orgs/{org_id}/policies', { params: { path: here() }, body });
    await forget('policies');
    if (data.warning) warn(`${draft.name} created`, data.warning);
    else tell(`${draft.name} created`);
    go(`/policies/${data.id}`);
  };
  const Fields = fields[draft.kind];
  return (
    <Dialog
      side
      title={policy ? `Edit ${policy.name}` : 'New policy'}
      lead={policy && kindLeads[draft.kind]}
      onClose={onClose}
      dirty={!isSame}
    >
      <Form
        action={policy ? 'Save changes' : 'Create policy'}
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={policy && !Object.keys(patch).length}
      >
        {!policy && (
          <RadioField
            label="Kind"
            value={draft.kind}
            onValue={(kind) => change({ kind: kind as Kind })}
            options={kinds.map((kind) => ({ value: kind, label: kindLabels[kind], hint: kindLeads[kind] }))}
          />
        )}
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => change({ name })}
          error={problems.of('name')}
          required
          maxLength={255}
        />
        <Fields draft={draft} change={change} problems={problems} />
        <Where draft={draft} change={change} problems={problems} />
        <Preview draft={draft} />
        <Checkbox
          label="Enabled"
          hint="A disabled policy is kept but has no effect."
          checked={draft.enabled}
          onChecked={(enabled) => change({ enabled })}
        />
      </Form>
    </Dialog>
  );
}
