import { Select as Base } from "@base-ui/react/select";
import { Check, ChevronsUpDown } from "lucide-react";
import { classes } from "../classes.ts";
import { Field, type FieldProps } from "./field.tsx";

export interface Choice<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
}

interface SelectProps<Value extends string> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly choices: ReadonlyArray<Choice<Value>>;
  /** Its name where no field labels it. */
  readonly label?: string;
  readonly className?: string;
}

/** One of a few choices; with more than about fifteen use a combobox. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { value, onChange, choices, label, className } = props;
  return (
    <Base.Root
      items={choices}
      value={value}
      onValueChange={(next) => next !== null && onChange(next)}
    >
      <Base.Trigger
        aria-label={label}
        className={classes("control inline-flex items-center justify-between gap-2", className)}
      >
        <Base.Value className="truncate" />
        <Base.Icon>
          <ChevronsUpDown size={14} className="text-muted" aria-hidden />
        </Base.Icon>
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="z-50" sideOffset={4} alignItemWithTrigger={false}>
          <Base.Popup className="appear max-h-(--available-height) min-w-(--anchor-width) overflow-y-auto rounded-lg border border-line bg-surface p-1 shadow-raised">
            <Base.List>
              {choices.map((choice) => (
                <Base.Item
                  key={choice.value}
                  value={choice.value}
                  className="grid min-h-(--control) grid-cols-[16px_1fr] items-center gap-x-2 rounded-md px-2 py-1 outline-none data-[highlighted]:bg-accent-soft"
                >
                  <Base.ItemIndicator>
                    <Check size={14} aria-hidden />
                  </Base.ItemIndicator>
                  <Base.ItemText className="col-start-2">{choice.label}</Base.ItemText>
                  {choice.hint !== undefined && (
                    <span className="col-start-2 text-sm text-muted">{choice.hint}</span>
                  )}
                </Base.Item>
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

/** A labelled select. */
export function SelectField<Value extends string>({
  value,
  onChange,
  choices,
  ...field
}: SelectProps<Value> & Omit<FieldProps, "children">) {
  return (
    <Field {...field}>
      <Select value={value} onChange={onChange} choices={choices} className="w-full" />
    </Field>
  );
}
