// The fields of a platform's config. Invariant: credentials are password fields that the browser does not
// store, and contain only text typed here.
import { Choices } from '../../ui/forms/choices';
import { Checkbox, SelectField, TextArea, TextField } from '../../ui/forms/field';
import type { Problems } from '../../ui/forms/form';
import type { Config, Draft, Field } from './schema';
import { labelOf } from './schema';

interface OneProps {
  field: Field;
  value: Draft[string] | undefined;
  onValue: (value: Draft[string]) => void;
  error?: string;
  /** For a credential of a stored connection: the known facts. */
  kept?: string;
}

function One({ field, value, onValue, error, kept }: OneProps) {
  const { label, type, choices, isCredential } = field;
  const optional = !field.isRequired;
  const common = { label, error, optional, secret: isCredential, value: String(value ?? ''), onValue };
  const required = field.isRequired && !kept;
  if (type === 'check') return <Checkbox label={label} checked={value === true} onChecked={onValue} />;
  if (type === 'choices')
    return (
      <Choices
        label={label}
        error={error}
        optional={optional}
        choices={choices.map((choice) => ({ value: choice, label: choice }))}
        value={Array.isArray(value) ? value : []}
        onValue={onValue}
      />
    );
  if (type === 'choice') {
    const none =
      field.default === undefined ? [{ value: '', label: field.isRequired ? 'Choose one' : 'Not set' }] : [];
    return (
      <SelectField
        {...{ label, error, optional, value: common.value, onValue }}
        required={required}
        choices={[...none, ...choices.map((choice) => ({ value: choice, label: choice }))]}
      />
    );
  }
  if (type === 'lines' || type === 'numbers')
    return <TextArea {...common} required={required} rows={3} hint="One per line" />;
  if (type === 'long')
    return (
      <TextArea
        {...common}
        required={required}
        class="mono concealed"
        rows={4}
        spellcheck={false}
        hint={kept ?? 'Paste the whole file'}
      />
    );
  const plain = typeof field.default === 'string' ? { placeholder: field.default } : {};
  return (
    <TextField
      {...common}
      {...(isCredential ? { type: 'password', autocomplete: 'new-password' } : plain)}
      required={required}
      spellcheck={false}
      maxLength={16_384}
      inputMode={type === 'number' ? 'numeric' : undefined}
      hint={kept}
    />
  );
}

/** `['owner', 'repo']` in words: `Owner and repository`. */
const alternativeLabel = ([first = '', ...rest]: string[]): string =>
  [
    labelOf(first),
    ...rest.map((name) => labelOf(name).replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())),
  ].join(' and ');

interface ConfigFieldsProps {
  fields: Field[];
  alternatives: string[][];
  chosen: number;
  onChosen: (chosen: number) => void;
  draft: Draft;
  onDraft: (draft: Draft) => void;
  problems: Problems;
  /** The config of a stored connection, and whether its credentials must be entered again. */
  stored?: { config: Config; mustComeAlong: boolean };
}

/** The hint for a stored credential. */
function keptOf(field: Field, stored: ConfigFieldsProps['stored']): string | undefined {
  if (!stored || !field.isCredential) return undefined;
  if (stored.mustComeAlong) return undefined;
  const shown = stored.config[field.name];
  return shown ? `Stored, for ${shown}. Leave empty to keep it.` : 'Stored. Leave empty to keep it.';
}

export function ConfigFields({
  fields,
  alternatives,
  chosen,
  onChosen,
  draft,
  onDraft,
  problems,
  stored,
}: ConfigFieldsProps) {
  return (
    <>
      {alternatives.length > 1 && (
        <SelectField
          label="Write to"
          value={String(chosen)}
          onValue={(value) => onChosen(Number(value))}
          choices={alternatives.map((names, index) => ({
            value: String(index),
            label: alternativeLabel(names),
          }))}
        />
      )}
      {fields.map((field) => (
        <One
          key={field.name}
          field={field}
          value={draft[field.name]}
          onValue={(value) => onDraft({ ...draft, [field.name]: value })}
          error={problems.of(`config.${field.name}`)}
          kept={keptOf(field, stored)}
        />
      ))}
    </>
  );
}
