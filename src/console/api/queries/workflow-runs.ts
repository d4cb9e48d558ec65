import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { ApiError, unwrap } from "../errors.ts";
import { putAnswer } from "../put-answer.ts";
import type { components, paths } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";
import { WORKFLOWS_KEY } from "./workflows.ts";

export type WorkflowRun = components["schemas"]["WorkflowRun"];
export type WorkflowRunWithSteps = components["schemas"]["WorkflowRunWithSteps"];
export type WorkflowRunStep = components["schemas"]["WorkflowRunStep"];
export type RunFilters = Omit<
  NonNullable<paths["/api/pipeline/runs"]["get"]["parameters"]["query"]>,
  "limit" | "before"
>;
export type FlowRow = Readonly<Record<string, unknown>>;

const KEY = ["runs"] as const;
const PAGE = 50;
const ROWS = 100;
const MOVING_MS = 1_000;
const LIST_MS = 5_000;

/** The runs of workflows, the newest first. */
export function useRuns(filters: RunFilters) {
  return useList<WorkflowRun, string | undefined>({
    key: [...KEY, "list", filters],
    first: undefined,
    next: (page) => (page as { readonly next?: string | null }).next ?? undefined,
    every: () => LIST_MS,
    load: (before, signal) =>
      unwrap(
        api.GET("/api/pipeline/runs", {
          params: { query: { ...filters, limit: PAGE, ...(before !== undefined && { before }) } },
          signal,
        }),
      ),
  });
}

export function isMoving(run: Pick<WorkflowRun, "status"> | undefined): boolean {
  return run?.status === "queued" || run?.status === "running";
}

/** One run with its steps, each second while it moves and the tab is seen; a run that has ended never changes. */
export function useRun(runId: string) {
  return useQuery({
    queryKey: [...KEY, runId],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/pipeline/runs/{runId}", { params: { path: { runId } }, signal })),
    // An answer that is missing is told at once, and asked for again.
    retry: false,
    refetchInterval: ({ state }) => {
      const isRefused = state.error instanceof ApiError && state.error.status === 404;
      const isUnknown = state.data === undefined && state.error !== null && !isRefused;
      if (!isMoving(state.data) && !isUnknown) return false;
      return MOVING_MS * 2 ** Math.min(3, state.fetchFailureCount);
    },
    refetchOnWindowFocus: ({ state }) => (isMoving(state.data) ? "always" : false),
  });
}

export function useStartRun(workflowId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (rows: readonly FlowRow[]) =>
      unwrap(
        api.POST("/api/pipeline/workflows/{id}/runs", {
          params: { path: { id: workflowId } },
          body: { rows: [...rows] },
        }),
      ),
    onSuccess: () => refresh(client),
  });
}

/** Stops the running run of a workflow and all that wait. */
export function useStopWorkflow(workflowId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/pipeline/workflows/{id}/stop", { params: { path: { id: workflowId } } }),
      ),
    onSuccess: () => refresh(client),
  });
}

export function useStopRun(runId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/pipeline/runs/{runId}/stop", { params: { path: { runId } } })),
    onSuccess: async (run) => {
      await putAnswer(client, [...KEY, runId], run);
      await refresh(client);
    },
  });
}

/** Repeats a run from a step on; without one from the step that failed. */
export function useRetryRun(runId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (from: string | undefined) =>
      unwrap(
        api.POST("/api/pipeline/runs/{runId}/retry", {
          params: { path: { runId } },
          body: from === undefined ? {} : { from },
        }),
      ),
    onSuccess: () => refresh(client),
  });
}

function refresh(client: ReturnType<typeof useQueryClient>): Promise<unknown> {
  return Promise.all([
    client.invalidateQueries({ queryKey: [...KEY, "list"] }),
    client.invalidateQueries({ queryKey: WORKFLOWS_KEY }),
    client.invalidateQueries({ queryKey: ["status"] }),
  ]);
}

export interface RowsPlace {
  readonly runId: string;
  /** `$trigger` for what the trigger brought. */
  readonly step: string;
  readonly output: string;
  /** Rows that are counted anew while the run moves. */
  readonly rows: number;
}

/** The rows that a step wrote, by page. */
export function useStepRows({ runId, step, output, rows }: RowsPlace) {
  return useList<FlowRow, number>({
    key: [...KEY, runId, "rows", step, output, rows],
    first: 0,
    next: nextOffset,
    load: (offset, signal) => loadRows({ runId, step, output }, { limit: ROWS, offset }, signal),
  });
}

type RowPage = components["schemas"]["WorkflowRowList"];

async function loadRows(
  { runId, step, output }: Omit<RowsPlace, "rows">,
  page: { readonly limit: number; readonly offset?: number },
  signal?: AbortSignal,
): Promise<RowPage> {
  const rows = await unwrap(
    api.GET("/api/pipeline/runs/{runId}/steps/{step}/rows", {
      params: { path: { runId, step }, query: { output, ...page } },
      ...(signal && { signal }),
    }),
  );
  // Without `format` the answer is JSON.
  return rows as RowPage;
}

/** Returns the first rows of an output in a run, as samples. */
export async function loadSampleRows(place: Omit<RowsPlace, "rows">, limit: number) {
  return (await loadRows(place, { limit })).data;
}
