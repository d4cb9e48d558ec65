import { Checkbox as Base } from "@base-ui/react/checkbox";
import { Field as BaseField } from "@base-ui/react/field";
import { Check } from "lucide-react";
import type { ReactNode } from "react";

interface CheckboxProps {
  readonly name: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}

/** A choice that counts when its form is sent. */
export function Checkbox({ name, label, hint, isChecked, onChange }: CheckboxProps) {
  return (
    <BaseField.Root name={name} data-field={name} className="grid gap-1">
      <BaseField.Label className="flex min-h-(--control) items-center gap-2">
        <Base.Root
          checked={isChecked}
          onCheckedChange={onChange}
          className="inline-flex size-[1.125rem] shrink-0 items-center justify-center rounded-sm border border-edge bg-surface data-[checked]:border-accent data-[checked]:bg-accent"
        >
          <Base.Indicator className="text-on-accent">
            <Check size={14} aria-hidden />
          </Base.Indicator>
        </Base.Root>
        {label}
      </BaseField.Label>
      {hint !== undefined && (
        <BaseField.Description className="text-sm text-muted">{hint}</BaseField.Description>
      )}
    </BaseField.Root>
  );
}
