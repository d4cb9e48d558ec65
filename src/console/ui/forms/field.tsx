import { Field as BaseField } from "@base-ui/react/field";
import { type ComponentProps, type ReactNode, use } from "react";
import { classes } from "../classes.ts";
import { FormErrors } from "./form-errors.ts";

export interface FieldProps {
  /** The field's name in the request: the server's `param` marks it. */
  readonly name: string;
  readonly label: string;
  readonly hint?: ReactNode;
  /** Leaves the label to readers only. */
  readonly isLabelHidden?: boolean;
  readonly children: ReactNode;
}

/** A labelled control with its hint and the server's error. */
export function Field({ name, label, hint, isLabelHidden = false, children }: FieldProps) {
  const { errors } = use(FormErrors);
  const error = errors[name];
  return (
    <BaseField.Root
      name={name}
      invalid={error !== undefined}
      data-field={name}
      className="flex min-w-0 flex-col gap-1"
    >
      <BaseField.Label className={classes("font-medium", isLabelHidden && "sr-only")}>
        {label}
      </BaseField.Label>
      {children}
      {hint !== undefined && (
        <BaseField.Description className="text-sm text-muted">{hint}</BaseField.Description>
      )}
      {error !== undefined && (
        <BaseField.Error match className="text-sm font-medium text-bad">
          {error}
        </BaseField.Error>
      )}
    </BaseField.Root>
  );
}

interface TextFieldProps
  extends Omit<FieldProps, "children">,
    Omit<ComponentProps<"input">, "name" | "value" | "onChange" | "className" | "defaultValue"> {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A field of one line of text. */
export function TextField({ name, label, hint, isLabelHidden, ...input }: TextFieldProps) {
  const { onChange, ...rest } = input;
  return (
    <Field name={name} label={label} hint={hint} isLabelHidden={isLabelHidden ?? false}>
      <BaseField.Control
        {...rest}
        onValueChange={onChange}
        autoComplete={rest.autoComplete ?? "off"}
        className="control w-full"
      />
    </Field>
  );
}

interface TextAreaFieldProps extends Omit<FieldProps, "children"> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number;
  readonly isCode?: boolean;
  /** As high as its text, from one line on; `rows` counts where the browser cannot do that. */
  readonly isGrowing?: boolean;
  readonly placeholder?: string | undefined;
}

/** A field of several lines. */
export function TextAreaField(props: TextAreaFieldProps) {
  const {
    value,
    onChange,
    isGrowing,
    rows = isGrowing ? 2 : 4,
    isCode,
    placeholder,
    ...field
  } = props;
  return (
    <Field {...field}>
      <BaseField.Control
        value={value}
        onValueChange={onChange}
        render={<textarea rows={rows} spellCheck={!isCode} placeholder={placeholder} />}
        className={classes(
          "control w-full py-1.5",
          isCode && "font-mono text-sm",
          isGrowing && "field-sizing-content max-h-96",
        )}
      />
    </Field>
  );
}
