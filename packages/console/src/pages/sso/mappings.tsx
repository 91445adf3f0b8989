// Rows of a form: what each group of a provider gives.
import { Trash2 } from 'lucide-preact';
import { Button, IconButton } from '../../ui/controls/button';
import { type Choice, SelectField, TextField } from '../../ui/forms/field';
import '../../styles/sso.css';
import '../../styles/options.css';

/** A group and what it gives, by the value of a choice. */
export interface Mapping {
  group: string;
  gives: string;
}

export function Mappings({
  label,
  of,
  choices,
  value,
  onValue,
  errorAt,
}: {
  label: string;
  /** What a group gives, as the label of each choice. */
  of: string;
  choices: Choice[];
  value: readonly Mapping[];
  onValue: (value: Mapping[]) => void;
  errorAt: (at: number) => string | undefined;
}) {
  const put = (at: number, part: Partial<Mapping>) =>
    onValue(value.map((one, index) => (index === at ? { ...one, ...part } : one)));
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {value.map(({ group, gives }, at) => (
        <div class="mapping" key={at}>
          <TextField
            label="Group"
            value={group}
            onValue={(text) => put(at, { group: text })}
            error={errorAt(at)}
            required
            maxLength={256}
          />
          <SelectField
            label={of}
            value={gives}
            onValue={(one) => put(at, { gives: one })}
            choices={choices}
          />
          <IconButton
            label={`Remove ${group || 'group'}`}
            onPress={() => onValue(value.filter((_, index) => index !== at))}
          >
            <Trash2 size={16} />
          </IconButton>
        </div>
      ))}
      <div>
        <Button
          small
          disabled={choices.length === 0}
          onPress={() => onValue([...value, { group: '', gives: choices[0]?.value ?? '' }])}
        >
          Add group
        </Button>
      </div>
    </fieldset>
  );
}
