import { useState } from "react";
import { type BundledPackage, useBundledPackages } from "../../api/queries/system.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";

interface LicensesProps {
  readonly search: string;
  readonly onSearch: (search: string) => void;
}

/** The packages that the console is built from, with their licences. */
export function Licenses({ search, onSearch }: LicensesProps) {
  const { data, error, refetch } = useBundledPackages(true);
  const typed = search.trim().toLowerCase();
  const shown = data?.filter(({ name, identifier }) =>
    `${name} ${identifier ?? ""}`.toLowerCase().includes(typed),
  );
  return (
    <div className="grid max-w-4xl gap-4">
      <p className="max-w-prose text-muted">
        What the console in this browser is built from. The packages of the server lie in
        node_modules, each with its licence.
      </p>
      <FilterBar
        search={{ label: "Package or licence", value: search, onChange: onSearch }}
        active={typed === "" ? 0 : 1}
        onClear={() => onSearch("")}
      />
      {error !== null && (
        <ErrorCard
          what="The licences could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {shown === undefined && error === null && (
        <Skeleton shape="rows" label="The licences are loading" />
      )}
      {shown !== undefined && shown.length === 0 && (
        <EmptyState title="No package fits the search">
          The search looks for a part of the name or of the licence.
        </EmptyState>
      )}
      {shown !== undefined && shown.length > 0 && (
        <ul className="rounded-lg border border-line bg-surface">
          {shown.map((bundled) => (
            <Package key={`${bundled.name} ${bundled.version}`} bundled={bundled} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Package({ bundled }: { readonly bundled: BundledPackage }) {
  const [isOpen, setOpen] = useState(false);
  const { name, version, identifier, text } = bundled;
  return (
    <li className="grid gap-2 border-b border-line px-3 py-1 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-4">
        <span className="min-w-0 flex-1 break-all">
          <span className="font-medium">{name}</span> <span className="text-muted">{version}</span>
        </span>
        <span>{identifier ?? "see its text"}</span>
        <Button
          look="quiet"
          aria-expanded={isOpen}
          disabledReason={text === null ? "The package brings no text." : undefined}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "Hide text" : "Show text"}
        </Button>
      </div>
      {isOpen && (
        <pre className="pb-2 font-mono text-sm break-words whitespace-pre-wrap">{text}</pre>
      )}
    </li>
  );
}
