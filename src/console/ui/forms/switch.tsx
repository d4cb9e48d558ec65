import { Field as BaseField } from "@base-ui/react/field";
import { Switch as Base } from "@base-ui/react/switch";
import type { ReactNode } from "react";

interface ToggleProps {
  readonly name: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** A setting that is on or off and acts at once. */
export function Switch({ name, label, hint, isOn, onChange }: ToggleProps) {
  return (
    <BaseField.Root name={name} data-field={name} className="grid gap-1">
      <BaseField.Label className="flex min-h-(--control) items-center gap-2">
        <Base.Root
          checked={isOn}
          onCheckedChange={onChange}
          className="inline-flex h-[1.25rem] w-[2.25rem] shrink-0 items-center rounded-full border border-edge bg-sunken p-0.5 data-[checked]:border-accent data-[checked]:bg-accent"
        >
          <Base.Thumb className="size-[0.875rem] rounded-full bg-muted transition-transform duration-100 data-[checked]:translate-x-[1rem] data-[checked]:bg-on-accent" />
        </Base.Root>
        {label}
      </BaseField.Label>
      {hint !== undefined && (
        <BaseField.Description className="text-sm text-muted">{hint}</BaseField.Description>
      )}
    </BaseField.Root>
  );
}
