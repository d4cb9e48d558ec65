import { Field as BaseField } from "@base-ui/react/field";
import { useState } from "react";
import { fromLocalInput, toLocalInput, zoneName } from "../../lib/time.ts";
import { usePreferences } from "../preferences.ts";
import { Field, type FieldProps } from "./field.tsx";

interface TimeFieldProps extends Omit<FieldProps, "children"> {
  /** RFC 3339; null is an empty field. */
  readonly value: string | null;
  readonly onChange: (value: string | null) => void;
}

/** A field for a time, in the zone that the person chose. */
export function TimeField({ value, onChange, hint, ...field }: TimeFieldProps) {
  const { zone } = usePreferences();
  // What is typed may not be a time yet.
  const [typed, setTyped] = useState(() => (value === null ? "" : toLocalInput(value, zone)));
  const change = (text: string) => {
    setTyped(text);
    onChange(fromLocalInput(text, zone));
  };
  return (
    <Field {...field} hint={[hint, `Times are ${zoneName(zone)}.`].filter(Boolean).join(" ")}>
      <BaseField.Control
        type="datetime-local"
        value={typed}
        onValueChange={change}
        className="control w-full"
      />
    </Field>
  );
}
