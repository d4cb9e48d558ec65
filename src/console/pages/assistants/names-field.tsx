import { X } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { Combobox } from "../../ui/forms/combobox.tsx";
import { Field } from "../../ui/forms/field.tsx";
import type { Choice } from "../../ui/forms/select.tsx";

interface NamesFieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint?: ReactNode;
  /** "Add a store". */
  readonly placeholder: string;
  readonly values: readonly string[];
  readonly choices: readonly Choice[];
  readonly onChange: (values: readonly string[]) => void;
}

/** Several of many: those that are chosen as a list, and a box that adds one. */
export function NamesField(props: NamesFieldProps) {
  const { name, label, hint, placeholder, values, choices, onChange } = props;
  const left = choices.filter(({ value }) => !values.includes(value));
  return (
    <Field name={name} label={label} hint={hint}>
      <Combobox
        label={label}
        placeholder={placeholder}
        value=""
        choices={left}
        onChange={(added) => added !== "" && onChange([...values, added])}
        className="w-full"
      />
      {values.length > 0 && (
        <ul className="flex flex-wrap gap-2">
          {values.map((value) => {
            const known = choices.find((choice) => choice.value === value);
            return (
              <li
                key={value}
                className="flex max-w-full items-center rounded-md border border-line pl-2"
              >
                <span className="min-w-0 truncate">{known?.label ?? value}</span>
                {known?.hint !== undefined && (
                  <span className="pl-2 text-sm text-muted">{known.hint}</span>
                )}
                <IconButton
                  icon={X}
                  label={`Take away ${known?.label ?? value}`}
                  onClick={() => onChange(values.filter((other) => other !== value))}
                />
              </li>
            );
          })}
        </ul>
      )}
    </Field>
  );
}
