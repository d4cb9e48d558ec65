import { NumberField as Base } from "@base-ui/react/number-field";
import { Field, type FieldProps } from "./field.tsx";

interface NumberFieldProps extends Omit<FieldProps, "children"> {
  /** Null is an empty field. */
  readonly value: number | null;
  readonly onChange: (value: number | null) => void;
  /** What an empty field means: "unlimited". */
  readonly placeholder?: string;
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
}

/** A field for a number, with separators; a whole one, unless its step is a part of one. The arrow keys count up and down. */
export function NumberField(props: NumberFieldProps) {
  const { value, onChange, placeholder, unit, min = 0, max, step = 1, ...field } = props;
  return (
    <Field {...field}>
      <Base.Root
        value={value}
        onValueChange={onChange}
        min={min}
        max={max}
        step={step}
        locale="en-GB"
        format={{ maximumFractionDigits: Number.isInteger(step) ? 0 : 6 }}
      >
        <Base.Group className="relative flex">
          <Base.Input placeholder={placeholder} className="control w-full" />
          {unit !== undefined && (
            <span className="pointer-events-none absolute inset-y-0 right-2 flex items-center text-muted">
              {unit}
            </span>
          )}
        </Base.Group>
      </Base.Root>
    </Field>
  );
}
