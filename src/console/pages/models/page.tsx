import {
  type Model,
  useEmbeddingModels,
  useModelFigures,
  useModels,
} from "../../api/queries/models.ts";
import { useSession } from "../../api/queries/session.ts";
import { wholeList } from "../../api/use-list.ts";
import { matchScore } from "../../lib/match.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import { EngineList } from "./engine-list.tsx";
import { type ModelRow, modelColumns } from "./model-columns.tsx";
import { ModelPanel } from "./model-panel.tsx";

const DEFAULTS = { search: "", kind: "" };
const KINDS = [
  { value: "", label: "Any kind" },
  { value: "chat", label: "Chat models" },
  { value: "embedding", label: "Embedding models" },
  { value: "assistant", label: "Assistants" },
];

/** What can be called here, how it has answered, and, for administrators, the servers behind it. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("models");
  const isAdmin = useSession().data?.role === "admin";
  const { list, figuresError, retryFigures } = useModelRows();
  const active = Object.values(state).filter((value) => value !== "").length;
  const rows = list.rows.filter(({ model }) => fits(model, state));
  return (
    <>
      <PageHeader title="Models" aside={list.isLoading ? undefined : list.total}>
        <CallButton call={{ method: "GET", path: "/v1/models", credential: "key" }} />
      </PageHeader>
      <FilterBar
        search={{ label: "Name", value: state.search, onChange: (search) => change({ search }) }}
        active={active}
        onClear={() => change(DEFAULTS)}
      >
        <Select
          label="Kind"
          value={state.kind}
          onChange={(kind) => change({ kind })}
          choices={KINDS}
        />
      </FilterBar>
      {figuresError !== null && list.error === null && (
        <ErrorCard
          what="The figures could not be loaded"
          error={figuresError}
          onRetry={retryFigures}
        />
      )}
      <div className="flex min-w-0 items-start gap-4">
        <ListView
          label="Models"
          list={{ ...list, rows }}
          columns={modelColumns(openId !== undefined)}
          rowId={({ model }) => model.id}
          openId={openId}
          onOpen={open}
          empty={
            active > 0 ? (
              <EmptyState title="No model fits the filters">
                {list.total} are listed without them.
              </EmptyState>
            ) : (
              <EmptyState title="No models yet">
                The engine lists none. Load one there: it appears here within 15 seconds.
              </EmptyState>
            )
          }
        />
        {openId !== undefined && !list.isLoading && (
          <ModelPanel
            key={openId}
            id={openId}
            row={list.rows.find(({ model }) => model.id === openId)}
            onClose={close}
          />
        )}
      </div>
      {isAdmin && <EngineList />}
    </>
  );
}

function fits({ name, kind }: Model, state: typeof DEFAULTS): boolean {
  return (state.kind === "" || kind === state.kind) && matchScore(name, state.search) > 0;
}

/** Puts the models of both kinds together with their figures, as one list. */
function useModelRows() {
  const chat = useModels();
  const embedding = useEmbeddingModels();
  const figures = useModelFigures();
  const byModel = new Map(figures.data?.data.map((one) => [one.model, one]));
  const models = [...(chat.data ?? []), ...(embedding.data ?? [])];
  const both = {
    error: chat.error ?? embedding.error,
    isPending: chat.isPending || embedding.isPending,
    refetch: () => {
      void chat.refetch();
      void embedding.refetch();
    },
    dataUpdatedAt: chat.dataUpdatedAt,
  };
  const rows = models.map((model): ModelRow => ({ model, figures: byModel.get(model.id) }));
  const list = wholeList(both, rows);
  return {
    list,
    figuresError: figures.error,
    retryFigures: () => void figures.refetch(),
  };
}
