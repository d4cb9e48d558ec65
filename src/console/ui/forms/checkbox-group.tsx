import { Checkbox as Base } from "@base-ui/react/checkbox";
import { Check } from "lucide-react";
import { type ReactNode, use, useId } from "react";
import { FormErrors } from "./form-errors.ts";

interface CheckboxGroupProps {
  /** The field's name in the request: the server's `param` marks it. */
  readonly name: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly choices: readonly {
    readonly value: string;
    readonly label: ReactNode;
    readonly hint?: ReactNode;
  }[];
  /** The chosen ones; they stay in the order of the choices. */
  readonly value: readonly string[];
  readonly onChange: (value: string[]) => void;
}

/** Any number of a list's choices. */
export function CheckboxGroup({ name, label, hint, choices, value, onChange }: CheckboxGroupProps) {
  const id = useId();
  const error = use(FormErrors).errors[name];
  const toggle = (changed: string, isChosen: boolean) => {
    const isKept = (each: string) => (each === changed ? isChosen : value.includes(each));
    onChange(choices.map((choice) => choice.value).filter(isKept));
  };
  return (
    <fieldset
      data-field={name}
      aria-describedby={hint === undefined ? undefined : id}
      className="flex min-w-0 flex-col gap-1"
    >
      <legend className="font-medium">{label}</legend>
      {hint !== undefined && (
        <p id={id} className="text-sm text-muted">
          {hint}
        </p>
      )}
      <div className="max-h-[16rem] overflow-y-auto rounded-md border border-edge bg-surface px-2 py-1">
        {choices.map((choice) => (
          // biome-ignore lint/a11y/noLabelWithoutControl: the box within is the control
          <label
            key={choice.value}
            className="flex min-h-(--control) items-center gap-2 border-b border-line py-1 last:border-b-0"
          >
            <Base.Root
              name={name}
              checked={value.includes(choice.value)}
              onCheckedChange={(isChosen) => toggle(choice.value, isChosen)}
              className="inline-flex size-[1.125rem] shrink-0 items-center justify-center rounded-sm border border-edge bg-surface data-[checked]:border-accent data-[checked]:bg-accent"
            >
              <Base.Indicator className="text-on-accent">
                <Check size={14} aria-hidden />
              </Base.Indicator>
            </Base.Root>
            <span className="min-w-0">
              {choice.label}
              {choice.hint !== undefined && (
                <span className="block text-sm text-muted">{choice.hint}</span>
              )}
            </span>
          </label>
        ))}
      </div>
      {error !== undefined && (
        <p role="alert" className="text-sm font-medium text-bad">
          {error}
        </p>
      )}
    </fieldset>
  );
}
