import type { User } from "../../api/queries/users.ts";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";

export type UserLimitFields = Pick<User, "monthly_token_limit" | "rpm_limit">;

export const NO_LIMITS: UserLimitFields = { monthly_token_limit: null, rpm_limit: null };

interface FieldsProps<Value> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

export function RoleField({ value, onChange }: FieldsProps<User["role"]>) {
  return (
    <SelectField
      name="role"
      label="Role"
      value={value}
      onChange={onChange}
      choices={[
        { value: "user", label: "User", hint: "Sees and does what is their own." },
        { value: "admin", label: "Administrator", hint: "Sees and does everything." },
      ]}
    />
  );
}

/** The limits of all of a user's keys and sessions together. */
export function UserLimits({ value, onChange }: FieldsProps<UserLimitFields>) {
  return (
    <fieldset className="grid gap-4 sm:grid-cols-2">
      <legend className="pb-2 text-sm text-muted">
        For all keys and sessions of the user together
      </legend>
      <NumberField
        name="monthly_token_limit"
        label="Tokens a month"
        placeholder="unlimited"
        value={value.monthly_token_limit}
        onChange={(limit) => onChange({ ...value, monthly_token_limit: limit })}
      />
      <NumberField
        name="rpm_limit"
        label="Calls a minute"
        placeholder="unlimited"
        value={value.rpm_limit}
        onChange={(limit) => onChange({ ...value, rpm_limit: limit })}
      />
    </fieldset>
  );
}
