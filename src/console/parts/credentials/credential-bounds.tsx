import { TextAreaField } from "../../ui/forms/field.tsx";
import { TimeField } from "../../ui/forms/time-field.tsx";

interface Bounds {
  /** RFC 3339 or null for never. */
  readonly expiresAt: string | null;
  /** One a line. */
  readonly addresses: string;
}

interface CredentialBoundsProps {
  readonly bounds: Bounds;
  readonly onChange: (change: Partial<Bounds>) => void;
}

/** Until when and from where a credential may be used: the fields that every kind of key and token has. */
export function CredentialBounds({ bounds, onChange }: CredentialBoundsProps) {
  return (
    <>
      <TimeField
        name="expires_at"
        label="Expires"
        hint="Empty is never."
        value={bounds.expiresAt}
        onChange={(expiresAt) => onChange({ expiresAt })}
      />
      <TextAreaField
        name="ip_allow"
        label="Addresses that may use it"
        hint="IP addresses and CIDR ranges, one a line. Empty allows any."
        rows={2}
        isCode
        value={bounds.addresses}
        onChange={(addresses) => onChange({ addresses })}
      />
    </>
  );
}
