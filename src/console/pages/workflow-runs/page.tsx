import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../../api/errors.ts";
import { type RunFilters, useRuns } from "../../api/queries/workflow-runs.ts";
import { useWorkflow } from "../../api/queries/workflows.ts";
import { now } from "../../lib/clock.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { LinkButton } from "../../ui/navigation/link-button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import { RUN_COLUMNS } from "./run-columns.tsx";

const DEFAULTS = { status: "", trigger: "", days: "" };
const DAY_MS = 86_400_000;

const STATUSES = ["queued", "running", "completed", "failed", "stopped"] as const;
const TRIGGERS = [
  "manual",
  "retry",
  "webhook",
  "schedule",
  "file",
  "knowledge",
  "workflow",
  "dataset",
  "step",
] as const;

/** The runs of one workflow, the newest first. */
export function Page() {
  const { id = "" } = useParams({ strict: false }) as { readonly id?: string };
  const [state, change] = useUrlState(DEFAULTS);
  // The day is cut off so that the filter stays the same while the page is open.
  const [today] = useState(() => Math.floor(now() / DAY_MS) * DAY_MS);
  const navigate = useNavigate();
  const workflow = useWorkflow(id);
  const filters = toFilters(id, state, today);
  const list = useRuns(filters);
  const active = Object.values(state).filter((value) => value !== "").length;
  const isGone = workflow.error instanceof ApiError && workflow.error.status === 404;
  const title = workflow.data === undefined ? "Runs" : `Runs of ${workflow.data.name}`;
  return (
    <>
      <PageHeader title={title} aside={isGone && "The workflow is deleted."}>
        {!isGone && <LinkButton to={`/workflows/${id}`}>Show workflow</LinkButton>}
        <CallButton
          call={{
            method: "GET",
            path: `/api/pipeline/runs${stringifySearch(filters)}`,
            credential: "key",
          }}
        />
      </PageHeader>
      <FilterBar active={active} onClear={() => change(DEFAULTS)}>
        <Select
          label="State"
          value={state.status}
          onChange={(status) => change({ status })}
          choices={[{ value: "", label: "Any state" }, ...STATUSES.map(choiceOf)]}
        />
        <Select
          label="Trigger"
          value={state.trigger}
          onChange={(trigger) => change({ trigger })}
          choices={[{ value: "", label: "Any trigger" }, ...TRIGGERS.map(choiceOf)]}
        />
        <Select
          label="When"
          value={state.days}
          onChange={(days) => change({ days })}
          choices={[
            { value: "", label: "Any time" },
            { value: "1", label: "Since yesterday" },
            { value: "7", label: "Last 7 days" },
            { value: "30", label: "Last 30 days" },
          ]}
        />
      </FilterBar>
      <ListView
        label="Runs"
        list={list}
        columns={RUN_COLUMNS}
        rowId={({ runId }) => runId}
        onOpen={(runId) => void navigate({ to: `/runs/${runId}` })}
        empty={
          <EmptyState title={active > 0 ? "No run fits the filters" : "No runs yet"}>
            Each start of the workflow is a run here, with its steps and rows, for as long as
            WORKFLOW_RUN_RETENTION_DAYS says.
          </EmptyState>
        }
      />
    </>
  );
}

function choiceOf(value: string) {
  return { value, label: `${value.charAt(0).toUpperCase()}${value.slice(1)}` };
}

/** What the address has by hand and is no filter counts as none. */
function toFilters(workflow: string, state: typeof DEFAULTS, today: number): RunFilters {
  const status = STATUSES.find((one) => one === state.status);
  const trigger = TRIGGERS.find((one) => one === state.trigger);
  const days = Number(state.days);
  const from = days > 0 && days < 4_000 ? new Date(today - days * DAY_MS).toISOString() : undefined;
  return {
    workflow,
    ...(status && { status }),
    ...(trigger && { trigger }),
    ...(from && { from }),
  };
}
