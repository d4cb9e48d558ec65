import { type Setting, useSettings } from "../../api/queries/system.ts";
import { Select } from "../../ui/forms/select.tsx";
import { Badge } from "../../ui/status/badge.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";

interface SettingsProps {
  readonly search: string;
  /** "changed": only those without their default. */
  readonly show: string;
  readonly onChange: (change: { search?: string; show?: string }) => void;
}

/** How this server is set: each setting with its value, unless it is a secret. */
export function Settings({ search, show, onChange }: SettingsProps) {
  const { data, error, refetch } = useSettings();
  const all = data?.data ?? [];
  const shown = all.filter(
    (setting) => fits(setting, search) && (show !== "changed" || !setting.default),
  );
  const active = [search, show].filter((value) => value !== "").length;
  return (
    <div className="grid gap-4">
      <p className="max-w-prose text-muted">
        Settings are environment variables. Change one where the server is started, such as in its
        file .env, and start it again.
      </p>
      <FilterBar
        search={{
          label: "Name or text",
          value: search,
          onChange: (next) => onChange({ search: next }),
        }}
        active={active}
        onClear={() => onChange({ search: "", show: "" })}
      >
        <Select
          label="Which"
          value={show}
          onChange={(next) => onChange({ show: next })}
          choices={[
            { value: "", label: "All settings" },
            { value: "changed", label: "Not at the default" },
          ]}
        />
      </FilterBar>
      {error !== null && (
        <ErrorCard
          what="The settings could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {data === undefined && error === null && (
        <Skeleton shape="rows" label="The settings are loading" />
      )}
      {data !== undefined &&
        (shown.length === 0 ? (
          <EmptyState title="No setting fits the filters">
            The search looks for a part of the name or of the text, in any case.
          </EmptyState>
        ) : (
          <ul aria-label="Settings" className="rounded-lg border border-line bg-surface">
            {shown.map((setting) => (
              <Row key={setting.name} setting={setting} />
            ))}
          </ul>
        ))}
    </div>
  );
}

function fits({ name, text }: Setting, search: string): boolean {
  return `${name} ${text}`.toLowerCase().includes(search.trim().toLowerCase());
}

function Value({ setting }: { readonly setting: Setting }) {
  const { value, secret, set, default: isDefault } = setting;
  if (secret) return <span className="text-muted">{set ? "set, not shown" : "not set"}</span>;
  if (value === null || value === "") return <span className="text-muted">not set</span>;
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  if (text === "") return <span className="text-muted">none</span>;
  return (
    <span className="min-w-0">
      <code className="font-mono text-sm break-all">{text}</code>
      {isDefault && <span className="text-sm text-muted"> default</span>}
    </span>
  );
}

function Row({ setting }: { readonly setting: Setting }) {
  return (
    <li className="grid gap-x-6 gap-y-1 border-b border-line px-3 py-2 last:border-b-0 lg:grid-cols-[20rem_1fr_1.5fr]">
      <span className="flex min-w-0 flex-wrap items-center gap-2">
        <code className="font-mono text-sm font-medium break-all">{setting.name}</code>
        {!setting.default && <Badge tone="accent">changed</Badge>}
      </span>
      <Value setting={setting} />
      <span className="min-w-0 break-words text-muted">{setting.text}</span>
    </li>
  );
}
