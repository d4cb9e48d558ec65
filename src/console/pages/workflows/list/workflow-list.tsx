import { Plus } from "lucide-react";
import { useState } from "react";
import { useSession } from "../../../api/queries/session.ts";
import { useWorkflows, type WorkflowFilters } from "../../../api/queries/workflows.ts";
import { stringifySearch } from "../../../lib/url-state.ts";
import { ListView } from "../../../parts/list-view.tsx";
import { UserPicker } from "../../../parts/pickers/user-picker.tsx";
import { Button } from "../../../ui/buttons/button.tsx";
import { Select } from "../../../ui/forms/select.tsx";
import { PageHeader } from "../../../ui/navigation/page-header.tsx";
import { useUrlState } from "../../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../../ui/status/empty-state.tsx";
import { FilterBar } from "../../../ui/tables/filter-bar.tsx";
import { useKeys } from "../../../ui/use-keys.ts";
import { CreateDialog } from "./create-dialog.tsx";
import { workflowColumns } from "./workflow-columns.tsx";

const DEFAULTS = { search: "", enabled: "", owner: "" };

interface WorkflowListProps {
  readonly onOpen: (id: string) => void;
  /** Called with the text of a workflow that is to be made. */
  readonly onNew: (text: string) => void;
}

/** What runs by itself: when it runs next, what waits, and how the last run ended. */
export function WorkflowList({ onOpen, onNew }: WorkflowListProps) {
  const [state, change] = useUrlState(DEFAULTS);
  const [isCreating, setCreating] = useState(false);
  const isAdmin = useSession().data?.role === "admin";
  const filters = toFilters(state);
  const list = useWorkflows(filters);
  const active = Object.values(state).filter((value) => value !== "").length;
  useKeys([{ keys: "n", label: "New workflow", run: () => setCreating(true) }]);
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus size={16} aria-hidden />
      New workflow
    </Button>
  );
  return (
    <>
      <PageHeader title="Workflows" aside={list.total}>
        {create}
        <CallButton
          call={{
            method: "GET",
            path: `/api/pipeline/workflows${stringifySearch(filters)}`,
            credential: "key",
          }}
        />
      </PageHeader>
      <FilterBar
        search={{ label: "Name", value: state.search, onChange: (search) => change({ search }) }}
        active={active}
        onClear={() => change(DEFAULTS)}
      >
        <Select
          label="State"
          value={state.enabled}
          onChange={(enabled) => change({ enabled })}
          choices={[
            { value: "", label: "On and off" },
            { value: "true", label: "On" },
            { value: "false", label: "Off" },
          ]}
        />
        <UserPicker
          value={state.owner}
          onChange={(owner) => change({ owner })}
          label="Owner"
          placeholder="Any owner"
        />
      </FilterBar>
      <ListView
        label="Workflows"
        list={list}
        columns={workflowColumns(isAdmin)}
        rowId={({ id }) => id}
        onOpen={onOpen}
        empty={
          <EmptyState
            title={active > 0 ? "No workflow fits the filters" : "No workflows yet"}
            action={active > 0 ? undefined : create}
          >
            A workflow passes rows through steps: it reads, transforms, asks models and writes. A
            schedule, a webhook, a file or another workflow starts it, or you do.
          </EmptyState>
        }
      />
      <CreateDialog isOpen={isCreating} onClose={() => setCreating(false)} onChosen={onNew} />
    </>
  );
}

function toFilters(state: typeof DEFAULTS): WorkflowFilters {
  return {
    ...(state.search !== "" && { search: state.search }),
    ...(state.owner !== "" && { owner_id: state.owner }),
    ...((state.enabled === "true" || state.enabled === "false") && { enabled: state.enabled }),
  };
}
