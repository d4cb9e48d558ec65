import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { WorkflowFault } from "../../lib/workflow-text.ts";
import { api } from "../client.ts";
import { ApiError, unwrap } from "../errors.ts";
import { putAnswer } from "../put-answer.ts";
import type { components, paths } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";

export type Workflow = components["schemas"]["Workflow"];
export type WorkflowSummary = components["schemas"]["WorkflowSummary"];
export type WorkflowVersion = components["schemas"]["WorkflowVersion"];
export type WorkflowWebhook = NonNullable<components["schemas"]["WorkflowWebhook"]>;
export type StepKind = components["schemas"]["StepKind"];
export type StepKinds = components["schemas"]["StepKindList"];
export type StepTestResult = components["schemas"]["StepTestResult"];
export type NewWorkflow = components["schemas"]["NewWorkflow"];
type WorkflowChange = components["schemas"]["WorkflowChange"];
export type WorkflowFilters = Omit<
  NonNullable<paths["/api/pipeline/workflows"]["get"]["parameters"]["query"]>,
  "limit" | "offset"
>;

export const WORKFLOWS_KEY = ["workflows"] as const;
const PAGE = 100;
/** Queues, last runs and next times. */
const EVERY_MS = 5_000;

/** The workflows that the caller may see, the newest first. */
export function useWorkflows(filters: WorkflowFilters) {
  return useList<WorkflowSummary, number>({
    key: [...WORKFLOWS_KEY, "list", filters],
    first: 0,
    next: nextOffset,
    every: () => EVERY_MS,
    load: (offset, signal) =>
      unwrap(
        api.GET("/api/pipeline/workflows", {
          params: { query: { ...filters, limit: PAGE, offset } },
          signal,
        }),
      ),
  });
}

/** One workflow with its definition and its queue, every five seconds while the tab is seen. */
export function useWorkflow(id: string, isWanted = true) {
  return useQuery({
    queryKey: [...WORKFLOWS_KEY, id],
    enabled: isWanted,
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/pipeline/workflows/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => EVERY_MS * 2 ** Math.min(3, state.fetchFailureCount),
  });
}

/** The kinds of steps and triggers with their schemas; they change with the gateway's version alone. */
export function useStepKinds() {
  return useQuery({
    queryKey: ["step-kinds"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/pipeline/step-kinds", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useCreateWorkflow() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewWorkflow) => unwrap(api.POST("/api/pipeline/workflows", { body })),
    onSuccess: async (workflow) => {
      await keepWithoutSecret(client, workflow);
      await client.invalidateQueries({ queryKey: [...WORKFLOWS_KEY, "list"] });
    },
  });
}

/** Checks a definition without saving it. */
export function useValidateWorkflow() {
  return useMutation({
    mutationFn: (body: NewWorkflow) =>
      unwrap(api.POST("/api/pipeline/workflows/validate", { body })),
  });
}

export function useChangeWorkflow(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: WorkflowChange) =>
      unwrap(api.PATCH("/api/pipeline/workflows/{id}", { params: { path: { id } }, body })),
    onSuccess: async (workflow) => {
      await keepWithoutSecret(client, workflow);
      void client.invalidateQueries({ queryKey: [...WORKFLOWS_KEY, id, "versions"] });
      await client.invalidateQueries({ queryKey: [...WORKFLOWS_KEY, "list"] });
    },
  });
}

/** A credential that is shown once is kept by the page alone. */
function keepWithoutSecret(client: ReturnType<typeof useQueryClient>, workflow: Workflow) {
  const { webhook } = workflow;
  const { secret: _secret, ...shown } = webhook ?? { secret: undefined };
  const isUrl = webhook?.auth === "url";
  const kept = webhook === null ? null : { ...shown, ...(isUrl && { path: null }) };
  return putAnswer(client, [...WORKFLOWS_KEY, workflow.id], { ...workflow, webhook: kept });
}

export function useDeleteWorkflow(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.DELETE("/api/pipeline/workflows/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: [...WORKFLOWS_KEY, "list"] }),
  });
}

/** What POST takes, as a file has it. */
export function loadExport(id: string) {
  return unwrap(api.GET("/api/pipeline/workflows/{id}/export", { params: { path: { id } } }));
}

/** Replaces the credential of a webhook. */
export function useRotateWebhook(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/pipeline/workflows/{id}/webhook-secret", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: [...WORKFLOWS_KEY, id], exact: true }),
  });
}

/** The versions of a workflow, the newest first. */
export function useWorkflowVersions(id: string) {
  return useList<WorkflowVersion, number>({
    key: [...WORKFLOWS_KEY, id, "versions"],
    first: 0,
    next: nextOffset,
    load: (offset, signal) => loadVersions(id, { limit: PAGE, offset }, signal),
  });
}

/** The definition that a run had. Undefined data: the workflow is gone. */
export function useWorkflowVersion(id: string, version: number) {
  return useQuery({
    queryKey: [...WORKFLOWS_KEY, id, "version", version],
    enabled: version > 0,
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      try {
        const { total } = await loadVersions(id, { limit: 1, offset: 0 }, signal);
        const offset = Math.max(0, total - version);
        const { data } = await loadVersions(id, { limit: 1, offset }, signal);
        return data.find((each) => each.version === version) ?? null;
      } catch (thrown) {
        if (thrown instanceof ApiError && thrown.status === 404) return null;
        throw thrown;
      }
    },
  });
}

function loadVersions(
  id: string,
  query: { readonly limit: number; readonly offset: number },
  signal: AbortSignal,
) {
  const params = { path: { id }, query };
  return unwrap(api.GET("/api/pipeline/workflows/{id}/versions", { params, signal }));
}

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Runs one step, as it is saved, with sample rows. */
export function useTestStep(id: string, step: string) {
  return useMutation({
    mutationFn: (body: { readonly rows: Rows } | { readonly inputs: Record<string, Rows> }) =>
      unwrap(
        api.POST("/api/pipeline/workflows/{id}/steps/{step}/test", {
          params: { path: { id, step } },
          body: body as components["schemas"]["StepTest"],
        }),
      ),
  });
}

/** Returns every fault of a definition that was refused; of another error none. */
export function faultsOf(error: unknown): readonly WorkflowFault[] {
  if (!(error instanceof ApiError)) return [];
  const errors = error.ext?.["errors"];
  return Array.isArray(errors) ? (errors as readonly WorkflowFault[]) : [];
}
